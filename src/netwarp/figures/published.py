"""Draws published numbers against ours: one panel for each publication, every point numbered."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from netwarp.figures.chart import Chart, finished
from netwarp.figures.style import GREY, INK, SCREEN, STALL, Spec, Theme

NAME = "validation"
TITLE = "Published numbers, and ours"
SIDES = (-13, 13, -27, 27, -41, 41)
"""Heights at which labels stand below or above (negative) their points, in pixels: neighbours take
turns.
"""
FEW = 3
"""Panels of so many points or fewer are low."""
FARTHEST = 30.0
"""Panels whose numbers span more than this factor have logarithmic axes."""


@dataclass(frozen=True)
class Point:
    """A published number with ours, both in the unit of its panel."""

    number: int
    """The number of its row on the page."""
    panel: str
    """What the panel shows, with the unit."""
    published: float
    ours: float
    low: float
    """Lower end of the interval of ours; ours where there is none."""
    high: float
    is_hit: bool


def published_chart(points: Sequence[Point], theme: Theme = SCREEN) -> Chart:
    """Draw each number as a point over the published one, with its interval.

    On the diagonal both are the same.

    Args:
        points: at least one.
        theme: the chart's style.
    """
    panels = list(dict.fromkeys(point.panel for point in points))
    width = theme.width - round(8 * theme.font_size)
    drawn = []
    for panel in panels:
        own = [each for each in points if each.panel == panel]
        height = theme.height if len(own) > FEW else theme.panel_height
        drawn.append(_panel(panel, own, theme) | {"width": width, "height": height})
    hits = sum(point.is_hit for point in points)
    alt = f"{TITLE}: {hits} of {len(points)} agree."
    subtitle = [
        f"{hits} of {len(points)} agree. Numbers are those of the rows below; missed ones are red.",
        "On the diagonal both are the same. Bars are the intervals by which each was judged.",
    ]
    chart: Spec = {"vconcat": drawn}
    return Chart(NAME, TITLE, alt, finished(chart, TITLE, subtitle, alt, theme))


def _panel(title: str, points: Sequence[Point], theme: Theme) -> Spec:
    """Draw one panel of published numbers and ours, with the diagonal on which they are equal."""
    values = [value for point in points for value in (point.published, point.low, point.high)]
    low, high = min(values), max(values)
    kind = "log" if low > 0 and high / low > FARTHEST else "linear"
    margin = (high - low) / 20
    ends = [low / 1.3, high * 1.3] if kind == "log" else [max(0, low - margin), high + margin]
    scale = {"type": kind, "domain": ends, "nice": False}
    axis = {"format": ".6~g", "tickCount": 5}
    x = {"field": "published", "type": "quantitative", "title": "published", "scale": scale,
         "axis": axis}  # fmt: skip
    y = x | {"field": "ours", "title": "ours"}
    colour = {"condition": {"test": "datum.is_hit", "value": INK}, "value": STALL}
    rows = [
        {
            "number": str(point.number), "published": point.published, "ours": point.ours,
            "low": point.low, "high": point.high, "is_hit": point.is_hit,
            "side": place % len(SIDES),
        }
        for place, point in enumerate(sorted(points, key=lambda each: each.published))
    ]  # fmt: skip
    diagonal = {
        "data": {"values": [{"published": end, "ours": end} for end in ends]},
        "mark": {"type": "line", "color": GREY, "strokeWidth": 1, "strokeDash": [4, 3]},
        "encoding": {"x": x, "y": y},
    }
    bars = {
        "mark": {"type": "rule", "strokeWidth": 1.5, "opacity": 0.6},
        "encoding": {"x": x, "y": y | {"field": "low"}, "y2": {"field": "high"}, "color": colour},
    }
    dots = {
        "mark": {"type": "circle", "size": 0.5 * theme.point_size, "opacity": 1},
        "encoding": {"x": x, "y": y, "color": colour},
    }
    labels = [
        {
            "transform": [{"filter": f"datum.side == {side}"}],
            "mark": {"type": "text", "fontSize": 0.85 * theme.font_size, "dx": 5, "dy": dy,
                     "align": "left"},
            "encoding": {"x": x, "y": y, "text": {"field": "number"}, "color": colour},
        }
        for side, dy in enumerate(SIDES)
    ]  # fmt: skip
    return {
        "title": {"text": title, "fontSize": theme.font_size, "fontWeight": 600, "frame": "bounds"},
        "data": {"values": rows},
        "layer": [diagonal, bars, dots, *labels],
    }


def interval_of(ours: float, interval: Sequence[float] | None) -> tuple[float, float]:
    """Return the ends of a bar: the interval's, or the value where there is none that is finite."""
    if interval is None or not all(map(math.isfinite, interval)):
        return ours, ours
    return interval[0], interval[1]
