"""The figures of a study, checked against its factors and metrics; claims are in `claims.py`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol

from pydantic import Field, ValidationError, ValidatorFunctionWrapHandler, WrapValidator

from netwarp import plugins
from netwarp.fields import KeyValueError, Section
from netwarp.metrics import METRICS
from netwarp.study.cells.factors import Factor, factor_key, flattened
from netwarp.study.figure_kinds import FIGURE_KINDS, figure_kind
from netwarp.suggestions import did_you_mean

Levels = dict[str, Any]


def _or_added(value: Any, own: ValidatorFunctionWrapHandler) -> Any:
    """Accept the name of a kind of figure: one of netwarp's, or else one that a package adds."""
    try:
        return own(value)
    except ValidationError:
        if isinstance(value, str) and value in plugins.added("figures"):
            return value
        raise


if TYPE_CHECKING:
    KindName = str
else:
    KindName = Annotated[Literal[tuple(FIGURE_KINDS)], WrapValidator(_or_added)]


class Figure(Section):
    """A chart of a metric over the cells. For factors that it does not name, there is one chart for
    each level.

    A `timeline` has no metric: it shows what happened in single runs over time, delay and goodput,
    and what a player did. Factors that are neither `series` nor in `where` may have one level only.
    """

    kind: KindName = "line"
    """What is drawn: one of the [kinds of figures](#kinds-of-figures)."""
    x: str | None = None
    """Factor along the horizontal axis; of a scatter chart, the metric there. A timeline, and
    figures of a distribution or of flows, have none."""
    y: str | None = None
    """Metric that is shown; needed by all but a timeline. For a delay-cdf, it names a quantile of
    the delays: `message_delay_s_p50`, `delay_s_p50` or `rr_latency_s_p50`. For a flow-cdf it is
    `flow_completion_time_s_p50` or `flow_slowdown_index_p50`; for a flow-slowdown it is the latter,
    also with `_mean` or `_p99`."""
    series: str | None = None
    """Factor whose levels differ in colour; in a timeline, each of its levels has a row."""
    where: Levels = Field(default_factory=dict)
    """Timeline: levels of the runs that are drawn, by factor."""
    replicate: Annotated[int, Field(ge=0)] | None = None
    """Timeline: the replicate that is drawn, from 0. Default: 0."""
    title: str | None = None
    """Title. Default: made from `y` and `x`."""
    x_scale: Literal["linear", "log"] | None = None
    """Scale of the horizontal axis. Default: log if the levels span more than two decades."""
    y_scale: Literal["linear", "log"] | None = None
    """Scale of the metric's axis. Default: log if its values span more than two decades."""

    @property
    def metric(self) -> str:
        """Name of the metric that is shown.

        Raises:
            ValueError: it is a timeline, which has no metric.
        """
        if self.y is None:
            raise ValueError(f"a {self.kind} figure has no metric")
        return self.y


class CheckedKind(Protocol):
    """The part of a kind of figure's interface that studies use."""

    def checked(
        self, figure: Figure, key: str, factors: Sequence[Factor], own_metrics: Collection[str]
    ) -> Figure:
        """Check a figure of this kind; see :func:`checked_figure`."""


def checked_figure(
    figure: Figure, index: int, factors: Sequence[Factor], own_metrics: Collection[str] = ()
) -> Figure:
    """Check that a figure can be drawn: the keys that its kind needs are set, and what they name
    exists.

    Args:
        figure: a figure of the study file.
        index: its index in the file, from 0.
        factors: the study's factors.
        own_metrics: metrics that the study itself defines.

    Raises:
        KeyValueError: it cannot be drawn; the error's key is the full dotted one.
    """
    kind: CheckedKind = figure_kind(figure.kind)
    return kind.checked(figure, f"figure.{index}", factors, own_metrics)


def refuse_unknown_factor(value: str | None, keys: Sequence[str], key: str) -> None:
    """Refuse a value that names no factor of the study; None is allowed.

    Raises:
        KeyValueError: there is no such factor; the message names `key` and the nearest factor.
    """
    if value is not None and value not in keys:
        raise KeyValueError(key, value, "not a factor of this study", did_you_mean(value, keys))


def resolve_levels(
    wanted: Mapping[str, Any], factors: Sequence[Factor], key: str
) -> dict[str, str]:
    """Return the levels that a selection names, spelled as in the factors.

    Raises:
        KeyValueError: there is no such factor, or it has no such level.
    """
    by_key = {factor.key: factor for factor in factors}
    labels = {}
    for name, value in flattened(wanted).items():
        if name not in by_key:
            raise KeyValueError(key, name, "not a factor of this study", did_you_mean(name, by_key))
        level = by_key[name].find(value)
        if level is None:
            known = [level.label for level in by_key[name].levels]
            reason = f"not a level of {factor_key(name)}"
            raise KeyValueError(f"{key}.{name}", value, reason, did_you_mean(str(value), known))
        labels[name] = level.label
    return labels


def refuse_unknown_metric(metric: str, key: str, own: Collection[str] = ()) -> None:
    """Refuse a metric that neither netwarp nor the study defines.

    Raises:
        KeyValueError: there is no such metric; the message names `key` and the nearest one.
    """
    if metric not in METRICS and metric not in own:
        raise KeyValueError(key, metric, "not a metric", did_you_mean(metric, [*own, *METRICS]))
