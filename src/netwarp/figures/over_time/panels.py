"""The chart of runs over time: panels below each other with a common time axis.

From top to bottom: the path's round-trip time, goodput, where the time went, the sampled values,
the player's activity, the resources of a page, the player's buffer. If several runs are shown, each
has a row in every panel, in its colour, with its name at the right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any

from netwarp.figures.over_time.causes_panel import causes_panel
from netwarp.figures.over_time.plots import (
    READOUT,
    Frame,
    Row,
    ShownRun,
    area_over_time,
    bands_over_time,
    layer_over_time,
    readout,
    symbol,
    tip,
    value_axis,
)
from netwarp.figures.over_time.sampled_panels import sampled_panels, share_panels
from netwarp.figures.over_time.sequence import sequence_panel
from netwarp.figures.over_time.waterfall import waterfall_panel
from netwarp.figures.style import (
    FAINT,
    GREY,
    INK,
    OUTAGE,
    PURPLE,
    STALL,
    START_UP,
    WAIT,
    Spec,
    Theme,
    quality_colours,
    text_colour,
)
from netwarp.workloads import Tone

if TYPE_CHECKING:
    from netwarp.figures.lines import Line
    from netwarp.figures.over_time.run_timeline import RunTimeline

PATH_COLOURS = (GREY, PURPLE)
WAIT_COLOURS: Mapping[Tone, str] = {"start": START_UP, "stopped": STALL, "moving": WAIT}
LEAST_LABELLED_SHARE = 0.07  # of the width: a shorter stretch has no room for its path's name
MOST_OF_RATE = 1.2
"""Upper end of the goodput axis, as a ratio to the largest rate; the rest is room for rounding to
packets and time bins."""


def timeline_chart(runs: Sequence[ShownRun], theme: Theme, *, interactive: bool) -> Spec:
    """Return the chart of runs over time.

    Args:
        runs: the runs, of which at least one has something recorded over time.
        theme: size and lettering.
        interactive: whether the chart has values at the pointer and zooming, for a page; otherwise
            it is a picture.
    """
    end_s = max(run.timeline.end_s for run in runs)
    frame = Frame(end_s, len(runs) > 1, interactive, theme)
    made = [
        _path_panel(frame, runs),
        _goodput_panel(frame, runs),
        *share_panels(frame, runs),
        causes_panel(frame, runs),
        sequence_panel(frame, runs),
        *sampled_panels(frame, runs),
        _activity_panel(frame, runs),
        waterfall_panel(frame, runs),
        _buffer_panel(frame, runs),
    ]
    filled = [panel for panel in made if panel]
    if not filled:
        raise ValueError("nothing was recorded over time")
    last = filled[-1][-1]
    drawn = [[_plot(frame, row, with_axis=row is last) for row in panel] for panel in filled]
    apart = {"resolve": {"scale": dict.fromkeys(("color", "x", "y"), "independent")}}
    chart: Spec = apart | {
        "vconcat": [{"vconcat": rows, "spacing": 5} | apart for rows in drawn],
        "spacing": 16,
        "usermeta": {"columns": 1, "gap": 0, "beside": theme.width - frame.width},
    }
    if interactive:
        chart["params"] = _parameters([row for rows in drawn for row in rows])
    return chart


def _parameters(rows: Sequence[Spec]) -> list[Spec]:
    """Return the parameters of a chart with which the pointer pans and zooms time in all rows at
    once, and shows values in each.
    """
    nearest = {"type": "point", "fields": ["t"], "nearest": True, "on": "pointermove",
               "clear": "pointerout"}  # fmt: skip
    readouts = []
    for number, row in enumerate(rows):
        row["layer"][0]["name"] = f"time_{number}"
        readouts += [
            {"name": f"at_{layer['name']}", "select": nearest, "views": [layer["name"]]}
            for layer in row["layer"]
            if layer.get("name", "").startswith(READOUT)
        ]
    # Without a key the wheel scrolls the page.
    stretched = {"type": "interval", "encodings": ["x"], "zoom": "wheel![event.shiftKey]"}
    views = [row["layer"][0]["name"] for row in rows]
    return [{"name": "zoom", "select": stretched, "bind": "scales", "views": views}, *readouts]


def _plot(frame: Frame, row: Row, *, with_axis: bool) -> Spec:
    """Return one row of a panel: outages in the background, its own layers, and in front handovers
    and the run's name.
    """
    timeline = row.run.timeline
    layers: list[Spec] = []
    if timeline.outages:
        bands = [{"t": b.start_s, "end": b.end_s, "what": b.label} for b in timeline.outages]
        mark = {"type": "rect", "color": OUTAGE, "opacity": 0.3, "clip": True}
        layers.append(
            layer_over_time(frame, bands, mark, x2={"field": "end"}, tooltip=[{"field": "what"}])
        )
    layers += row.layers
    if timeline.handovers:
        marks = [{"t": mark.at_s, "to": mark.label} for mark in timeline.handovers]
        rule = {"type": "rule", "color": FAINT, "strokeDash": [4, 3], "strokeWidth": 1,
                "clip": True}  # fmt: skip
        layers.append(layer_over_time(frame, marks, rule, tooltip=[{"field": "to"}]))
    if row.run.name:
        layers.append(_run_name(frame, row))
    if with_axis:
        axis = {"title": "Time (s)", "format": ".6~g", "tickCount": 8}
        for layer in layers:
            if "field" in layer["encoding"]["x"]:
                layer["encoding"]["x"] = layer["encoding"]["x"] | {"axis": axis}
    plot: Spec = {"layer": layers, "width": frame.width, "height": row.height}
    if row.title is not None:
        size = frame.theme.font_size
        plot["title"] = {"text": row.title, "anchor": "start", "fontSize": size,
                         "fontWeight": 600, "offset": 5}  # fmt: skip
    return plot


def _run_name(frame: Frame, row: Row) -> Spec:
    """Return the name of a run at the right of its row."""
    mark = {"type": "text", "align": "left", "fontSize": frame.theme.font_size, "fontWeight": 600,
            "color": text_colour(row.run.colour), "clip": False}  # fmt: skip
    place = {"x": {"value": frame.width + 8}, "y": {"value": row.height / 2}}
    return {
        "data": {"values": [{"name": row.run.name}]}, "mark": mark,
        "encoding": place | {"text": {"field": "name"}},
    }  # fmt: skip


def _path_panel(frame: Frame, runs: Sequence[ShownRun]) -> list[Row]:
    """Return the paths' RTT: one row if it is the same for all runs, none if nothing changed."""
    paths = [(run.timeline.rtt_ms, run.timeline.handovers) for run in runs]
    values = {value for lines, _ in paths for line in lines for _, value in line.points}
    if len(values) < 2 and not any(handovers for _, handovers in paths):
        return []
    longest = max(runs, key=lambda run: run.timeline.end_s)
    all_same = all(_same_path(runs[0].timeline, run.timeline) for run in runs[1:])
    shown = [ShownRun("", longest.colour, longest.timeline)] if all_same else list(runs)
    title = "Round-trip time of the path (ms)"
    top = 1.25 * max(values)
    return [
        Row(run, None if index else title, frame.height(54), _path_layers(frame, run, top))
        for index, run in enumerate(shown)
    ]


def _same_path(one: RunTimeline, other: RunTimeline) -> bool:
    """Return whether the paths of two runs had the same events until the end of the shorter run."""
    until_s = 0.999 * min(one.end_s, other.end_s)

    def corners(lines: Sequence[Line]) -> set[tuple[int, float, float]]:
        # Changes scheduled for the same time differ by microseconds, because messages take time.
        return {
            (line.path, round(t, 3), v) for line in lines for t, v in line.points if t < until_s
        }

    return corners(one.rtt_ms) == corners(other.rtt_ms)


def _path_layers(frame: Frame, run: ShownRun, top: float) -> list[Spec]:
    layers: list[Spec] = []
    for line in run.timeline.rtt_ms:
        colour = PATH_COLOURS[line.path % len(PATH_COLOURS)]
        rows = [{"t": t, "ms": v} for t, v in line.points]
        mark = {"type": "line", "interpolate": "step-after", "strokeWidth": 1.6, "clip": True,
                "color": colour}  # fmt: skip
        layers.append(layer_over_time(frame, rows, mark, y=value_axis(frame, "ms", top, 2)))
        start_s, end_s = line.points[0][0], line.points[-1][0]
        if run.timeline.handovers and end_s - start_s > LEAST_LABELLED_SHARE * frame.end_s:
            label = [{"t": start_s, "text": f"path {line.path + 1}"}]
            text = {"type": "text", "align": "left", "baseline": "top", "dx": 4, "clip": True,
                    "fontSize": 0.9 * frame.theme.font_size, "color": colour}  # fmt: skip
            layers.append(
                layer_over_time(frame, label, text, y={"value": 0}, text={"field": "text"})
            )
    return layers


def _goodput_panel(frame: Frame, runs: Sequence[ShownRun]) -> list[Row]:
    """Return a row for each run with its goodput, and the rate of its paths."""
    top, cut = _goodput_top(runs)
    rates = [v for run in runs for line in run.timeline.rate_mbit_s for _, v in line.points]
    notes = ["dotted: rate of the paths in use"] if any(v <= top for v in rates) else []
    notes += ["triangles at the top: bars beyond the axis"] if cut else []
    title = f"Goodput (Mbit/s); {'; '.join(notes)}" if notes else "Goodput (Mbit/s)"
    height = frame.height(44 if frame.together else 92)
    measured = [run for run in runs if run.timeline.goodput_mbit_s]
    return [
        Row(run, None if i else title, height, _goodput_layers(frame, run, top, f"goodput_{i}"))
        for i, run in enumerate(measured)
    ]


def _goodput_top(runs: Sequence[ShownRun]) -> tuple[float, bool]:
    """Return the upper end of the goodput axis in Mbit/s, and whether bars go beyond it.

    A receiver that waited for a lost packet gets all later data at once. Such a peak above the
    paths' rate is not throughput, and would flatten everything else.
    """
    lines = [run.timeline.goodput_mbit_s for run in runs]
    largest = max((v for line in lines if line for _, v in line.points), default=0.0)
    rates = [v for run in runs for line in run.timeline.rate_mbit_s for _, v in line.points]
    plausible = MOST_OF_RATE * max(rates, default=0.0)
    cut = 0 < plausible < largest
    return plausible if cut else 1.05 * largest or 1.0, cut


def _goodput_layers(frame: Frame, run: ShownRun, top: float, name: str) -> list[Spec]:
    line = run.timeline.goodput_mbit_s
    if line is None:
        raise ValueError("no goodput was recorded")
    y = value_axis(frame, "mbit", top, 2 if frame.together else 3)
    area = area_over_time(frame, run, line, y, interpolate="step-after")
    layers = [area]
    if frame.interactive:
        layers.append(readout(area, name, tip("mbit", "Mbit/s", ".4~r")))
    for rate in run.timeline.rate_mbit_s:
        steps = [{"t": t, "mbit": v} for t, v in rate.points]
        dotted = {"type": "line", "interpolate": "step-after", "color": FAINT,
                  "strokeDash": [1, 3], "strokeWidth": 1.2, "clip": True}  # fmt: skip
        layers.append(layer_over_time(frame, steps, dotted, y=y))
    beyond = _beyond(line, top)
    if beyond:
        tips = [tip("mbit", "up to Mbit/s", ".4~r")]
        mark = symbol("triangle-up", run.colour)
        layers.append(layer_over_time(frame, beyond, mark, y={"value": 0}, tooltip=tips))
    if run.timeline.reconnections:
        marks = [{"t": mark.at_s, "what": mark.label} for mark in run.timeline.reconnections]
        diamond = symbol("diamond", run.colour) | {"clip": True}
        layers.append(
            layer_over_time(frame, marks, diamond, y={"value": 7}, tooltip=[{"field": "what"}])
        )
    return layers


def _beyond(line: Line, top: float) -> list[dict[str, Any]]:
    """Return the parts of a step line above the axis: their middles and their peaks."""
    steps = list(pairwise(line.points))
    found = []
    for is_beyond, stretch in groupby(steps, key=lambda step: step[0][1] > top):
        if is_beyond:
            together = list(stretch)
            middle_s = (together[0][0][0] + together[-1][1][0]) / 2
            found.append({"t": middle_s, "mbit": max(value for (_, value), _ in together)})
    return found


def _activity_panel(frame: Frame, runs: Sequence[ShownRun]) -> list[Row]:
    """Return a row for each run with its workload's activity: qualities and waits as bands."""
    used = {band.label for run in runs for band in run.timeline.playback}
    tones = {label: tone for run in runs for label, tone in run.timeline.tones.items()}
    grades = iter(quality_colours(sum(tone == "grade" for tone in tones.values())))
    colours = {
        label: next(grades) if tone == "grade" else WAIT_COLOURS[tone]
        for label, tone in tones.items()
    }
    scale = {label: colour for label, colour in colours.items() if label in used}
    playing = [run for run in runs if run.timeline.playback]
    return [
        Row(run, None, frame.height(18), _activity_layers(frame, run, scale, legend=index == 0))
        for index, run in enumerate(playing)
    ]


def _activity_layers(
    frame: Frame, run: ShownRun, colours: dict[str, str], *, legend: bool
) -> list[Spec]:
    rows = [{"t": b.start_s, "end": b.end_s, "what": b.label} for b in run.timeline.playback]
    tooltip = [
        {"field": "what", "title": "player"},
        tip("t", "from (s)", ".2f"),
        tip("end", "to (s)", ".2f"),
    ]
    place = {"y": {"value": 0}, "y2": {"value": frame.height(18)}}
    bands = bands_over_time(
        frame, rows, place, run.timeline.activity, colours, tooltip, legend=legend
    )
    if not run.timeline.seeks:
        return [bands]
    marks = [{"t": mark.at_s, "seek": mark.label} for mark in run.timeline.seeks]
    mark = symbol("triangle-down", "white") | {"size": 26, "stroke": INK, "clip": True}
    return [bands, layer_over_time(frame, marks, mark, y={"value": 4}, tooltip=[{"field": "seek"}])]


def _buffer_panel(frame: Frame, runs: Sequence[ShownRun]) -> list[Row]:
    """Return a row for each run with the play time that it has buffered."""
    lines = [run.timeline.buffer_s for run in runs]
    top = 1.05 * max([1.0, *(v for line in lines if line for _, v in line.points)])
    rows: list[Row] = []
    for run in runs:
        if run.timeline.buffer_s is None:
            continue
        area = area_over_time(frame, run, run.timeline.buffer_s, value_axis(frame, "s", top, 2))
        layers = [area]
        if frame.interactive:
            value = tip("s", "buffered (s)", ".2f")
            layers.append(readout(area, f"buffer_{len(rows)}", value))
        title = None if rows else "Play time buffered (s)"
        rows.append(Row(run, title, frame.height(36 if frame.together else 64), layers))
    return rows
