"""The panel on where the time of a run went: the share of time of each cause, stacked, over
time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from netwarp.figures.over_time.plots import Frame, Row, ShownRun, bands_over_time, tip
from netwarp.metrics.attribution import CAUSE_TEXTS
from netwarp.units import NS_PER_S

if TYPE_CHECKING:
    from netwarp.figures.style import Spec
    from netwarp.metrics.causes import Part

MOST_PARTS = 300
"""Maximum number of intervals of time that are drawn: with more, they would be narrower than three
pixels."""


def causes_panel(frame: Frame, runs: Sequence[ShownRun]) -> list[Row]:
    """Return a row for each run whose samples determine where its time went."""
    shown = [run for run in runs if run.timeline.causes]
    used = {cause for run in shown for part in run.timeline.causes for cause in part.spent_ns}
    colours = {text.name: text.colour for cause, text in CAUSE_TEXTS.items() if cause in used}
    height = frame.height(40)
    return [
        Row(
            run,
            None if place else "Where the time went (share of each stretch)",
            height,
            [_bands(frame, run, colours, legend=not place)],
        )
        for place, run in enumerate(shown)
    ]


def _bands(frame: Frame, run: ShownRun, colours: dict[str, str], *, legend: bool) -> Spec:
    """Return a run's causes as bands, stacked by their share of the time."""

    def y(field: str) -> Spec:
        return {"field": field, "type": "quantitative", "title": None, "axis": None,
                "scale": {"domain": [0, 1], "nice": False}}  # fmt: skip

    place = {"y": y("low"), "y2": {"field": "high"}}
    tooltip = [
        {"field": "what", "title": "cause"},
        tip("share", "share", ".0%"),
        tip("t", "from (s)", ".3f"),
        tip("end", "to (s)", ".3f"),
    ]
    rows = _rows(joined(run.timeline.causes, frame.end_s))
    return bands_over_time(frame, rows, place, "", colours, tooltip, legend=legend)


def _rows(parts: Sequence[Part]) -> list[dict[str, Any]]:
    """Return the causes of each interval, stacked in their order."""
    rows = []
    for part in parts:
        low = 0.0
        length_ns = part.end_ns - part.start_ns
        for cause, text in CAUSE_TEXTS.items():
            share = part.spent_ns.get(cause, 0) / length_ns
            if share:
                rows.append(
                    {"t": part.start_ns / NS_PER_S, "end": part.end_ns / NS_PER_S,
                     "what": text.name, "low": low, "high": low + share, "share": share}
                )  # fmt: skip
                low += share
    return rows


def joined(parts: Sequence[Part], end_s: float) -> list[Part]:
    """Return the intervals with neighbours joined, so that none is shorter than the chart can
    show.
    """
    shortest_ns = end_s * NS_PER_S / MOST_PARTS
    found: list[Part] = []
    for part in parts:
        before = found[-1] if found else None
        if before is None or before.end_ns - before.start_ns >= shortest_ns:
            found.append(part)
        else:
            found[-1] = before.joined(part)
    return found
