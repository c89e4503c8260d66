"""The kind of figure that shows one metric against another."""

from netwarp.figures.encodings import (
    colour,
    faded,
    field,
    highlight,
    panels,
    shape,
    value_axis,
    value_scale,
)
from netwarp.figures.kinds.base import MetricKind
from netwarp.figures.layout import Layout
from netwarp.figures.marks import run_tips
from netwarp.figures.rows import pair_rows
from netwarp.figures.style import Spec
from netwarp.results import Results
from netwarp.study.figures import Figure
from netwarp.wording import quantity


class Scatter(MetricKind):
    """One metric against another, a dot for each run."""

    name = "scatter"
    caption = "Every run"
    along_x = "metric"

    def chart(self, figure: Figure, plan: Layout) -> Spec:
        """Return a dot for each run that has both metrics."""
        x_metric = figure.x or ""
        largest = [v for run in plan.results.runs if (v := run.value(x_metric)) is not None]
        x_shown = quantity(x_metric, max(largest, default=0.0))
        rows = pair_rows(plan, x_shown, x_metric)
        x_values = [row["x"] for row in rows]
        y_values = [row["value"] for row in rows]
        dots = {
            "mark": {
                "type": "point", "filled": True, "size": 0.8 * plan.theme.point_size,
                "stroke": "white", "strokeWidth": 0.6,
            },
            "encoding": {
                "x": field("x", title=x_shown.axis_title, scale=value_scale(x_values)),
                "y": value_axis(y_values, plan.shown.axis_title, plan.y_log, name="value"),
                "tooltip": run_tips(plan),
            } | colour(plan, legend=True) | shape(plan, legend=True) | faded(plan, 0.85),
        } | highlight(plan, legend=True)  # fmt: skip
        return panels(plan, [dots], rows, own_axes=True)

    def title(self, figure: Figure, results: Results) -> str:
        """Return the names of both metrics as the title."""
        against = quantity(figure.x or "", 1).title.lower()
        return f"{self.shown_text(figure, results)} against {against}"


KIND = Scatter()
