"""The panels of sampled values: a panel for each value, with a row for each run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netwarp.figures.over_time.plots import (
    Frame,
    Row,
    ShownRun,
    area_over_time,
    readout,
    tip,
    value_axis,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netwarp.figures.over_time.sampled import SampledLine


def sampled_panels(frame: Frame, runs: Sequence[ShownRun]) -> list[list[Row]]:
    """Draw each value that any run has, with one scale for all rows of its panel."""
    titles = dict.fromkeys(each.title for run in runs for each in run.timeline.sampled)
    return [_panel(frame, runs, title, number) for number, title in enumerate(titles)]


def _panel(frame: Frame, runs: Sequence[ShownRun], title: str, number: int) -> list[Row]:
    found = [(run, each) for run in runs for each in run.timeline.sampled if each.title == title]
    top = 1.05 * max(value for _, each in found for _, value in each.line.points)
    height = frame.height(36 if frame.together else 60)
    rows = []
    for place, (run, each) in enumerate(found):
        name = f"sampled_{number}_{place}"
        rows.append(
            Row(run, None if place else title, height, _layers(frame, run, each, top, name))
        )
    return rows


def _layers(
    frame: Frame, run: ShownRun, sampled: SampledLine, top: float, name: str
) -> list[dict[str, object]]:
    y = value_axis(frame, "value", top, 2)
    area = area_over_time(frame, run, sampled.line, y)
    if not frame.interactive:
        return [area]
    return [area, readout(area, name, tip("value", sampled.readout, ".4~r"))]
