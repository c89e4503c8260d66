"""The kinds of charts: each is a function from a layout to a Vega-Lite specification.

One definition serves all outputs: interactive in the report, SVG, PNG and PDF.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, get_args

from netwarp.figures.encodings import (
    MOST_LABELLED,
    colour,
    condition_tips,
    dash,
    faded,
    field,
    highlight,
    is_log,
    level_axis,
    name_axis,
    name_labels,
    offset,
    only,
    panels,
    shape,
    value_axis,
    value_scale,
)
from netwarp.figures.layout import wants_log
from netwarp.figures.rows import (
    Row,
    label_rows,
    mean_rows,
    pair_rows,
    ratio_rows,
    sample_rows,
    step_rows,
)
from netwarp.figures.style import DIVERGING, GREY, INK
from netwarp.wording import level_text, quantity

if TYPE_CHECKING:
    from collections.abc import Callable

    from netwarp.figures.layout import Layout
    from netwarp.figures.style import Spec

ChartKind = Literal["line", "bar", "box", "cdf", "heatmap", "scatter", "ratio", "ratio-heatmap"]
CHART_KINDS: tuple[ChartKind, ...] = get_args(ChartKind)

# With more levels whiskers are too dense: a band shows the interval instead.
MOST_WHISKERS = 8
RATIO_STEPS = (
    (10, 100, 1000), (2, 5, 10, 20, 50), (1.5, 2, 3, 5), (1.2, 1.5, 2), (1.1, 1.2, 1.5),
    (1.05, 1.1, 1.2), (1.02, 1.05, 1.1), (1.01, 1.02, 1.05), (1.002, 1.005, 1.01),
)  # fmt: skip
"""Candidate ratios above 1 for grid lines, coarse to fine; below 1 their reciprocals are used."""
LEAST_RATIO_TICKS = 4
LEAST_SIDE = 0.08
"""Share of a ratio axis from which on the side below 1, or above it, has a tick of its own."""
MOST_SAMPLES = 2000
"""Most runs that a line chart shows as dots; more would overlap, and make the page large."""


def line(plan: Layout) -> Spec:
    """Draw means over a factor, with 95 % intervals as whiskers (a band for many levels)."""
    means, samples = mean_rows(plan), sample_rows(plan)
    samples = samples if len(samples) <= MOST_SAMPLES else []
    values = [row[name] for row in means for name in ("mean", "low", "high")]
    values += [row["value"] for row in samples]
    y = value_axis(values, plan.shown.axis_title, plan.y_log, name="mean")
    legend = not _names_at_ends(plan)
    tips = [
        *condition_tips(plan),
        field("text", "nominal", title="mean, 95 % CI"),
        field("runs", "nominal", title="runs"),
    ]
    layers = [_spread(plan, y, legend=legend)]
    if samples:
        layers.append(_dots(plan, y | {"field": "value"}, legend=legend))
    layers += _line_and_points(plan, y, tips, legend=legend)
    labels: list[Row] = []
    if _names_lines(plan, legend=legend):
        log = is_log(values, plan.y_log)
        labels = label_rows(plan, means, "mean", apart=_label_share(plan), log=log)
        layers.append(name_labels(plan, y))
    return panels(plan, layers, [*means, *samples, *labels], labelled=bool(labels))


def ratio(plan: Layout) -> Spec:
    """Draw each contender's ratio to the first, with its 95 % interval; filled if decided."""
    rows = ratio_rows(plan)
    values = [row[name] for row in rows for name in ("ratio", "low", "high")] or [1.0]
    low, high = min(0.97, 0.98 * min(values)), max(1.03, 1.02 * max(values))
    y = field(
        "ratio", title=f"Ratio to {_first(plan)}",
        scale={"type": "log", "domain": [low, high], "nice": False},
        axis={"format": ".4~g", "values": ratio_ticks(low, high), "grid": True},
    )  # fmt: skip
    tips = [*condition_tips(plan), field("text", "nominal", title="verdict")]
    one = {
        "mark": {"type": "rule", "color": GREY, "strokeWidth": 0.6 * plan.theme.line_width},
        "encoding": {
            # It ends at the last level, as series are named to the right of it.
            "x": _at(level_axis(plan), plan.x_domain[0]),
            "x2": {"datum": max(map(plan.place, plan.results.cells))},
            "y": _at(y, 1),
        },
    }
    legend = not _names_at_ends(plan)
    *lines, points = _line_and_points(plan, y, tips, legend=legend)
    points["encoding"]["fillOpacity"] = {
        "condition": {"test": "datum.decided", "value": 1}, "value": 0
    }  # fmt: skip
    points["encoding"]["stroke"] = points["encoding"].pop("color")
    points["encoding"]["fill"] = points["encoding"]["stroke"]
    points["mark"] |= {"strokeWidth": 0.7 * plan.theme.line_width}
    points["mark"].pop("stroke")
    layers = [one, _spread(plan, y, legend=legend), *lines, points]
    labels: list[Row] = []
    if rows and _names_lines(plan, legend=legend):
        labels = label_rows(plan, rows, "ratio", apart=_label_share(plan), log=True)
        layers.append(name_labels(plan, y))
    height = round(0.8 * plan.theme.height)
    return panels(plan, layers, [*rows, *labels], height, labelled=bool(labels))


def bar(plan: Layout) -> Spec:
    """Draw means as bars from zero, with 95 % intervals as whiskers, and every run as a dot."""
    rows, samples = mean_rows(plan), sample_rows(plan)
    samples = samples if len(samples) <= MOST_SAMPLES else []
    place = {"x": name_axis(plan)} | offset(plan)
    y = field("mean", title=plan.shown.axis_title, axis={"format": ".6~g", "tickCount": 6})
    tips = [
        *condition_tips(plan),
        field("text", "nominal", title="mean, 95 % CI"),
        field("runs", "nominal", title="runs"),
    ]
    bars = {
        "mark": {"type": "bar", "cornerRadiusEnd": 1.5},
        "encoding": place | {"y": y, "tooltip": tips} | colour(plan, legend=True) | faded(plan),
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
                "y": y | {"field": "value"}, "color": {"value": GREY}, "tooltip": _run_tips(plan)
            },
        }  # fmt: skip
        layers.append(only(dots, "value"))
    return panels(plan, layers, [*rows, *samples])


def box(plan: Layout) -> Spec:
    """Draw median, quartiles and whiskers (1.5 × IQR, Tukey 1977) with every run as a dot."""
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
        "encoding": place | {"color": {"value": GREY}, "tooltip": _run_tips(plan)},
    }
    return panels(plan, [boxes, dots], rows)


def cdf(plan: Layout) -> Spec:
    """Draw the empirical distribution function of the runs' values."""
    return distribution(plan, step_rows(plan), plan.shown.axis_title, "Share of runs")


def distribution(plan: Layout, rows: list[Row], value: str, share: str) -> Spec:
    """Draw a distribution function.

    Args:
        plan: the chart's layout.
        rows: the function's steps, with value and share.
        value: title of the axis of values.
        share: title of the axis of shares.
    """
    # Every panel has its own axis, so the widest range of a single panel counts.
    by_panel: dict[str, list[float]] = {}
    for row in rows:
        by_panel.setdefault(row["panel"], []).append(row["value"])
    widest = max(by_panel.values(), key=lambda values: max(values) / (min(values) or 1))
    x = field(
        "value", title=value, scale=value_scale(widest, plan.y_log, zero=False),
        axis={"format": ".6~g", "tickCount": 4, "labelOverlap": "greedy"},
    )  # fmt: skip
    y = field("share", title=share, axis={"format": ".0%"})
    steps = {
        "mark": {
            "type": "line", "interpolate": "step-after", "strokeWidth": plan.theme.line_width
        },
        "encoding": {"x": x, "y": y, "order": field("share")}
        | colour(plan, legend=True) | dash(plan, legend=True) | faded(plan),
    } | highlight(plan, legend=True)  # fmt: skip
    return panels(plan, [steps], rows, own_axes=True)


def heatmap(plan: Layout) -> Spec:
    """Draw means as colours over two factors, with the number in each field."""
    rows = mean_rows(plan)
    values = [row["mean"] for row in rows]
    log = wants_log(values)
    middle = (max(values) * min(values)) ** 0.5 if log else sum(values) / len(values)
    scale = {"scheme": "viridis", "type": "log" if log else "linear", "reverse": True}
    tips = [*condition_tips(plan), field("text", "nominal", title="mean, 95 % CI")]
    ink = {"condition": {"test": f"datum.mean > {middle!r}", "value": "white"}, "value": INK}
    return _fields(plan, rows, field("mean", scale=scale, legend=None), tips, {"color": ink})


def ratio_heatmap(plan: Layout) -> Spec:
    """Draw ratios to the first contender over two factors, in brackets where undecided."""
    rows = [row | {"panel": _ratio_panel(row)} for row in ratio_rows(plan)]
    widest = max([1.1, *(max(row["ratio"], 1 / row["ratio"]) for row in rows)])
    scale = {
        "type": "log", "domain": [1 / widest, 1, widest], "range": list(DIVERGING),
        "interpolate": "lab",
    }  # fmt: skip
    tips = [*condition_tips(plan), field("text", "nominal", title="verdict")]
    strong = f"abs(log(datum.ratio)) > {0.55 * math.log(widest)!r}"
    look = {"color": {"condition": {"test": strong, "value": "white"}, "value": INK}}
    marked = [row | {"number": row["number"] if row["decided"] else f"({row['number']})"}
              for row in rows]  # fmt: skip
    fill = field("ratio", scale=scale, legend=None)
    return _fields(plan, marked, fill, tips, look)


def _ratio_panel(row: Row) -> str:
    return ", ".join(filter(None, [row["contender"], row["others"]]))


def scatter(plan: Layout, x_metric: str) -> Spec:
    """Draw one metric against another, a dot for each run."""
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
            "tooltip": _run_tips(plan),
        } | colour(plan, legend=True) | shape(plan, legend=True) | faded(plan, 0.85),
    } | highlight(plan, legend=True)  # fmt: skip
    return panels(plan, [dots], rows, own_axes=True)


OVER_FACTOR: dict[str, Callable[[Layout], Spec]] = {
    "line": line,
    "bar": bar,
    "box": box,
    "cdf": cdf,
    "heatmap": heatmap,
    "ratio": ratio,
    "ratio-heatmap": ratio_heatmap,
}
"""Kinds of charts with a factor along x, or nothing (`cdf`)."""


def _at(axis: Spec, value: float) -> Spec:
    """Give an axis with a constant value in place of a field."""
    return {key: part for key, part in axis.items() if key != "field"} | {"datum": value}


def _line_and_points(plan: Layout, y: Spec, tips: list[Spec], *, legend: bool) -> list[Spec]:
    """Draw a line through the cells of each series, and a mark at each cell."""
    place = {"x": level_axis(plan), "y": y}
    column = str(y["field"])
    looks = colour(plan, legend=legend) | faded(plan)
    lines: Spec = {
        "mark": {"type": "line", "strokeWidth": plan.theme.line_width, "strokeCap": "round"},
        "encoding": place | looks | dash(plan, legend=legend),
    }
    if legend and plan.has_series:
        # Otherwise the symbols' outlines are dashed like the lines.
        lines["encoding"]["strokeDash"]["legend"] = {"symbolStrokeWidth": 0}
    points = {
        "mark": {
            "type": "point", "filled": True, "size": plan.theme.point_size, "opacity": 1,
            "stroke": "white", "strokeWidth": 0.4 * plan.theme.line_width,
        },
        "encoding": place | looks | shape(plan, legend=legend) | {"tooltip": tips},
    } | highlight(plan, legend=legend)  # fmt: skip
    marks = [lines, points] if plan.x_is_scale else [points]  # nothing is between two names
    return [only(mark, column) for mark in marks]


def _spread(plan: Layout, y: Spec, *, legend: bool) -> Spec:
    """Draw the 95 % intervals: whiskers, or a band where they are many."""
    ends = {"x": level_axis(plan), "y": y | {"field": "low"}, "y2": {"field": "high"}}
    if len(plan.x_labels) > MOST_WHISKERS:
        mark: Spec = {"type": "area", "opacity": 0.18}
    else:
        mark = {"type": "rule", "strokeWidth": 0.7 * plan.theme.line_width}
    return only({"mark": mark, "encoding": ends | colour(plan, legend=legend)}, "low")


def _dots(plan: Layout, y: Spec, *, legend: bool) -> Spec:
    """Draw every run as a faint dot at its cell."""
    mark = {"type": "circle", "size": 0.22 * plan.theme.point_size, "opacity": 0.35}
    encoding = {"x": level_axis(plan), "y": y, "tooltip": _run_tips(plan)}
    return only({"mark": mark, "encoding": encoding | colour(plan, legend=legend)}, "value")


def _fields(plan: Layout, rows: list[Row], fill: Spec, tips: list[Spec], look: Spec) -> Spec:
    """Draw a rectangle for each cell over two factors, with a number in it."""
    place = {
        "x": name_axis(plan),
        "y": field("series", "nominal", sort=plan.series_texts, title=plan.series_title),
        "tooltip": tips,
    }
    fields = {
        "mark": {"type": "rect", "stroke": "white", "strokeWidth": 2},
        "encoding": place | {"color": fill},
    }
    size = plan.theme.font_size
    numbers = {
        "mark": {"type": "text", "fontSize": size, "fontWeight": 500},
        "encoding": place | {"text": field("number", "nominal")} | look,
    }
    titles = list(dict.fromkeys(row["panel"] for row in rows))
    height = round(max(10 * size, 3.8 * size * len(plan.series_labels)))
    return panels(plan, [fields, numbers], rows, height, titles=titles)


def _names_at_ends(plan: Layout) -> bool:
    """Whether lines are named at their ends, in place of a legend."""
    return plan.series == "transport" and len(plan.series_labels) <= MOST_LABELLED


def _names_lines(plan: Layout, *, legend: bool) -> bool:
    """Whether lines are named at their ends, with or without a legend."""
    return not legend or plan.series not in (None, "transport")


def _label_share(plan: Layout) -> float:
    """Height of a label, as a share of its panel's height."""
    theme = plan.theme
    height = theme.panel_height if len(plan.panels) > 1 else theme.height
    return 1.15 * theme.font_size / height


def _run_tips(plan: Layout) -> list[Spec]:
    value = field("value", title=plan.shown.axis_title, format=".4~r")
    return [*condition_tips(plan), value, field("run", "nominal", title="run")]


def _first(plan: Layout) -> str:
    factor = plan.results.contender_factor or "transport"
    return level_text(factor, plan.results.first)


def ratio_ticks(low: float, high: float) -> list[float]:
    """Choose grid lines at round ratios on both sides of 1, up to the largest ratio."""
    inside: list[float] = []
    for steps in RATIO_STEPS:
        ticks = [1.0, *steps, *(_reciprocal(step) for step in steps)]
        inside = [tick for tick in ticks if low <= tick <= high]
        if len(inside) >= LEAST_RATIO_TICKS:
            break
    else:
        return [1.0, low, high]
    whole = math.log(high / low)
    if min(inside) == 1 and math.log(1 / low) > LEAST_SIDE * whole:
        inside.append(next(_reciprocal(s) for s in _steps() if low <= _reciprocal(s)))
    if max(inside) == 1 and math.log(high) > LEAST_SIDE * whole:
        inside.append(next(step for step in _steps() if step <= high))
    return sorted(inside)


def _steps() -> list[float]:
    """List the ratios for grid lines above 1, the largest first."""
    return sorted({step for steps in RATIO_STEPS for step in steps}, reverse=True)


def _reciprocal(step: float) -> float:
    return float(f"{1 / step:.3g}")
