"""The parts that all kinds of charts have: axes, colours, labels, panels."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from netwarp.figures.layout import MOST_COLUMNS, Layout, wants_log
from netwarp.figures.style import Spec
from netwarp.wording import factor_title, factor_unit, level_text

if TYPE_CHECKING:
    from netwarp.figures.rows import Row

HIGHLIGHT = "highlight"
MOST_LABELLED = 6
"""Maximum number of series whose names are at the ends of their lines; with more, a legend is
clearer."""
LABEL_WIDTH = 3.5
"""Width of a label at the right of its panel, in font sizes."""
GAP = 24
"""Distance between panels, in pixels."""


def field(name: str, kind: str = "quantitative", **more: Any) -> Spec:
    """Return the encoding of a field of the rows."""
    return {"field": name, "type": kind} | more


def level_axis(plan: Layout) -> Spec:
    """Return the x axis for the levels of a factor: at even distances if they are few, else at
    their values.
    """
    if plan.x_is_ordinal:
        places = list(range(len(plan.x_labels)))
        texts = json.dumps(plan.x_texts)
        return field("x", title=plan.x_title, axis={
            "values": places, "labelExpr": f"{texts}[datum.value]", "labelOverlap": "greedy",
            "labelFlush": False,
        }, scale={"domain": plan.x_domain, "zero": False, "nice": False})  # fmt: skip
    scale = plan.x_scale
    values = [scale.numbers[label] for label in plan.x_labels] if scale else []
    # Ticks are at the levels, as nothing was measured between them. The axis covers all levels,
    # also those without the metric, such as the gap at 0 handovers.
    return field("x", title=plan.x_title, axis={
        "values": values, "format": ".6~g", "labelOverlap": "greedy", "labelFlush": False,
    }, scale={
        "type": "log" if plan.x_wants_log else "linear", "domain": plan.x_domain, "zero": False,
        "nice": False, "padding": 16,
    })  # fmt: skip


def name_axis(plan: Layout) -> Spec:
    """Return the x axis of levels as names, for bars and boxes."""
    if plan.x is None:
        return field("x_text", "nominal", title=None)
    names = [level_text(plan.x, label) for label in plan.x_labels]
    has_units = plan.x_scale is not None and (plan.x_scale.unit or factor_unit(plan.x))
    title = factor_title(plan.x) if has_units else plan.x_title
    return field("x_text", "nominal", sort=names, title=title, axis={"labelAngle": 0})


def value_axis(
    values: Sequence[float], title: str, log: bool | None, *, name: str, zero: bool = True
) -> Spec:
    """Return the axis of a metric."""
    return field(name, title=title, scale=value_scale(values, log, zero=zero),
                 axis=value_ticks(values, log))  # fmt: skip


def value_ticks(values: Sequence[float], log: bool | None) -> Spec:
    """Return the grid lines: at 1, 2 and 5 in each decade; over many decades, at each decade."""
    if not is_log(values, log):
        return {"format": ".6~g", "tickCount": 6}
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    steps = (1, 2, 5) if high - low <= 3 else (1,)
    ticks = [step * 10**decade for decade in range(low, high + 1) for step in steps]
    return {"format": ".6~g", "values": ticks}


def is_log(values: Sequence[float], log: bool | None) -> bool:
    """Return whether an axis is logarithmic: as `log` says, or if that is None, by the range of the
    values.
    """
    positive = bool(values) and min(values) > 0
    return positive and (wants_log(values) if log is None else log)


def value_scale(values: Sequence[float], log: bool | None = None, *, zero: bool = True) -> Spec:
    """Return the scale of a metric."""
    if is_log(values, log):
        return {"type": "log", "nice": False, "padding": 10}
    return {"zero": zero, "nice": True}


def colour(plan: Layout, *, legend: bool) -> Spec:
    """Return the encoding of series by colour; a single one has its transport's colour if that is
    known.
    """
    if plan.series is None:
        return {"color": {"value": plan.series_styles[0].colour}}
    return {"color": _by_series(plan, [style.colour for style in plan.series_styles], legend)}


def shape(plan: Layout, *, legend: bool) -> Spec:
    """Return the encoding of series by shape, in addition to colour."""
    shapes = [style.shape for style in plan.series_styles]
    return {"shape": _by_series(plan, shapes, legend)} if plan.series else {}


def dash(plan: Layout, *, legend: bool) -> Spec:
    """Return the encoding of series by dashes, in addition to colour."""
    dashes = [list(style.dash) or [1, 0] for style in plan.series_styles]
    return {"strokeDash": _by_series(plan, dashes, legend)} if plan.series else {}


def offset(plan: Layout) -> Spec:
    """Return the encoding that draws the series of a level side by side."""
    return (
        {"xOffset": field("series", "nominal", sort=plan.series_texts)} if plan.has_series else {}
    )


def _by_series(plan: Layout, values: Sequence[Any], legend: bool) -> Spec:
    shown = legend and plan.has_series
    return field(
        "series", "nominal", scale={"domain": plan.series_texts, "range": list(values)},
        title=legend_title(plan), legend={} if shown else None,
    )  # fmt: skip


def legend_title(plan: Layout) -> str | None:
    """Return the legend's title, which is the factor's; None for transports, whose names need
    none.
    """
    return None if plan.series in (None, "transport") else factor_title(plan.series)


def highlight(plan: Layout, *, legend: bool) -> Spec:
    """Return the parameters with which a click on a mark, or on a name in the legend, highlights
    its series.
    """
    if not plan.has_series:
        return {}
    chosen: Spec = {"name": HIGHLIGHT, "select": {"type": "point", "fields": ["series"]}}
    return {"params": [chosen | {"bind": "legend"} if legend else chosen]}


def faded(plan: Layout, opacity: float = 1.0) -> Spec:
    """Return the encoding that makes other series faint while one is highlighted."""
    if not plan.has_series:
        return {"opacity": {"value": opacity}}
    return {"opacity": {"condition": {"param": HIGHLIGHT, "value": opacity}, "value": 0.12}}


def condition_tips(plan: Layout) -> list[Spec]:
    """Return the tooltip fields that identify the cell of a mark."""
    tips = []
    if plan.series is not None:
        tips.append(field("series", "nominal", title=plan.series))
    if plan.x is not None:
        tips.append(field("x_text", "nominal", title=plan.x))
    if len(plan.panels) > 1:
        tips.append(field("panel", "nominal", title="condition"))
    return tips


def only(layer: Spec, column: str) -> Spec:
    """Return a layer that draws only rows that have a value in a column."""
    return {"transform": [{"filter": f"isValid(datum.{column})"}]} | layer


def name_labels(plan: Layout, y: Spec) -> Spec:
    """Return the layer that names each line at its right end, in the line's colour."""
    size = plan.theme.font_size
    mark = {"type": "text", "align": "left", "dx": 0.7 * size, "fontSize": size, "fontWeight": 600}
    placed = y | {"field": "label_y"}
    encoding = {"x": level_axis(plan), "y": placed, "text": field("series", "nominal")}
    # It has a colour scale of its own, apart from that of lines and points.
    encoding["color"] = field("ink", "nominal", scale=None)
    return only({"mark": mark, "encoding": encoding}, "label_y")


def panels(
    plan: Layout,
    layers: Sequence[Spec],
    rows: list[Row],
    height: int | None = None,
    *,
    own_axes: bool = False,
    labelled: bool = False,
    titles: list[str] | None = None,
) -> Spec:
    """Return a chart of layers in one plot, or in a plot for each panel, with common axes unless
    `own_axes` is set. The plots are side by side or below each other.

    Args:
        plan: the chart's layout.
        layers: layers of each plot, bottom up.
        rows: the data of all layers.
        height: height of a plot in pixels; None for the theme's.
        own_axes: whether each panel has its own x axis.
        labelled: whether lines have names at their right ends, which need room.
        titles: titles of the panels; None for the plan's.

    Returns:
        The chart; its `usermeta` has what a page needs to fit it to the width available.
    """
    theme = plan.theme
    if titles is None:
        titles = [panel for panel in plan.panels if any(row["panel"] == panel for row in rows)]
    columns = min(plan.columns if plan.columns > 1 else MOST_COLUMNS, max(1, len(titles)))
    gap = GAP * theme.font_size / 12 + (LABEL_WIDTH * theme.font_size if labelled else 0)
    # Room for the axis and its title, and for the labels right of the last panel.
    beside = 5 * theme.font_size + (gap if labelled else 0)
    width = round((theme.width - beside - gap * (columns - 1)) / columns)
    meta = {"usermeta": {"columns": columns, "gap": round(gap), "beside": round(beside)}}
    chart: Spec = {"data": {"values": rows}} | meta
    if len(titles) <= 1:
        return chart | {"layer": list(layers), "width": width, "height": height or theme.height}
    chart |= {
        "facet": field("panel", "nominal", sort=titles, title=None),
        "columns": columns,
        "spacing": {"row": GAP * theme.font_size / 12, "column": gap},
        "spec": {
            "layer": list(layers), "width": width,
            "height": min(height or theme.height, theme.panel_height),
        },
    }  # fmt: skip
    return chart | {"resolve": {"scale": {"x": "independent"}}} if own_axes else chart
