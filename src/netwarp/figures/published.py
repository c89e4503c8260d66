"""Draws published numbers against netwarp's: one panel for each publication, with a number at every
point.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from netwarp.figures.chart import Chart, finished
from netwarp.figures.style import GREY, INK, SCREEN, STALL, Spec, Theme

NAME = "validation"
TITLE = "Published numbers, and ours"
SIDES = (-13, 13, -27, 27, -41, 41)
"""Distances in pixels of labels below, or (negative) above, their points; neighbours get different
ones.
"""
FEW = 3
"""Maximum number of points of a panel that is drawn with less height."""
FARTHEST = 30.0
"""Ratio of the largest to the smallest number of a panel above which its axes are logarithmic."""


@dataclass(frozen=True)
class Point:
    """A published number and netwarp's, both in the unit of the panel."""

    number: int
    """Number of the row on the page to which the point belongs."""
    panel: str
    """What the panel shows, with the unit."""
    published: float
    ours: float
    low: float
    """Lower end of the interval of netwarp's number; the number itself if it has none."""
    high: float
    is_hit: bool


def published_chart(points: Sequence[Point], theme: Theme = SCREEN) -> Chart:
    """Return a chart with a point for each pair of numbers: netwarp's over the published one, with
    its interval.

    On the diagonal, both are the same.

    Args:
        points: the pairs of numbers, at least one.
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
    """Return one panel of published numbers and netwarp's, with the diagonal on which they are
    equal.
    """
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
    """Return the ends of an interval bar. Both are the value itself if the interval is not
    finite.
    """
    if interval is None or not all(map(math.isfinite, interval)):
        return ours, ours
    return interval[0], interval[1]
