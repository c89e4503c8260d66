"""The kind of figure that shows quartiles of runs over a factor."""

from netwarp.figures.encodings import colour, name_axis, offset, panels, value_axis
from netwarp.figures.kinds.base import MetricKind
from netwarp.figures.layout import Layout
from netwarp.figures.marks import run_tips
from netwarp.figures.rows import sample_rows
from netwarp.figures.style import GREY, Spec
from netwarp.study.figures import Figure


class Box(MetricKind):
    """Quartiles of the runs over a factor, and every run."""

    name = "box"
    caption = "Median, quartiles, whiskers to 1.5 IQR, and every run"
    colours_levels = True

    def chart(self, figure: Figure, plan: Layout) -> Spec:
        """Return median, quartiles and whiskers (1.5 × IQR, Tukey 1977), with every run as a
        dot.
        """
        rows = sample_rows(plan)
        values = [row["value"] for row in rows]
        y = value_axis(values, plan.shown.axis_title, plan.y_log, name="value", zero=False)
        place = {"x": name_axis(plan), "y": y} | offset(plan)
        slots = max(1, len(plan.x_labels)) * max(1, len(plan.series_labels)) * plan.columns
        boxes = {
            "mark": {
                "type": "boxplot", "extent": 1.5, "outliers": False, "opacity": 0.45,
                "size": min(30, 0.55 * plan.theme.width / slots), "ticks": False,
                "median": {"color": GREY, "thickness": 1.6}, "rule": {"color": GREY},
            },
            "encoding": place | colour(plan, legend=True),
        }  # fmt: skip
        dots = {
            "mark": {"type": "circle", "size": 0.25 * plan.theme.point_size, "opacity": 1},
            "encoding": place | {"color": {"value": GREY}, "tooltip": run_tips(plan)},
        }
        return panels(plan, [boxes, dots], rows)


KIND = Box()
