"""The panel of a chart over time that shows goodput, beside what the paths could carry."""

from __future__ import annotations

from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any

import altair as alt

from netwarp.figures.over_time.panel import Row, rows_of, time_axis, under_the_pointer, value_axis
from netwarp.figures.style import FAINT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netwarp.figures.over_time.lines import Line
    from netwarp.figures.over_time.panel import Frame, Layers, Seen

MOST_OF_RATE = 1.2
"""Goodput shown at most, of the largest rate: rounding to packets and steps of time is less."""


def goodput_panel(frame: Frame, runs: Sequence[Seen]) -> list[Row]:
    """Draw what came in, a row a run."""
    top, cut = _axis_end(runs)
    return [
        Row(
            run,
            _title(runs, top, cut=cut) if index == 0 else None,
            44 if len(runs) > 1 else 92,
            _layers(frame, run, top, f"goodput_{index}"),
        )
        for index, run in enumerate(run for run in runs if run.timeline.goodput_mbit_s)
    ]


def _axis_end(runs: Sequence[Seen]) -> tuple[float, bool]:
    """Give the axis's end in Mbit/s, and whether bars go beyond it.

    A receiver that waited for one lost packet gets all behind it at once: above what the paths
    carry, that is no throughput, and would make everything else flat.
    """
    lines = [run.timeline.goodput_mbit_s for run in runs]
    largest = max((v for line in lines if line for _, v in line.points), default=0.0)
    rates = [v for run in runs for line in run.timeline.rate_mbit_s for _, v in line.points]
    plausible = MOST_OF_RATE * max(rates, default=0.0)
    cut = 0 < plausible < largest
    return plausible if cut else 1.05 * largest or 1.0, cut


def _title(runs: Sequence[Seen], top: float, *, cut: bool) -> str:
    rates = [v for run in runs for line in run.timeline.rate_mbit_s for _, v in line.points]
    notes = ["dotted: the rate of the paths at hand"] if any(v <= top for v in rates) else []
    notes += ["triangles at the top: bars beyond the axis"] if cut else []
    return f"Goodput, Mbit/s ({'; '.join(notes)})" if notes else "Goodput, Mbit/s"


def _layers(frame: Frame, run: Seen, top: float, name: str) -> Layers:
    line = run.timeline.goodput_mbit_s
    if line is None:
        raise ValueError("no goodput was recorded")
    y = value_axis("mbit:Q", alt.Scale(domain=[0, top], nice=False), 2 if frame.together else 3)
    base = rows_of([{"t": t, "mbit": v} for t, v in line.points]).encode(x=time_axis(frame), y=y)
    layers = [
        base.mark_area(
            interpolate="step-after", color=run.colour, opacity=0.3, clip=True,
            line={"color": run.colour, "strokeWidth": 1.1},
        )
    ]  # fmt: skip
    if frame.interactive:
        layers.append(
            under_the_pointer(base, name, alt.Tooltip("mbit:Q", title="Mbit/s", format=".4~r"))
        )
    for rate in run.timeline.rate_mbit_s:
        steps = rows_of([{"t": t, "mbit": v} for t, v in rate.points])
        layers.append(
            steps.mark_line(
                interpolate="step-after", color=FAINT, strokeDash=[1, 3], strokeWidth=1.2, clip=True
            ).encode(x=time_axis(frame), y=y)
        )
    beyond = _beyond(line, top)
    if beyond:
        tips = rows_of(beyond).mark_point(
            shape="triangle-up", filled=True, size=44, color=run.colour, opacity=1,
            stroke="white", strokeWidth=0.7,
        )  # fmt: skip
        height = alt.Tooltip("mbit:Q", title="up to Mbit/s", format=".4~r")
        layers.append(tips.encode(x=time_axis(frame), y=alt.value(0), tooltip=[height]))
    if run.timeline.reconnections:
        marks = [{"t": mark.at_s, "what": mark.label} for mark in run.timeline.reconnections]
        dots = rows_of(marks).mark_point(
            shape="diamond", filled=True, size=46, color=run.colour, opacity=1, clip=True,
            stroke="white", strokeWidth=0.7,
        )  # fmt: skip
        place = alt.value(7)
        layers.append(dots.encode(x=time_axis(frame), y=place, tooltip=["what:N"]))
    return layers


def _beyond(line: Line, top: float) -> list[dict[str, Any]]:
    """Find the stretches of a step line above the axis: their middles, and how high they go."""
    steps = list(pairwise(line.points))
    found = []
    for is_beyond, stretch in groupby(steps, key=lambda step: step[0][1] > top):
        if is_beyond:
            together = list(stretch)
            middle_s = (together[0][0][0] + together[-1][1][0]) / 2
            found.append({"t": middle_s, "mbit": max(value for (_, value), _ in together)})
    return found
