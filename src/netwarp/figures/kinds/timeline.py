"""The kind of figure that shows single runs over time."""

from collections.abc import Collection, Sequence

from netwarp.fields import KeyValueError
from netwarp.figures.chart import Chart
from netwarp.figures.kinds.base import FigureKind
from netwarp.figures.over_time.figure import timeline_figure
from netwarp.figures.style import Theme
from netwarp.kept_runs import Kept
from netwarp.results import Results
from netwarp.study.cells.factors import Factor
from netwarp.study.figures import Figure, refuse_unknown_factor, resolve_levels


class Timeline(FigureKind):
    """Single runs over time: delay and goodput, and what a player did."""

    name = "timeline"
    is_usual = True

    def checked(
        self, figure: Figure, key: str, factors: Sequence[Factor], own_metrics: Collection[str]
    ) -> Figure:
        """Check that the figure selects exactly one run for each level of its series."""
        for name in ("x", "y", "x_scale", "y_scale"):
            if getattr(figure, name) is not None:
                reason = f"a timeline has no {name}"
                raise KeyValueError(f"{key}.{name}", None, reason, "drop it")
        refuse_unknown_factor(figure.series, [f.key for f in factors], f"{key}.series")
        where = resolve_levels(figure.where, factors, f"{key}.where")
        if figure.series in where:
            reason, remedy = "stands in series as well", "keep it in one place"
            raise KeyValueError(f"{key}.where", figure.series, reason, remedy)
        for factor in factors:
            if factor.key != figure.series and factor.key not in where and len(factor.levels) > 1:
                raise KeyValueError(
                    f"{key}.where",
                    None,
                    f"a timeline shows one run for each level of its series, and {factor.key} has"
                    f" {len(factor.levels)} levels",
                    f'choose one, such as where = {{ "{factor.key}" ='
                    f' "{factor.levels[0].label}" }}',
                )
        return figure.model_copy(update={"where": where})

    def draw(
        self, figure: Figure, results: Results, kept: Kept | None, name: str, theme: Theme
    ) -> Chart | None:
        """Draw the runs; None if no records of them are kept, or nothing was recorded over time."""
        return None if kept is None else timeline_figure(figure, results, kept, name, theme)


KIND = Timeline()
