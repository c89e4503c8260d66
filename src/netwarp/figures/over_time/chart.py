"""The chart of runs over time: panels under one another with one time axis.

Top to bottom: the path's round-trip time, goodput, what the player did, its buffer. Runs that are
shown together have a row each in every panel, in their colours, with their names at the right.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import altair as alt

from netwarp.figures.over_time.data import WAITS
from netwarp.figures.style import (
    FAINT,
    GREY,
    OUTAGE,
    PURPLE,
    STALL,
    START_UP,
    WAIT,
    quality_colours,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netwarp.figures.over_time.data import RunTimeline
    from netwarp.figures.over_time.lines import Line

    Layers = list[alt.Chart]

NEAR = "near_"
"""What the names of layers begin with that show values under the pointer."""
NEAREST = alt.PointSelectionConfig(
    type="point", fields=["t"], nearest=True, on="pointermove", clear="pointerout"
)
WIDTH = 560
ROW_GAP, PANEL_GAP = 5, 16
LANE_HEIGHT = 18
PATH_COLOURS = (GREY, PURPLE)
LEAST_LABELLED_SHARE = 0.07
"""Of the width: a shorter stretch on a path has no room for the path's name."""


@dataclass(frozen=True)
class Seen:
    """A run in the chart."""

    name: str
    """At its rows; empty where it is the only one."""
    colour: str
    timeline: RunTimeline


@dataclass(frozen=True)
class Frame:
    """What all rows share."""

    end_s: float
    together: bool
    """Whether several runs are shown: their rows are lower."""
    interactive: bool


@dataclass(frozen=True)
class Row:
    """One plot of a panel."""

    run: Seen
    title: str | None
    """Of the panel, over its first row."""
    height: int
    layers: Layers


def timeline_chart(
    runs: Sequence[Seen], qualities: Sequence[str], *, interactive: bool
) -> alt.TopLevelMixin:
    """Draw runs over time.

    Args:
        runs: at least one of them with something recorded over time.
        qualities: names of the medium's qualities, lowest first; none where there is no player.
        interactive: with values under the pointer and zooming, for a page; without, for a picture.
    """
    end_s = max(run.timeline.end_s for run in runs)
    frame = Frame(end_s, len(runs) > 1, interactive)
    made = [
        _path_panel(frame, runs),
        _goodput_panel(frame, runs),
        _playback_panel(frame, runs, qualities),
        _buffer_panel(frame, runs),
    ]
    filled = [panel for panel in made if panel]
    if not filled:
        raise ValueError("nothing was recorded over time")
    last = filled[-1][-1]
    drawn = [[_drawn(frame, row, with_axis=row is last) for row in panel] for panel in filled]
    # Names before anything is put together: that makes copies.
    parameters = _parameters([row for rows in drawn for row in rows]) if interactive else []
    panels = [alt.VConcatChart(vconcat=rows, spacing=ROW_GAP) for rows in drawn]
    whole = alt.VConcatChart(vconcat=panels, spacing=PANEL_GAP)
    if parameters:
        whole.params = parameters
    apart = alt.ScaleResolveMap(color="independent", x="independent", y="independent")
    whole.resolve = alt.Resolve(scale=apart)
    return whole


def _parameters(rows: Sequence[alt.LayerChart]) -> list[alt.TopLevelSelectionParameter]:
    """Let the pointer move and stretch time in all rows at once, and read values in each."""
    selections = []
    for number, row in enumerate(rows):
        row.layer[0].name = f"time_{number}"
        selections += [
            alt.TopLevelSelectionParameter(
                name=f"at_{each.name}", select=NEAREST, views=[each.name]
            )
            for each in row.layer
            if isinstance(each.name, str) and each.name.startswith(NEAR)
        ]
    views = [row.layer[0].name for row in rows]
    # A wheel alone scrolls the page.
    stretched = alt.IntervalSelectionConfig(
        type="interval", encodings=["x"], zoom="wheel![event.shiftKey]"
    )
    zoom = alt.TopLevelSelectionParameter(name="zoom", select=stretched, bind="scales", views=views)
    return [zoom, *selections]


def _drawn(frame: Frame, row: Row, *, with_axis: bool) -> alt.LayerChart:
    seen = row.run.timeline
    layers: Layers = []
    if seen.outages:
        bands = [{"t": b.start_s, "end": b.end_s, "what": b.label} for b in seen.outages]
        layers.append(
            _of(bands).mark_rect(color=OUTAGE, opacity=0.3, clip=True)
            .encode(x=_time(frame), x2="end:Q", tooltip=["what:N"])
        )  # fmt: skip
    layers += row.layers
    if seen.handovers:
        marks = [{"t": mark.at_s, "to": mark.label} for mark in seen.handovers]
        layers.append(
            _of(marks).mark_rule(color=FAINT, strokeDash=[4, 3], strokeWidth=1, clip=True)
            .encode(x=_time(frame), tooltip=["to:N"])
        )  # fmt: skip
    if row.run.name:
        layers.append(_beside(row))
    if with_axis:
        timed = _time(frame, labelled=True)
        layers = [e.encode(x=timed) if isinstance(e.encoding.x, alt.X) else e for e in layers]
    drawn = alt.LayerChart(layer=layers, width=WIDTH, height=row.height)
    if row.title is not None:
        drawn.title = alt.TitleParams(
            row.title, anchor="start", fontSize=12, fontWeight=600, offset=5
        )
    return drawn


def _path_panel(frame: Frame, runs: Sequence[Seen]) -> list[Row]:
    """Draw the path's RTT, once where all runs met the same; not at all where nothing changed."""
    paths = [(run.timeline.rtt_ms, run.timeline.handovers, run.timeline.outages) for run in runs]
    values = {value for lines, *_ in paths for line in lines for _, value in line.points}
    if len(values) < 2 and not any(handovers for _, handovers, _ in paths):
        return []
    longest = max(runs, key=lambda run: run.timeline.end_s)
    shown = [Seen("", longest.colour, longest.timeline)] if _alike(runs) else list(runs)
    largest_ms = max(values)
    return [
        Row(
            run,
            "Round-trip time of the path, ms" if index == 0 else None,
            54,
            _path_layers(frame, run, largest_ms),
        )
        for index, run in enumerate(shown)
    ]


def _alike(runs: Sequence[Seen]) -> bool:
    """Whether the same happened to the paths in all runs, as far as each went."""
    first = runs[0].timeline
    return all(_same_path(first, run.timeline) for run in runs[1:])


def _same_path(one: RunTimeline, other: RunTimeline) -> bool:
    until_s = 0.999 * min(one.end_s, other.end_s)

    def corners(lines: Sequence[Line]) -> set[tuple[int, float, float]]:
        # Messages take their time: what was set at the same moment differs by microseconds.
        return {
            (line.path, round(t, 3), v) for line in lines for t, v in line.points if t < until_s
        }

    return corners(one.rtt_ms) == corners(other.rtt_ms)


def _path_layers(frame: Frame, run: Seen, largest_ms: float) -> Layers:
    y_scale = alt.Scale(domain=[0, 1.25 * largest_ms], nice=False)
    layers: Layers = []
    for line in run.timeline.rtt_ms:
        colour = PATH_COLOURS[line.path % len(PATH_COLOURS)]
        rows = [{"t": t, "ms": v, "path": line.path + 1} for t, v in line.points]
        step = _of(rows).mark_line(
            interpolate="step-after", strokeWidth=1.6, clip=True, color=colour
        )
        layers.append(step.encode(x=_time(frame), y=_value("ms:Q", y_scale, 2)))
        start_s, end_s = line.points[0][0], line.points[-1][0]
        if run.timeline.handovers and end_s - start_s > LEAST_LABELLED_SHARE * frame.end_s:
            label = _of([{"t": start_s, "text": f"path {line.path + 1}"}]).mark_text(
                align="left", baseline="top", dx=4, fontSize=10.5, color=colour, clip=True
            )
            layers.append(label.encode(x=_time(frame), y=alt.value(0), text="text:N"))
    return layers


def _goodput_panel(frame: Frame, runs: Sequence[Seen]) -> list[Row]:
    lines = [run.timeline.goodput_mbit_s for run in runs]
    largest = max((v for line in lines if line for _, v in line.points), default=0.0)
    # A receiver that waited for one lost packet gets all behind it at once: above the bottleneck's
    # rate that is no throughput, and would make everything else flat.
    rates = [v for run in runs for line in run.timeline.rate_mbit_s for _, v in line.points]
    top = 1.05 * min(largest, 1.2 * max(rates)) if rates else 1.05 * largest
    return [
        Row(
            run,
            _goodput_title(runs) if index == 0 else None,
            44 if len(runs) > 1 else 92,
            _goodput_layers(frame, run, top, f"goodput_{index}"),
        )
        for index, run in enumerate(run for run in runs if run.timeline.goodput_mbit_s)
    ]


def _goodput_title(runs: Sequence[Seen]) -> str:
    rates = any(run.timeline.rate_mbit_s for run in runs)
    return "Goodput, Mbit/s" + (" (dotted: the bottleneck’s rate)" if rates else "")


def _goodput_layers(frame: Frame, run: Seen, top: float, name: str) -> Layers:
    line = run.timeline.goodput_mbit_s
    if line is None:
        raise ValueError("no goodput was recorded")
    y = _value("mbit:Q", alt.Scale(domain=[0, top], nice=False), 2 if frame.together else 3)
    base = _of([{"t": t, "mbit": v} for t, v in line.points]).encode(x=_time(frame), y=y)
    layers = [
        base.mark_area(
            interpolate="step-after", color=run.colour, opacity=0.3, clip=True,
            line={"color": run.colour, "strokeWidth": 1.1},
        )
    ]  # fmt: skip
    if frame.interactive:
        layers.append(
            _under_the_pointer(base, name, alt.Tooltip("mbit:Q", title="Mbit/s", format=".4~r"))
        )
    for rate in run.timeline.rate_mbit_s:
        steps = _of([{"t": t, "mbit": v} for t, v in rate.points])
        layers.append(
            steps.mark_line(
                interpolate="step-after", color=FAINT, strokeDash=[1, 3], strokeWidth=1.2, clip=True
            ).encode(x=_time(frame), y=y)
        )
    if run.timeline.reconnections:
        marks = [{"t": mark.at_s, "what": mark.label} for mark in run.timeline.reconnections]
        dots = _of(marks).mark_point(
            shape="diamond", filled=True, size=46, color=run.colour, opacity=1, clip=True,
            stroke="white", strokeWidth=0.7,
        )  # fmt: skip
        place = alt.value(7)
        layers.append(dots.encode(x=_time(frame), y=place, tooltip=["what:N"]))
    return layers


def _playback_panel(frame: Frame, runs: Sequence[Seen], qualities: Sequence[str]) -> list[Row]:
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
    bands = _of(rows).mark_rect(clip=True).encode(
        x=_time(frame), x2="end:Q", y=alt.value(0), y2=alt.value(LANE_HEIGHT),
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
        ticks = _of(marks).mark_point(
            shape="triangle-down", filled=True, size=26, color="white", stroke="#1F2328",
            strokeWidth=0.8, opacity=1, clip=True,
        )  # fmt: skip
        layers.append(ticks.encode(x=_time(frame), y=alt.value(4), tooltip=["seek:N"]))
    return layers


def _buffer_panel(frame: Frame, runs: Sequence[Seen]) -> list[Row]:
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
    y = _value("s:Q", alt.Scale(domain=[0, top], nice=False), 2)
    base = _of([{"t": t, "s": v} for t, v in line.points]).encode(x=_time(frame), y=y)
    area = base.mark_area(
        color=run.colour, opacity=0.3, clip=True, line={"color": run.colour, "strokeWidth": 1.1}
    )
    if not frame.interactive:
        return [area]
    return [
        area,
        _under_the_pointer(base, name, alt.Tooltip("s:Q", title="at hand (s)", format=".2f")),
    ]


def _under_the_pointer(base: alt.Chart, row: str, value: alt.Tooltip) -> alt.Chart:
    """Show time and value at the pointer, with a hairline."""
    near = alt.selection_point(name=f"at_{NEAR}{row}", empty=False)
    opacity = alt.when(near).then(alt.value(0.7)).otherwise(alt.value(0))
    time = alt.Tooltip("t:Q", title="time (s)", format=".2f")
    hairline = base.mark_rule(color=FAINT, strokeWidth=1, clip=True)
    seen: alt.Chart = hairline.encode(y=alt.value(0), opacity=opacity, tooltip=[time, value])
    return seen.properties(name=f"{NEAR}{row}")


def _beside(row: Row) -> alt.Chart:
    """Name the run at the right of its row."""
    name = _of([{"name": row.run.name}]).mark_text(
        align="left", fontSize=11.5, fontWeight=600, color=row.run.colour
    )
    beside: alt.Chart = name.encode(
        x=alt.value(WIDTH + 8), y=alt.value(row.height / 2), text="name:N"
    )
    return beside


def _of(rows: list[dict[str, Any]]) -> alt.Chart:
    return alt.Chart(alt.InlineData(values=[_rounded(row) for row in rows]))


def _rounded(row: dict[str, Any]) -> dict[str, Any]:
    """Keep what a screen can show: pages of charts have many numbers."""
    return {
        key: float(f"{value:.6g}") if isinstance(value, float) else value
        for key, value in row.items()
    }


def _time(frame: Frame, *, labelled: bool = False) -> alt.X:
    scale = alt.Scale(domain=[0, frame.end_s], nice=False)
    if not labelled:
        return alt.X("t:Q", scale=scale, axis=None)
    axis = alt.Axis(title="Time (s)", format=".6~g", tickCount=8)
    return alt.X("t:Q", scale=scale, axis=axis)


def _value(field: str, scale: alt.Scale, ticks: int) -> alt.Y:
    axis = alt.Axis(format=".4~g", tickCount=ticks, labelFontSize=10.5)
    return alt.Y(field, title=None, scale=scale, axis=axis, stack=None)
