"""The panels of counted values over time: samples, and the shares of workloads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from netwarp.figures.over_time.plots import (
    Frame,
    Row,
    ShownRun,
    area_over_time,
    layer_over_time,
    readout,
    tip,
    value_axis,
)
from netwarp.figures.style import Spec, series_styles

if TYPE_CHECKING:
    from netwarp.figures.over_time.sampled import SampledLine, WorkloadGoodput


def sampled_panels(frame: Frame, runs: Sequence[ShownRun]) -> list[list[Row]]:
    """Return a panel for each value that at least one run has; all rows of a panel have the same
    scale.
    """
    titles = dict.fromkeys(each.title for run in runs for each in run.timeline.sampled)
    return [_sampled_panel(frame, runs, title, number) for number, title in enumerate(titles)]


def _sampled_panel(frame: Frame, runs: Sequence[ShownRun], title: str, number: int) -> list[Row]:
    found = [(run, each) for run in runs for each in run.timeline.sampled if each.title == title]
    top = 1.05 * max(value for _, each in found for _, value in each.line.points)
    height = frame.height(36 if frame.together else 60)
    rows = []
    for place, (run, each) in enumerate(found):
        name = f"sampled_{number}_{place}"
        rows.append(
            Row(run, None if place else title, height, _sampled_layers(frame, run, each, top, name))
        )
    return rows


def _sampled_layers(
    frame: Frame, run: ShownRun, sampled: SampledLine, top: float, name: str
) -> list[dict[str, object]]:
    y = value_axis(frame, "value", top, 2)
    area = area_over_time(frame, run, sampled.line, y)
    if not frame.interactive:
        return [area]
    return [area, readout(area, name, tip("value", sampled.readout, ".4~r"))]


def share_panels(frame: Frame, runs: Sequence[ShownRun]) -> list[list[Row]]:
    """Return the workloads' goodput and shares, stacked, with a row for each run."""
    shown = [run for run in runs if run.timeline.workloads]
    if not shown:
        return []
    top = 1.05 * max(rate for run in shown for rate in _sums(run.timeline.workloads)) or 1.0
    goodput = value_axis(frame, "mbit_s", top, 3) | {"stack": "zero"}
    share = value_axis(frame, "share", 100, 2) | {"stack": "zero"}
    titles = ("Goodput of the workloads, stacked (Mbit/s)", "Share of the goodput (%)")
    return [
        [
            Row(
                run,
                None if place else title,
                frame.height(60),
                [_stacked(frame, run, y, with_legend=not number and not place)],
            )
            for place, run in enumerate(shown)
        ]
        for number, (title, y) in enumerate(zip(titles, (goodput, share), strict=True))
    ]


def _sums(workloads: Sequence[WorkloadGoodput]) -> list[float]:
    """Return the sum of the rates of all workloads in each time bin."""
    values = [[value for _, value in each.mbit_s] for each in workloads]
    return [sum(at_once) for at_once in zip(*values, strict=True)]


def _stacked(frame: Frame, run: ShownRun, y: Spec, *, with_legend: bool) -> Spec:
    """Return the goodput of all workloads of a run, stacked."""
    workloads = run.timeline.workloads
    names = [each.name for each in workloads]
    colours = [style.colour for style in series_styles("workloads", names)]
    rows = [
        {
            "t": t,
            "mbit_s": value,
            "share": 100 * value / whole if whole else 0.0,
            "workload": each.name,
        }
        for each in workloads
        for (t, value), whole in zip(each.mbit_s, _sums(workloads), strict=True)
    ]
    legend = {"orient": "top", "title": None, "symbolType": "square"} if with_legend else None
    colour = {
        "field": "workload", "type": "nominal", "legend": legend,
        "scale": {"domain": names, "range": colours},
    }  # fmt: skip
    mark = {"type": "area", "interpolate": "step-after", "opacity": 0.75, "clip": True}
    tooltip = [
        {"field": "workload", "title": "workload"},
        tip("t", "time (s)", ".2f"),
        tip("mbit_s", "goodput (Mbit/s)", ".3~r"),
        tip("share", "share (%)", ".3~r"),
    ]
    return layer_over_time(frame, rows, mark, y=y, color=colour, tooltip=tooltip)
