"""The kind of figure that shows means over a factor as lines."""

from netwarp.figures.encodings import is_log, name_labels, panels, value_axis
from netwarp.figures.kinds.base import MetricKind
from netwarp.figures.layout import Layout, layout
from netwarp.figures.marks import (
    dots,
    label_share,
    line_and_points,
    mean_tips,
    names_at_ends,
    names_lines,
    shown_samples,
    spread,
)
from netwarp.figures.rows import Row, label_rows, mean_rows, ratio_rows
from netwarp.figures.style import Spec
from netwarp.results import Results
from netwarp.study.figures import Figure


class Line(MetricKind):
    """Means over a factor with 95 % confidence intervals (a band for many levels)."""

    name = "line"
    caption = "Means with 95 % confidence intervals, dots are runs"
    is_usual = True

    def chart(self, figure: Figure, plan: Layout) -> Spec:
        """Return a line through the means of each series, and every run as a faint dot."""
        means, samples = mean_rows(plan), shown_samples(plan)
        values = [row[name] for row in means for name in ("mean", "low", "high")]
        values += [row["value"] for row in samples]
        y = value_axis(values, plan.shown.axis_title, plan.y_log, name="mean")
        legend = not names_at_ends(plan)
        layers = [spread(plan, y, legend=legend)]
        if samples:
            layers.append(dots(plan, y | {"field": "value"}, legend=legend))
        layers += line_and_points(plan, y, mean_tips(plan), legend=legend)
        labels: list[Row] = []
        if names_lines(plan, legend=legend):
            log = is_log(values, plan.y_log)
            labels = label_rows(plan, means, "mean", apart=label_share(plan), log=log)
            layers.append(name_labels(plan, y))
        return panels(plan, layers, [*means, *samples, *labels], labelled=bool(labels))

    def companion(self, figure: Figure, results: Results) -> Figure | None:
        """Return the figure of ratios to the first contender, if there are other contenders."""
        is_compared = figure.series is not None and figure.series == results.contender_factor
        if not is_compared or figure.y not in results.metrics:
            return None
        if not ratio_rows(layout(results, figure.metric, figure.x, figure.series)):
            return None
        return type(figure)(kind="ratio", x=figure.x, y=figure.y, series=figure.series)


KIND = Line()
