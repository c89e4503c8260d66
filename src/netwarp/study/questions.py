"""The figures of a study, checked against its factors and metrics; claims are in `claims.py`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from netwarp.fields import KeyValueError, Section
from netwarp.metrics import METRICS
from netwarp.study.cells.factors import Factor, factor_key, flattened
from netwarp.suggestions import did_you_mean

Levels = dict[str, Any]
DELAYS = ("message_delay_s_", "delay_s_", "rr_latency_s_")
"""Prefixes of metrics that are quantiles of the delays within a run."""


class Figure(Section):
    """A chart of a metric over the cells. Factors it does not name get one chart per level.

    A `timeline` has no metric: it shows what happened in single runs over time, delay and goodput,
    and what a player did. Factors that are neither `series` nor in `where` may have one level only.
    """

    kind: Literal[
        "line",
        "bar",
        "heatmap",
        "box",
        "cdf",
        "delay-cdf",
        "scatter",
        "ratio",
        "ratio-heatmap",
        "timeline",
    ] = "line"
    """What is drawn: means with 95 % confidence intervals (line, bar), means as colours over two
    factors (heatmap), the distribution of the samples (box, cdf), that of the delays within the
    runs of a `flow` or an `rr` (delay-cdf), one metric against another (scatter), the ratio to the
    first transport (ratio, over two factors ratio-heatmap), or runs over time (timeline)."""
    x: str | None = None
    """Factor along the horizontal axis; of a scatter chart, the metric there. A cdf, a delay-cdf
    and a timeline have none."""
    y: str | None = None
    """Metric that is shown; needed by all but a timeline. Of a delay-cdf one of the quantiles:
    those of `message_delay_s_p50`, `delay_s_p50` or `rr_latency_s_p50`, whichever is named."""
    series: str | None = None
    """Factor that is told apart by colour; of a timeline, whose levels have a row each."""
    where: Levels = Field(default_factory=dict)
    """Timeline: levels of the runs it shows, by factor."""
    replicate: Annotated[int, Field(ge=0)] | None = None
    """Timeline: the replicate it shows, from 0. Default: 0."""
    title: str | None = None
    """Title. Default: made from `y` and `x`."""
    x_scale: Literal["linear", "log"] | None = None
    """Scale of the horizontal axis. Default: log where the levels span more than two decades."""
    y_scale: Literal["linear", "log"] | None = None
    """Scale of the metric's axis. Default: log where its values span more than two decades."""

    @property
    def metric(self) -> str:
        """Name of the metric that is shown.

        Raises:
            ValueError: a timeline has none.
        """
        if self.y is None:
            raise ValueError(f"a {self.kind} figure has no metric")
        return self.y


def checked_figure(
    figure: Figure, index: int, factors: Sequence[Factor], own_metrics: Collection[str] = ()
) -> Figure:
    """Check that a figure can be drawn: that its factors and its metric exist.

    Args:
        figure: one of the study file's.
        index: its index in the file, from 0.
        factors: the study's factors.
        own_metrics: metrics that the study itself defines.
    """
    key = f"figure.{index}"
    keys = [factor.key for factor in factors]
    if figure.kind == "timeline":
        return _checked_timeline(figure, key, factors)
    for name in ("where", "replicate"):
        if name in figure.model_fields_set:
            reason, remedy = f"only a timeline has {name}", "drop it"
            raise KeyValueError(f"{key}.{name}", None, reason, remedy)
    if figure.y is None:
        reason, remedy = "missing", "add it: the metric that is shown"
        raise KeyValueError(f"{key}.y", None, reason, remedy)
    refuse_unknown_metric(figure.y, f"{key}.y", own_metrics)
    if figure.kind == "delay-cdf" and not figure.y.startswith(DELAYS):
        begins = ", ".join(f"{begin}p50" for begin in DELAYS)
        raise KeyValueError(f"{key}.y", figure.y, "no delay within runs", f"one of {begins}")
    if (figure.x is None) != (figure.kind in ("cdf", "delay-cdf")):
        remedy = "drop x" if figure.x else f"add x, one of: {', '.join(keys) or 'no factors'}"
        is_along = f"a {figure.kind} has its metric along x"
        reason = is_along if figure.x else f"a {figure.kind} chart needs x"
        raise KeyValueError(f"{key}.x", figure.x, reason, remedy)
    if figure.kind == "scatter" and figure.x is not None:
        refuse_unknown_metric(figure.x, f"{key}.x", own_metrics)
    elif figure.kind in ("heatmap", "ratio-heatmap") and figure.series is None:
        reason = "a heatmap needs a second factor"
        remedy = f"add series, one of: {', '.join(keys)}"
        raise KeyValueError(f"{key}.series", None, reason, remedy)
    factors_named = [("series", figure.series)]
    if figure.kind != "scatter":
        factors_named.append(("x", figure.x))
    for name, value in factors_named:
        refuse_unknown_factor(value, keys, f"{key}.{name}")
    return figure


def _checked_timeline(figure: Figure, key: str, factors: Sequence[Factor]) -> Figure:
    """Check that a timeline selects exactly one run for each level of its series."""
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
                f'choose one, such as where = {{ "{factor.key}" = "{factor.levels[0].label}" }}',
            )
    return figure.model_copy(update={"where": where})


def refuse_unknown_factor(value: str | None, keys: Sequence[str], key: str) -> None:
    """Check that a value, if there is one, names a factor of the study.

    Raises:
        KeyValueError: no such factor; the message names `key` and the nearest factor.
    """
    if value is not None and value not in keys:
        raise KeyValueError(key, value, "not a factor of this study", did_you_mean(value, keys))


def resolve_levels(
    wanted: Mapping[str, Any], factors: Sequence[Factor], key: str
) -> dict[str, str]:
    """Find the levels that a selection names, spelled as the factors do.

    Raises:
        KeyValueError: no such factor, or no such level of it.
    """
    by_key = {factor.key: factor for factor in factors}
    labels = {}
    for name, value in flattened(wanted).items():
        if name not in by_key:
            raise KeyValueError(key, name, "not a factor of this study", did_you_mean(name, by_key))
        level = by_key[name].find(value)
        if level is None:
            known = [level.label for level in by_key[name].levels]
            raise KeyValueError(
                f"{key}.{name}",
                value,
                f"not a level of {factor_key(name)}",
                did_you_mean(str(value), known),
            )
        labels[name] = level.label
    return labels


def refuse_unknown_metric(metric: str, key: str, own: Collection[str] = ()) -> None:
    """Check that a metric exists: one of netwarp's, or one that the study itself defines.

    Raises:
        KeyValueError: no such metric; the message names `key` and the nearest one.
    """
    if metric not in METRICS and metric not in own:
        raise KeyValueError(key, metric, "not a metric", did_you_mean(metric, [*own, *METRICS]))
