"""The interface of a kind of figure: the keys it needs in a study, its texts, and its drawing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

from netwarp.fields import KeyValueError
from netwarp.figures.chart import Chart, finished
from netwarp.figures.layout import Layout, layout
from netwarp.figures.style import Spec, Theme
from netwarp.metrics import metric_named
from netwarp.results import CellResult, Results
from netwarp.study.cells.factors import Factor
from netwarp.study.figure_kinds import figure_kind
from netwarp.study.figures import Figure, refuse_unknown_factor, refuse_unknown_metric
from netwarp.wording import (
    condition_text,
    factor_name,
    factor_title,
    less_is_better,
    level_text,
    mean_text,
    quantity,
)

if TYPE_CHECKING:
    from netwarp.kept_runs import Kept


class FigureKind(ABC):
    """The interface of a kind of figure, such as a bar chart. The docstring of a kind is its
    description in the key reference.
    """

    name: ClassVar[str]
    """Value of a figure's `kind`."""
    is_usual: ClassVar[bool] = False
    """Whether figures of this kind have file names without the name of the kind."""

    @abstractmethod
    def checked(
        self, figure: Figure, key: str, factors: Sequence[Factor], own_metrics: Collection[str]
    ) -> Figure:
        """Check that a figure can be drawn: the keys that its kind needs are set, and what they
        name exists.

        Args:
            figure: a figure of this kind from the study file.
            key: its place in the study, such as `figure.0`.
            factors: the study's factors.
            own_metrics: metrics that the study itself defines.

        Returns:
            The figure, with levels spelled as in the study.

        Raises:
            KeyValueError: it cannot be drawn; the error's key is the full dotted one.
        """

    @abstractmethod
    def draw(
        self, figure: Figure, results: Results, kept: Kept | None, name: str, theme: Theme
    ) -> Chart | None:
        """Draw a figure.

        Args:
            figure: a figure of this kind that has been checked.
            results: the results of the study.
            kept: access to the runs' records; None if they are not available.
            name: name of the figure's files.
            theme: size and lettering.

        Returns:
            The chart; None if the runs have no data for it.
        """

    def companion(self, figure: Figure, results: Results) -> Figure | None:
        """Return the figure that follows one of this kind if the study has none like it; None if
        there is no such figure.
        """
        return None


class MetricKind(FigureKind):
    """A kind of figure that shows a metric of the cells over factors."""

    caption: ClassVar[str]
    """First words of the subtitle, which explain the marks and colours."""
    along_x: ClassVar[Literal["factor", "metric"] | None] = "factor"
    """Whether `x` names a factor or a metric; None if a figure of this kind has no `x`."""
    needs_series: ClassVar[bool] = False
    """Whether the figure has a second factor, which `series` must name."""
    colours_levels: ClassVar[bool] = False
    """Whether each level along x has its own colour if the figure has no series."""
    unit_text: ClassVar[str | None] = None
    """Unit of the values that are drawn, for the description. Default: the metric's."""

    def checked(
        self, figure: Figure, key: str, factors: Sequence[Factor], own_metrics: Collection[str]
    ) -> Figure:
        """Check that the metric and the factors of a figure exist, and that it names all that its
        kind needs.
        """
        keys = [factor.key for factor in factors]
        for name in ("where", "replicate"):
            if name in figure.model_fields_set:
                reason, remedy = f"only a timeline has {name}", "drop it"
                raise KeyValueError(f"{key}.{name}", None, reason, remedy)
        if figure.y is None:
            reason, remedy = "missing", "add it: the metric that is shown"
            raise KeyValueError(f"{key}.y", None, reason, remedy)
        refuse_unknown_metric(figure.y, f"{key}.y", own_metrics)
        self.refuse_metric(figure.y, f"{key}.y")
        if (figure.x is None) != (self.along_x is None):
            remedy = "drop x" if figure.x else f"add x, one of: {', '.join(keys) or 'no factors'}"
            is_along = f"a {self.name} has its metric along x"
            reason = is_along if figure.x else f"a {self.name} chart needs x"
            raise KeyValueError(f"{key}.x", figure.x, reason, remedy)
        if self.along_x == "metric" and figure.x is not None:
            refuse_unknown_metric(figure.x, f"{key}.x", own_metrics)
        if self.needs_series and figure.series is None:
            reason = "a heatmap needs a second factor"
            remedy = f"add series, one of: {', '.join(keys)}"
            raise KeyValueError(f"{key}.series", None, reason, remedy)
        refuse_unknown_factor(figure.series, keys, f"{key}.series")
        if self.along_x == "factor":
            refuse_unknown_factor(figure.x, keys, f"{key}.x")
        return figure

    def refuse_metric(self, metric: str, key: str) -> None:
        """Refuse a metric that this kind does not draw.

        Raises:
            KeyValueError: refused; the message names `key`.
        """

    def draw(
        self, figure: Figure, results: Results, kept: Kept | None, name: str, theme: Theme
    ) -> Chart | None:
        """Draw a figure; None if no run has its metric."""
        if figure.y not in results.metrics:
            return None
        plan = self.plan(figure, results, theme)
        return self.titled(figure, plan, self.chart(figure, plan), name)

    def plan(self, figure: Figure, results: Results, theme: Theme) -> Layout:
        """Return the layout of the figure: its metric over its factors."""
        x = figure.x if self.along_x == "factor" else None
        series = figure.series or (x if self.colours_levels else None)
        return layout(
            results, figure.metric, x, series,
            x_log=_log(figure.x_scale), y_log=_log(figure.y_scale), theme=theme,
        )  # fmt: skip

    @abstractmethod
    def chart(self, figure: Figure, plan: Layout) -> Spec:
        """Return the chart as Vega-Lite, without its title.

        The same specification is used for all outputs: interactive in the report, and as SVG, PNG
        and PDF.
        """

    def titled(self, figure: Figure, plan: Layout, chart: Spec, name: str) -> Chart:
        """Return a chart with its title, its subtitle and its description."""
        title = figure.title or self.title(figure, plan.results)
        alt = self._description(plan, title)
        subtitle = self._subtitle(figure, plan)
        return Chart(name, title, alt, finished(chart, title, subtitle, alt, plan.theme))

    def title(self, figure: Figure, results: Results) -> str:
        """Return the title of a figure for which the study sets none."""
        return f"{self.shown_text(figure, results)} over {self.factors_text(figure)}"

    def shown_text(self, figure: Figure, results: Results) -> str:
        """Return the name of the quantity that the figure shows over its factors."""
        return quantity(figure.metric, 1).title

    def factors_text(self, figure: Figure) -> str:
        """Return the names of the factors over which the figure shows its metric, for a
        sentence.
        """
        over = factor_title(figure.x or "")
        return over if over.isupper() else over[:1].lower() + over[1:]

    def better_text(self, metric: str) -> str:
        """Return a sentence on which values are better, such as "Lower is better."; "" if neither
        lower nor higher values are.
        """
        if metric_named(metric).better == "neither":
            return ""
        return f"{self.better_values(less=less_is_better(metric)).capitalize()} is better."

    def better_values(self, *, less: bool) -> str:
        """Return the word for the better values of a metric, such as "Lower"."""
        return "lower" if less else "higher"

    def counted_in(self, plan: Layout) -> str:
        """Return the unit for the subtitle, such as " in s", if no axis of the chart shows it."""
        return ""

    def _subtitle(self, figure: Figure, plan: Layout) -> str:
        """Return the subtitle: what is drawn, from how many runs, and which values are better."""
        results = plan.results
        counts = {len(cell.runs) for cell in results.cells}
        runs = f"{counts.pop()} runs a cell" if len(counts) == 1 else "unequal numbers of runs"
        failed = len(results.failed)
        left_out = f"; {failed} failed run{'s' if failed > 1 else ''} left out" if failed else ""
        parts = (
            f"{self.caption}{self.counted_in(plan)}, {runs}{left_out}.",
            self.better_text(figure.metric),
            _without_value(plan),
        )
        return " ".join(filter(None, parts))

    def _description(self, plan: Layout, title: str) -> str:
        """Return a description of the chart: its axes, and the means at the level where they differ
        most.
        """
        unit = self.unit_text or plan.shown.unit or "count"
        parts = [f"{self.name.capitalize()} chart: {title} ({unit})."]
        if plan.series is not None:
            names = ", ".join(level_text(plan.series, label) for label in plan.series_labels)
            parts.append(f"One series for each {factor_name(plan.series)}: {names}.")
        if len(plan.panels) > 1:
            parts.append(f"Panels: {'; '.join(plan.panels)}.")
        last = plan.results.cells[-1]
        shared = {f: level for f, level in last.factors.items() if f != plan.series}
        means = [_mean_of(cell, plan) for cell in plan.results.select(shared)]
        if plan.series is not None and any(means):
            where = f"With {condition_text(shared)}" if shared else "Means"
            parts.append(f"{where}: {', '.join(filter(None, means))}.")
        return " ".join(parts)


def kind_of(figure: Figure) -> FigureKind:
    """Return the kind of a figure."""
    kind: FigureKind = figure_kind(figure.kind)
    return kind


def _log(scale: str | None) -> bool | None:
    return None if scale is None else scale == "log"


def _without_value(plan: Layout) -> str:
    if plan.x is None or not plan.x_without_value:
        return ""
    levels = [condition_text({plan.x: label}) for label in plan.x_without_value]
    return f"No value at {', '.join(levels)}."


def _mean_of(cell: CellResult, plan: Layout) -> str:
    estimate = cell.estimate(plan.metric)
    if estimate is None or plan.series is None:
        return ""
    name = level_text(plan.series, cell.factors[plan.series])
    return f"{name} {mean_text(estimate, plan.shown)} {plan.shown.unit}".rstrip()
