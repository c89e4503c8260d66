"""The kind of figure that shows means over a factor as bars."""

from netwarp.figures.encodings import (
    colour,
    faded,
    field,
    highlight,
    name_axis,
    offset,
    only,
    panels,
)
from netwarp.figures.kinds.base import MetricKind
from netwarp.figures.layout import Layout
from netwarp.figures.marks import mean_tips, run_tips, shown_samples
from netwarp.figures.rows import mean_rows
from netwarp.figures.style import GREY, Spec
from netwarp.study.figures import Figure


class Bar(MetricKind):
    """Means over a factor as bars from zero, with 95 % confidence intervals."""

    name = "bar"
    caption = "Means with 95 % confidence intervals, dots are runs"
    colours_levels = True

    def chart(self, figure: Figure, plan: Layout) -> Spec:
        """Return bars from zero, with 95 % intervals as whiskers, and every run as a dot."""
        rows, samples = mean_rows(plan), shown_samples(plan)
        place = {"x": name_axis(plan)} | offset(plan)
        y = field("mean", title=plan.shown.axis_title, axis={"format": ".6~g", "tickCount": 6})
        bars = {
            "mark": {"type": "bar", "cornerRadiusEnd": 1.5},
            "encoding": place | {"y": y, "tooltip": mean_tips(plan)} | colour(plan, legend=True)
            | faded(plan),
        } | highlight(plan, legend=True)  # fmt: skip
        whiskers = {
            "mark": {"type": "rule", "color": GREY, "strokeWidth": 0.7 * plan.theme.line_width},
            "encoding": place | {"y": y | {"field": "low"}, "y2": {"field": "high"}},
        }
        layers = [only(bars, "mean"), only(whiskers, "low")]
        if samples:
            dots = {
                "mark": {"type": "circle", "size": 0.22 * plan.theme.point_size, "opacity": 0.5},
                "encoding": place | {
                    "y": y | {"field": "value"}, "color": {"value": GREY}, "tooltip": run_tips(plan)
                },
            }  # fmt: skip
            layers.append(only(dots, "value"))
        return panels(plan, layers, [*rows, *samples])


KIND = Bar()
