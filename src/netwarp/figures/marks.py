"""Parts that several kinds of charts use: lines, dots, intervals, distributions, tiles."""

from netwarp.figures.encodings import (
    MOST_LABELLED,
    colour,
    condition_tips,
    dash,
    faded,
    field,
    highlight,
    level_axis,
    name_axis,
    only,
    panels,
    shape,
    value_scale,
)
from netwarp.figures.layout import Layout
from netwarp.figures.rows import Row, sample_rows
from netwarp.figures.style import Spec

# With more levels whiskers are too dense: a band shows the interval instead.
MOST_WHISKERS = 8
SEEN_THROUGH = 0.65
"""Opacity of the fill of points that may overlap; their outlines are opaque."""
MOST_SAMPLES = 2000
"""Maximum number of runs that are shown as dots in a chart of means; more would overlap, and make
the page large."""


def shown_samples(plan: Layout) -> list[Row]:
    """Return a row for each run that is a dot beside the means; none if there are too many runs."""
    samples = sample_rows(plan)
    return samples if len(samples) <= MOST_SAMPLES else []


def distribution(plan: Layout, rows: list[Row], value: str, share: str) -> Spec:
    """Return the chart of a distribution function.

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


def numbered_tiles(plan: Layout, rows: list[Row], fill: Spec, tips: list[Spec], look: Spec) -> Spec:
    """Return a rectangle for each cell over two factors, with a number in it."""
    place = {
        "x": name_axis(plan),
        "y": field("series", "nominal", sort=plan.series_texts, title=plan.series_title),
        "tooltip": tips,
    }
    tiles = {
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
    return panels(plan, [tiles, numbers], rows, height, titles=titles)


def line_and_points(plan: Layout, y: Spec, tips: list[Spec], *, legend: bool) -> list[Spec]:
    """Return a line through the cells of each series, and a mark at each cell."""
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
    mark = {"type": "point", "filled": True, "size": plan.theme.point_size, "opacity": 1}
    points: Spec = {
        "mark": mark | {"stroke": "white", "strokeWidth": 0.4 * plan.theme.line_width},
        "encoding": place | looks | shape(plan, legend=legend) | {"tooltip": tips},
    } | highlight(plan, legend=legend)
    if plan.overlaps:
        outline(plan, points)
        points["encoding"]["fillOpacity"] = {"value": SEEN_THROUGH}
    # between two names there is nothing to draw
    marks = [lines, points] if plan.x_is_scale else [points]
    return [only(mark, column) for mark in marks]


def outline(plan: Layout, points: Spec) -> None:
    """Outline points in the colour of their series, so that several shapes at one place can be
    seen.
    """
    points["encoding"]["stroke"] = points["encoding"].pop("color")
    points["encoding"]["fill"] = points["encoding"]["stroke"]
    points["mark"] |= {"strokeWidth": 0.7 * plan.theme.line_width}
    points["mark"].pop("stroke")


def spread(plan: Layout, y: Spec, *, legend: bool) -> Spec:
    """Return the layer of 95 % intervals: whiskers, or a band if there are many."""
    ends = {"x": level_axis(plan), "y": y | {"field": "low"}, "y2": {"field": "high"}}
    if len(plan.x_labels) > MOST_WHISKERS:
        mark: Spec = {"type": "area", "opacity": 0.18}
    else:
        mark = {"type": "rule", "strokeWidth": 0.7 * plan.theme.line_width}
    return only({"mark": mark, "encoding": ends | colour(plan, legend=legend)}, "low")


def dots(plan: Layout, y: Spec, *, legend: bool) -> Spec:
    """Return the layer in which every run is a faint dot at its cell."""
    mark = {"type": "circle", "size": 0.22 * plan.theme.point_size, "opacity": 0.35}
    encoding = {"x": level_axis(plan), "y": y, "tooltip": run_tips(plan)}
    return only({"mark": mark, "encoding": encoding | colour(plan, legend=legend)}, "value")


def run_tips(plan: Layout) -> list[Spec]:
    """Return the tooltip fields of a run."""
    value = field("value", title=plan.shown.axis_title, format=".4~r")
    return [*condition_tips(plan), value, field("run", "nominal", title="run")]


def mean_tips(plan: Layout) -> list[Spec]:
    """Return the tooltip fields of a mean."""
    text = field("text", "nominal", title="mean, 95 % CI")
    return [*condition_tips(plan), text, field("runs", "nominal", title="runs")]


def names_at_ends(plan: Layout) -> bool:
    """Return whether the names of lines are at their ends instead of in a legend."""
    return plan.series == "transport" and len(plan.series_labels) <= MOST_LABELLED


def names_lines(plan: Layout, *, legend: bool) -> bool:
    """Return whether the names of lines are at their ends: always in a chart without a legend, and
    in one with a legend if its series are not transports.
    """
    return not legend or plan.series not in (None, "transport")


def label_share(plan: Layout) -> float:
    """Return the height of a label, as a share of its panel's height."""
    theme = plan.theme
    height = theme.panel_height if len(plan.panels) > 1 else theme.height
    return 1.15 * theme.font_size / height
