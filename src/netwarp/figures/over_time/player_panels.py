"""The panels of a chart over time that show a player: what it did, and what it had at hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt

from netwarp.figures.over_time.data import WAITS
from netwarp.figures.over_time.panel import Row, rows_of, time_axis, under_the_pointer, value_axis
from netwarp.figures.style import STALL, START_UP, WAIT, quality_colours

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netwarp.figures.over_time.panel import Frame, Layers, Seen

LANE_HEIGHT = 18


def playback_panel(frame: Frame, runs: Sequence[Seen], qualities: Sequence[str]) -> list[Row]:
    """Draw what the player did, a row a run: qualities and waits as bands."""
    labels = [*qualities, *WAITS.values()]
    used = {band.label for run in runs for band in run.timeline.playback}
    colours = [*quality_colours(len(qualities)), START_UP, STALL, WAIT]
    scale = {label: colour for label, colour in zip(labels, colours, strict=True) if label in used}
    return [
        Row(
            run,
            None,
            LANE_HEIGHT,
            _lane_layers(frame, run, scale, legend=index == 0),
        )
        for index, run in enumerate(run for run in runs if run.timeline.playback)
    ]


def _lane_layers(frame: Frame, run: Seen, colours: dict[str, str], *, legend: bool) -> Layers:
    rows = [{"t": b.start_s, "end": b.end_s, "what": b.label} for b in run.timeline.playback]
    scale = alt.Scale(domain=list(colours), range=list(colours.values()))
    shown = alt.Legend(
        title="The player", titleOrient="left", titleFontSize=12, titleFontWeight=600,
        symbolType="square", symbolSize=90, labelFontSize=11, offset=4,
    )  # fmt: skip
    bands = rows_of(rows).mark_rect(clip=True).encode(
        x=time_axis(frame), x2="end:Q", y=alt.value(0), y2=alt.value(LANE_HEIGHT),
        color=alt.Color("what:N", scale=scale, legend=shown if legend else None),
        tooltip=[
            alt.Tooltip("what:N", title="player"),
            alt.Tooltip("t:Q", title="from (s)", format=".2f"),
            alt.Tooltip("end:Q", title="to (s)", format=".2f"),
        ],
    )  # fmt: skip
    layers = [bands]
    if run.timeline.seeks:
        marks = [{"t": mark.at_s, "seek": mark.label} for mark in run.timeline.seeks]
        ticks = rows_of(marks).mark_point(
            shape="triangle-down", filled=True, size=26, color="white", stroke="#1F2328",
            strokeWidth=0.8, opacity=1, clip=True,
        )  # fmt: skip
        layers.append(ticks.encode(x=time_axis(frame), y=alt.value(4), tooltip=["seek:N"]))
    return layers


def buffer_panel(frame: Frame, runs: Sequence[Seen]) -> list[Row]:
    """Draw the play time at hand, a row a run."""
    levels = [v for run in runs if run.timeline.buffer_s for _, v in run.timeline.buffer_s.points]
    top = 1.05 * max([1.0, *levels])
    return [
        Row(
            run,
            "Play time at hand, s" if index == 0 else None,
            36 if len(runs) > 1 else 64,
            _buffer_layers(frame, run, top, f"buffer_{index}"),
        )
        for index, run in enumerate(run for run in runs if run.timeline.buffer_s)
    ]


def _buffer_layers(frame: Frame, run: Seen, top: float, name: str) -> Layers:
    line = run.timeline.buffer_s
    if line is None:
        raise ValueError("there is no player")
    y = value_axis("s:Q", alt.Scale(domain=[0, top], nice=False), 2)
    base = rows_of([{"t": t, "s": v} for t, v in line.points]).encode(x=time_axis(frame), y=y)
    area = base.mark_area(
        color=run.colour, opacity=0.3, clip=True, line={"color": run.colour, "strokeWidth": 1.1}
    )
    if not frame.interactive:
        return [area]
    return [
        area,
        under_the_pointer(base, name, alt.Tooltip("s:Q", title="at hand (s)", format=".2f")),
    ]
