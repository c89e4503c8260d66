"""The sequence panel over time: the bytes that the sender had sent, and those of them that were
acknowledged.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from netwarp.figures.over_time.plots import (
    Frame,
    Row,
    ShownRun,
    layer_over_time,
    symbol,
    tip,
    value_axis,
)
from netwarp.figures.style import STALL

if TYPE_CHECKING:
    from netwarp.figures.style import Spec


def sequence_panel(frame: Frame, runs: Sequence[ShownRun]) -> list[Row]:
    """Return a row for each run: a band between the bytes acknowledged and the bytes sent, and a
    cross at each time before which packets had been retransmitted.
    """
    shown = [run for run in runs if run.timeline.sent]
    top = 1.05 * max((each.sent_mb for run in shown for each in run.timeline.sent), default=0.0)
    title = "Acknowledged to sent (MB; crosses: sent again)"
    height = frame.height(36 if frame.together else 80)
    return [
        Row(run, None if place else title, height, _layers(frame, run, top))
        for place, run in enumerate(shown)
    ]


def _layers(frame: Frame, run: ShownRun, top: float) -> list[Spec]:
    """Return the layers of one run: the band between sent and acknowledged, and the crosses."""
    y = value_axis(frame, "acked", top, 2)
    rows = [
        {"t": each.at_s, "acked": each.acked_mb, "sent": each.sent_mb,
         "repeated": each.repeated_packets}
        for each in run.timeline.sent
    ]  # fmt: skip
    band = {"type": "area", "color": run.colour, "opacity": 0.55, "clip": True,
            "line": {"color": run.colour, "strokeWidth": 1.1}}  # fmt: skip
    tooltip = [
        tip("t", "time (s)", ".3f"),
        tip("acked", "acknowledged (MB)", ".4~r"),
        tip("repeated", "packets sent again", "d"),
    ]
    again = [row for row in rows if row["repeated"]]
    layers = [layer_over_time(frame, rows, band, y=y, y2={"field": "sent"})]
    if again:
        mark = symbol("cross", STALL)
        layers.append(layer_over_time(frame, again, mark, y=y, tooltip=tooltip))
    return layers
