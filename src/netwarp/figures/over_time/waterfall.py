"""The waterfall panel: a bar for each resource of a page, with its phases."""

from collections.abc import Mapping, Sequence
from typing import Any

from netwarp.figures.over_time.plots import (
    Frame,
    Row,
    ShownRun,
    bands_over_time,
    layer_over_time,
    tip,
)
from netwarp.figures.style import FAINT, NAMES, RECEIVING, START_UP, WAIT, Spec
from netwarp.workloads import Tone

COLOURS: Mapping[Tone, str] = {"start": START_UP, "moving": WAIT, "grade": RECEIVING}
TALLEST_BAR, LOWEST_BAR = 13, 5
"""Largest and smallest height of a bar in pixels, including the gap to the next."""
MOST_HEIGHT = 620
LEAST_NAMED = 9
"""Minimum height in pixels of a bar whose name is shown."""
EARLY_SHARE = 0.25
"""Share of the time axis: a bar that begins later has its name on its left, other bars on their
right.
"""


def waterfall_panel(frame: Frame, runs: Sequence[ShownRun]) -> list[Row]:
    """Return the resources of each run as bars, in the page's order."""
    loading = [run for run in runs if run.timeline.items]
    return [
        Row(run, None, frame.height(_pixels(run)), _layers(frame, run, legend=index == 0))
        for index, run in enumerate(loading)
    ]


def _pixels(run: ShownRun) -> int:
    number = len(run.timeline.items)
    return number * max(LOWEST_BAR, min(TALLEST_BAR, MOST_HEIGHT // number))


def _layers(frame: Frame, run: ShownRun, *, legend: bool) -> list[Spec]:
    """Return the layers of one run: bars, milestones and, if there is room, names."""
    items = run.timeline.items
    each = frame.height(_pixels(run)) / len(items)
    y: Spec = {"field": "top", "type": "quantitative", "axis": None,
               "scale": {"domain": [0, len(items)], "reverse": True, "nice": False}}  # fmt: skip
    layers = [_bars(frame, run, y, legend=legend), *_milestones(frame, run)]
    if each >= LEAST_NAMED * frame.theme.font_size / 12:
        layers += _names(frame, run, y)
    return layers


def _bars(frame: Frame, run: ShownRun, y: Spec, *, legend: bool) -> Spec:
    """Return a bar for each phase of each resource."""
    colours = {label: COLOURS[tone] for label, tone in run.timeline.tones.items()}
    rows = [
        {"t": band.start_s, "end": band.end_s, "what": band.label, "name": item.name,
         "top": index + 0.12, "bottom": index + 0.88}
        for index, item in enumerate(run.timeline.items)
        for band in item.bands
    ]  # fmt: skip
    tooltip = [
        {"field": "name", "title": "resource"}, {"field": "what", "title": "timing"},
        tip("t", "from (s)", ".3f"), tip("end", "to (s)", ".3f"),
    ]  # fmt: skip
    offset = 4 + (1.5 * frame.theme.font_size if run.timeline.milestones else 0)
    place = {"y": y, "y2": {"field": "bottom"}}
    return bands_over_time(
        frame, rows, place, run.timeline.activity, colours, tooltip, legend=legend, offset=offset
    )


def _names(frame: Frame, run: ShownRun, y: Spec) -> list[Spec]:
    """Return the names of the bars, on their left if there is room."""
    behind: list[dict[str, Any]] = []
    before: list[dict[str, Any]] = []
    for index, item in enumerate(run.timeline.items):
        start_s, end_s = item.bands[0].start_s, item.bands[-1].end_s
        is_early = start_s < EARLY_SHARE * frame.end_s
        row = {"t": end_s if is_early else start_s, "name": item.name, "top": index + 0.5}
        (behind if is_early else before).append(row)
    layers = []
    for rows, align, dx in ((behind, "left", 3), (before, "right", -3)):
        mark = {"type": "text", "align": align, "baseline": "middle", "dx": dx, "style": NAMES,
                "fontSize": 0.75 * frame.theme.font_size, "clip": False}  # fmt: skip
        if rows:
            layers.append(layer_over_time(frame, rows, mark, y=y, text={"field": "name"}))
    return layers


def _milestones(frame: Frame, run: ShownRun) -> list[Spec]:
    """Return a vertical rule with a name for each milestone of the page."""
    marks = [{"t": mark.at_s, "what": mark.label} for mark in run.timeline.milestones]
    if not marks:
        return []
    rule = {"type": "rule", "color": FAINT, "strokeDash": [4, 3], "strokeWidth": 1}
    text = {"type": "text", "align": "right", "baseline": "bottom", "dy": -2, "dx": 2,
            "fontSize": 0.85 * frame.theme.font_size, "color": FAINT, "clip": False}  # fmt: skip
    words = {"field": "what"}
    return [
        layer_over_time(frame, marks, rule, tooltip=[words]),
        layer_over_time(frame, marks, text, y={"value": 0}, text=words),
    ]
