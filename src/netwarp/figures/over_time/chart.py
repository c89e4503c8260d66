"""The chart of runs over time: panels under one another with one time axis.

Top to bottom: the path's round-trip time, goodput, what the player did, its buffer. Runs that are
shown together have a row each in every panel, in their colours, with their names at the right.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt

from netwarp.figures.over_time.goodput_panel import goodput_panel
from netwarp.figures.over_time.panel import (
    NEAR,
    WIDTH,
    Frame,
    Row,
    Seen,
    rows_of,
    time_axis,
    value_axis,
)
from netwarp.figures.over_time.player_panels import buffer_panel, playback_panel
from netwarp.figures.style import FAINT, GREY, OUTAGE, PURPLE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netwarp.figures.over_time.data import RunTimeline
    from netwarp.figures.over_time.lines import Line
    from netwarp.figures.over_time.panel import Layers

NEAREST = alt.PointSelectionConfig(
    type="point", fields=["t"], nearest=True, on="pointermove", clear="pointerout"
)
ROW_GAP, PANEL_GAP = 5, 16
PATH_COLOURS = (GREY, PURPLE)
LEAST_LABELLED_SHARE = 0.07
"""Of the width: a shorter stretch on a path has no room for the path's name."""


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
        goodput_panel(frame, runs),
        playback_panel(frame, runs, qualities),
        buffer_panel(frame, runs),
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
            rows_of(bands).mark_rect(color=OUTAGE, opacity=0.3, clip=True)
            .encode(x=time_axis(frame), x2="end:Q", tooltip=["what:N"])
        )  # fmt: skip
    layers += row.layers
    if seen.handovers:
        marks = [{"t": mark.at_s, "to": mark.label} for mark in seen.handovers]
        layers.append(
            rows_of(marks).mark_rule(color=FAINT, strokeDash=[4, 3], strokeWidth=1, clip=True)
            .encode(x=time_axis(frame), tooltip=["to:N"])
        )  # fmt: skip
    if row.run.name:
        layers.append(_beside(row))
    if with_axis:
        timed = time_axis(frame, labelled=True)
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
        step = rows_of(rows).mark_line(
            interpolate="step-after", strokeWidth=1.6, clip=True, color=colour
        )
        layers.append(step.encode(x=time_axis(frame), y=value_axis("ms:Q", y_scale, 2)))
        start_s, end_s = line.points[0][0], line.points[-1][0]
        if run.timeline.handovers and end_s - start_s > LEAST_LABELLED_SHARE * frame.end_s:
            label = rows_of([{"t": start_s, "text": f"path {line.path + 1}"}]).mark_text(
                align="left", baseline="top", dx=4, fontSize=10.5, color=colour, clip=True
            )
            layers.append(label.encode(x=time_axis(frame), y=alt.value(0), text="text:N"))
    return layers


def _beside(row: Row) -> alt.Chart:
    """Name the run at the right of its row."""
    name = rows_of([{"name": row.run.name}]).mark_text(
        align="left", fontSize=11.5, fontWeight=600, color=row.run.colour
    )
    beside: alt.Chart = name.encode(
        x=alt.value(WIDTH + 8), y=alt.value(row.height / 2), text="name:N"
    )
    return beside
