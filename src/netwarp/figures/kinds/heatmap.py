"""The kind of figure that shows means over two factors as colours."""

from netwarp.figures.encodings import condition_tips, field
from netwarp.figures.kinds.base import MetricKind
from netwarp.figures.layout import Layout, wants_log
from netwarp.figures.marks import numbered_tiles
from netwarp.figures.rows import mean_rows
from netwarp.figures.style import INK, Spec
from netwarp.study.figures import Figure


class Heatmap(MetricKind):
    """Means as colours over two factors, with the number in each field."""

    name = "heatmap"
    caption = "Means"
    needs_series = True

    def chart(self, figure: Figure, plan: Layout) -> Spec:
        """Return a field for each cell, which is darker for a larger mean."""
        rows = mean_rows(plan)
        values = [row["mean"] for row in rows]
        log = wants_log(values)
        middle = (max(values) * min(values)) ** 0.5 if log else sum(values) / len(values)
        scale = {"scheme": "viridis", "type": "log" if log else "linear", "reverse": True}
        tips = [*condition_tips(plan), field("text", "nominal", title="mean, 95 % CI")]
        ink = {"condition": {"test": f"datum.mean > {middle!r}", "value": "white"}, "value": INK}
        fill = field("mean", scale=scale, legend=None)
        return numbered_tiles(plan, rows, fill, tips, {"color": ink})

    def counted_in(self, plan: Layout) -> str:
        """Return the metric's unit as text, because no axis shows it."""
        return f" in {plan.shown.unit}" if plan.shown.unit else ""


KIND = Heatmap()
