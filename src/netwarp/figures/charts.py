"""The kinds of charts, each a function from a layout to a Vega-Lite chart.

One definition serves all outputs: interactive in the report, SVG and PNG beside it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import altair as alt

from netwarp import vega
from netwarp.figures.data import (
    Layout,
    Row,
    mean_rows,
    pair_rows,
    sample_rows,
    step_rows,
    wants_log,
)
from netwarp.figures.style import INK, config, series_styles, series_texts
from netwarp.wording import factor_title, level_text, quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ChartKind = Literal["line", "bar", "box", "cdf", "heatmap", "scatter"]
CHART_KINDS: tuple[ChartKind, ...] = get_args(ChartKind)

WIDTH = 640  # of all panels together, px: a README column
HEIGHT = 300
PNG_SCALE = 2  # sharp on dense screens and at a README's width
# Beyond so many levels whiskers make a fence: a band shows the interval instead.
MOST_WHISKERS = 8


@dataclass(frozen=True)
class Chart:
    """A figure, drawn."""

    name: str
    """Of its files, without ending."""
    title: str
    alt: str
    """What it shows, in words, for readers who do not see it."""
    spec: dict[str, Any]
    """Vega-Lite, with its data."""
    draw_still: Callable[[], dict[str, Any]] | None = None
    """The same for pictures, where it differs: without what only shows under a pointer."""

    @property
    def still(self) -> dict[str, Any]:
        """Vega-Lite for pictures."""
        return self.draw_still() if self.draw_still else self.spec

    def svg(self) -> str:
        """Draw as SVG."""
        return vega.svg(self.still)

    def png(self) -> bytes:
        """Draw as PNG."""
        return vega.png(self.still, PNG_SCALE)


def line(plan: Layout) -> alt.TopLevelMixin:
    """Means over a factor, with 95 % intervals as whiskers (a band for many levels)."""
    rows = mean_rows(plan)
    x = _x(plan)
    y = _y(plan, "mean", rows, ("mean", "low", "high"))
    # Without this the legend's symbols get the dashes of the lines as their outline.
    legend = alt.Legend(symbolStrokeWidth=0)
    colour = _colour(plan, legend)
    base = alt.Chart().encode(x=x)
    spread: alt.Chart
    if len(plan.x_labels) > MOST_WHISKERS:
        spread = base.mark_area(opacity=0.18).encode(y=_y(plan, "low", rows), y2="high:Q", **colour)
    else:
        spread = base.mark_errorbar(ticks={"size": 7}, thickness=1.3).encode(
            y=_y(plan, "low", rows), y2="high:Q", **colour
        )
    lines = base.mark_line(strokeWidth=2, strokeCap="round").encode(
        y=y, **colour, **_dash(plan, legend), opacity=_faded(plan)
    )
    points = (
        base.mark_point(size=70, filled=True, opacity=1, stroke="white", strokeWidth=0.8)
        .encode(y=y, **colour, **_shape(plan, legend), opacity=_faded(plan), tooltip=_tooltip(plan))
        .add_params(*_highlight(plan))
    )
    return _panels(plan, [spread, lines, points], rows)


def bar(plan: Layout) -> alt.TopLevelMixin:
    """Means as bars from zero, with 95 % intervals as whiskers."""
    rows = mean_rows(plan)
    base = alt.Chart().encode(x=_x_named(plan), **_offset(plan))
    bars = (
        base.mark_bar(cornerRadiusEnd=1.5)
        .encode(
            y=alt.Y(
                "mean:Q", title=plan.shown.axis_title, axis=alt.Axis(format=".6~g", tickCount=6)
            ),
            **_colour(plan), opacity=_faded(plan), tooltip=_tooltip(plan),
        )
        .add_params(*_highlight(plan))
    )  # fmt: skip
    spread = base.mark_errorbar(color=INK, thickness=1.2, ticks={"size": 6, "color": INK}).encode(
        y=alt.Y("low:Q", title=plan.shown.axis_title), y2="high:Q"
    )
    return _panels(plan, [bars, spread], rows)


def box(plan: Layout) -> alt.TopLevelMixin:
    """Median, quartiles and whiskers (1.5 × IQR, Tukey 1977) with every run as a dot."""
    rows = sample_rows(plan)
    base = alt.Chart().encode(
        x=_x_named(plan), y=_y(plan, "value", rows, zero=False), **_offset(plan), **_colour(plan)
    )
    slots = max(1, len(plan.x_labels)) * max(1, len(plan.series_labels)) * plan.columns
    boxes = base.mark_boxplot(
        extent=1.5, outliers=False, size=min(30, 0.55 * WIDTH / slots), opacity=0.45,
        median={"color": INK, "thickness": 1.6}, rule={"color": INK}, ticks=False,
    )  # fmt: skip
    dots = base.mark_circle(size=14, opacity=1).encode(
        color=alt.value(INK), tooltip=_sample_tooltip(plan)
    )
    return _panels(plan, [boxes, dots], rows)


def cdf(plan: Layout) -> alt.TopLevelMixin:
    """Empirical distribution of the runs: how many were at most so slow."""
    rows = step_rows(plan)
    steps = (
        alt.Chart()
        .mark_line(interpolate="step-after", strokeWidth=2)
        .encode(
            x=_value_x(plan, rows),
            y=alt.Y("share:Q", title="Share of runs", axis=alt.Axis(format=".0%")),
            order="share:Q", **_colour(plan), **_dash(plan), opacity=_faded(plan),
        )
        .add_params(*_highlight(plan))
    )  # fmt: skip
    return _panels(plan, [steps], rows, own_axes=True)


def heatmap(plan: Layout) -> alt.TopLevelMixin:
    """Means as colours over two factors, with the number in each field."""
    rows = mean_rows(plan)
    values = [row["mean"] for row in rows]
    middle = (max(values) * min(values)) ** 0.5 if wants_log(values) else sum(values) / len(values)
    scale = alt.Scale(scheme="viridis", type="log" if wants_log(values) else "linear", reverse=True)
    labels = series_texts(plan.series, plan.series_labels)
    base = alt.Chart().encode(
        x=_x_named(plan), y=alt.Y("series:N", sort=labels, title=None), tooltip=_tooltip(plan)
    )
    fields = base.mark_rect(stroke="white", strokeWidth=2).encode(
        color=alt.Color("mean:Q", scale=scale, legend=None)  # every field has its number
    )
    numbers = base.mark_text(fontSize=12, fontWeight=500).encode(
        text="number:N",
        color=alt.when(f"datum.mean > {middle!r}")
        .then(alt.value("white"))
        .otherwise(alt.value("#1F2328")),
    )
    return _panels(plan, [fields, numbers], rows, height=max(120, 46 * len(labels)))


def scatter(plan: Layout, x_metric: str) -> alt.TopLevelMixin:
    """One metric against another, a dot for each run."""
    largest = [v for run in plan.results.runs if (v := run.value(x_metric)) is not None]
    x_shown = quantity(x_metric, max(largest, default=0.0))
    rows = pair_rows(plan, x_shown, x_metric)
    x_values = [row["x"] for row in rows]
    dots = (
        alt.Chart()
        .mark_point(size=55, filled=True, stroke="white", strokeWidth=0.6)
        .encode(
            x=alt.X("x:Q", title=x_shown.axis_title, scale=_scale(x_values)),
            y=_y(plan, "value", rows), **_colour(plan), **_shape(plan), opacity=_faded(plan, 0.85),
            tooltip=_sample_tooltip(plan),
        )
        .add_params(*_highlight(plan))
    )  # fmt: skip
    return _panels(plan, [dots], rows, own_axes=True)


OVER_FACTOR: dict[str, Callable[[Layout], alt.TopLevelMixin]] = {
    "line": line,
    "bar": bar,
    "box": box,
    "cdf": cdf,
    "heatmap": heatmap,
}
"""Kinds with a factor along x, or none (`cdf`)."""


def titled(
    chart: alt.TopLevelMixin, title: str, subtitle: str | list[str], description: str
) -> dict[str, Any]:
    """Finish a chart: its Vega-Lite specification, with data, title and description."""
    spec: dict[str, Any] = chart.to_dict()
    spec["title"] = {"text": title, "subtitle": subtitle}
    spec["description"] = description
    spec["config"] = config()
    return spec


def _panels(
    plan: Layout,
    layers: Sequence[alt.Chart],
    rows: list[Row],
    height: int = HEIGHT,
    *,
    own_axes: bool = False,
) -> alt.TopLevelMixin:
    """Put the layers on one plot, or on one for each panel, with common axes unless told."""
    panels = [panel for panel in plan.panels if any(row["panel"] == panel for row in rows)]
    columns = plan.columns
    data = alt.InlineData(values=rows)
    if len(panels) <= 1:
        return alt.layer(*layers, data=data).properties(width=WIDTH - 60, height=height)
    width = (WIDTH - 24 * (columns - 1)) / columns
    chart = (
        alt.layer(*layers, data=data)
        .properties(width=round(width), height=min(height, 260 if columns == len(panels) else 190))
        .facet(alt.Facet("panel:N", sort=panels, title=None), columns=columns)
    )
    return chart.resolve_scale(x="independent") if own_axes else chart


def _x(plan: Layout) -> alt.X:
    """Levels along x: at their numbers where they have some, else evenly spaced."""
    scale = plan.x_scale
    if scale is None or len(plan.x_labels) < 2:
        return _x_named(plan)
    values = [scale.values[label] for label in plan.x_labels]
    # Ticks stand at the levels: nothing was measured between them.
    axis = alt.Axis(values=values, format=".6~g", labelOverlap="greedy", labelFlush=False)
    kind: Literal["log", "linear"] = "log" if plan.x_wants_log else "linear"
    # The whole factor, also where a metric means nothing: the gap at 0 handovers.
    scale_x = alt.Scale(type=kind, domain=plan.x_domain, zero=False, nice=False, padding=16)
    return alt.X("x:Q", title=plan.x_title, axis=axis, scale=scale_x)


def _x_named(plan: Layout) -> alt.X:
    if plan.x is None:
        return alt.X("x_text:N", title=None)
    names = [level_text(plan.x, label) for label in plan.x_labels]
    title = plan.x_title.split(" (", maxsplit=1)[0]
    return alt.X("x_text:N", sort=names, title=title, axis=alt.Axis(labelAngle=0))


def _y(
    plan: Layout,
    field: str,
    rows: Sequence[Row],
    fields: Sequence[str] = (),
    *,
    zero: bool = True,
) -> alt.Y:
    values = [row[name] for row in rows for name in (fields or (field,))]
    return alt.Y(
        f"{field}:Q", title=plan.shown.axis_title, scale=_scale(values, plan.y_log, zero=zero),
        axis=_value_axis(values, plan.y_log),
    )  # fmt: skip


def _value_x(plan: Layout, rows: Sequence[Row]) -> alt.X:
    # Every panel has its own axis: only what one of them spans counts.
    by_panel: dict[str, list[float]] = {}
    for row in rows:
        by_panel.setdefault(row["panel"], []).append(row["value"])
    widest = max(by_panel.values(), key=lambda values: max(values) / (min(values) or 1))
    scale = _scale(widest, plan.y_log, zero=False)
    axis = alt.Axis(format=".6~g", tickCount=4, labelOverlap="greedy")
    return alt.X("value:Q", title=plan.shown.axis_title, scale=scale, axis=axis)


def _value_axis(values: Sequence[float], log: bool | None) -> alt.Axis:
    if not _is_log(values, log):
        return alt.Axis(format=".6~g", tickCount=6)
    # Rules at 1, 2, 5 in each decade, or at decades alone where there are many.
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    steps = (1, 2, 5) if high - low <= 3 else (1,)
    ticks = [step * 10**decade for decade in range(low, high + 1) for step in steps]
    return alt.Axis(format=".6~g", values=ticks)


def _is_log(values: Sequence[float], log: bool | None) -> bool:
    positive = bool(values) and min(values) > 0
    return positive and (wants_log(values) if log is None else log)


def _scale(values: Sequence[float], log: bool | None = None, *, zero: bool = True) -> alt.Scale:
    if _is_log(values, log):
        return alt.Scale(type="log", nice=False, padding=10)
    return alt.Scale(zero=zero, nice=True)


def _colour(plan: Layout, legend: Any = alt.Undefined) -> dict[str, Any]:
    if plan.series is None:
        return {"color": alt.value(series_styles(None, ["one"])[0].colour)}
    styles = series_styles(plan.series, plan.series_labels)
    domain = series_texts(plan.series, plan.series_labels)
    scale = alt.Scale(domain=domain, range=[style.colour for style in styles])
    if plan.series == plan.x:
        legend = None  # the axis names them
    return {"color": alt.Color("series:N", scale=scale, legend=legend, title=_legend_title(plan))}


def _legend_title(plan: Layout) -> str | None:
    """Say what the series are; transports have names of their own."""
    return None if plan.series in (None, "transport") else factor_title(plan.series)


def _shape(plan: Layout, legend: Any = alt.Undefined) -> dict[str, Any]:
    if plan.series is None:
        return {}
    styles = series_styles(plan.series, plan.series_labels)
    domain = series_texts(plan.series, plan.series_labels)
    scale = alt.Scale(domain=domain, range=[style.shape for style in styles])
    return {"shape": alt.Shape("series:N", scale=scale, legend=legend, title=_legend_title(plan))}


def _dash(plan: Layout, legend: Any = alt.Undefined) -> dict[str, Any]:
    if plan.series is None:
        return {}
    styles = series_styles(plan.series, plan.series_labels)
    domain = series_texts(plan.series, plan.series_labels)
    scale = alt.Scale(domain=domain, range=[list(style.dash) or [1, 0] for style in styles])
    return {
        "strokeDash": alt.StrokeDash(
            "series:N", scale=scale, legend=legend, title=_legend_title(plan)
        )
    }


def _offset(plan: Layout) -> dict[str, Any]:
    if plan.series is None or plan.series == plan.x:
        return {}
    return {"xOffset": alt.XOffset("series:N", sort=series_texts(plan.series, plan.series_labels))}


def _highlight(plan: Layout) -> list[alt.Parameter]:
    """Clicking a legend entry brings out its series."""
    if plan.series is None or plan.series == plan.x:
        return []
    return [alt.selection_point(name="highlight", fields=["series"], bind="legend")]


def _faded(plan: Layout, opacity: float = 1.0) -> Any:
    if plan.series is None or plan.series == plan.x:
        return alt.value(opacity)
    highlight = alt.selection_point(name="highlight", fields=["series"], bind="legend")
    return alt.when(highlight).then(alt.value(opacity)).otherwise(alt.value(0.12))


def _tooltip(plan: Layout) -> list[alt.Tooltip]:
    tips = _condition_tips(plan)
    tips.append(alt.Tooltip("text:N", title="mean ± 95 % CI"))
    tips.append(alt.Tooltip("runs:N", title="runs"))
    return tips


def _sample_tooltip(plan: Layout) -> list[alt.Tooltip]:
    value = alt.Tooltip("value:Q", title=plan.shown.axis_title, format=".4~r")
    return [*_condition_tips(plan), value, alt.Tooltip("run:N", title="run")]


def _condition_tips(plan: Layout) -> list[alt.Tooltip]:
    tips = []
    if plan.series is not None:
        tips.append(alt.Tooltip("series:N", title=plan.series))
    if plan.x is not None:
        tips.append(alt.Tooltip("x_text:N", title=plan.x))
    if len(plan.panels) > 1:
        tips.append(alt.Tooltip("panel:N", title="condition"))
    return tips
