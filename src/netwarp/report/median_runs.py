"""The median run of each cell, drawn over time, of which the reader selects one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netwarp.figures.chart import Chart
from netwarp.figures.over_time.figure import run_chart
from netwarp.results import CellResult, Results, RunResult
from netwarp.results.comparisons import main_metric
from netwarp.wording import cell_text, quantity

if TYPE_CHECKING:
    from netwarp.evaluation import RunData

MOST_RUNS = 24
"""Maximum number of runs that are drawn on the page; with more it would load slowly."""


@dataclass(frozen=True)
class MedianRuns:
    """The median runs that a report shows over time."""

    charts: list[tuple[str, Chart]]
    """Charts with the names by which the reader selects them."""
    cells: int
    """Number of cells of the study, shown or not."""
    metric: str
    """Title of the metric by which median runs are chosen."""


def median_runs(data: RunData) -> MedianRuns | None:
    """Draw the median run of each cell; None if no run recorded anything over time, or only
    samples.

    If there are many cells, conditions at even distances are chosen, with all contenders of each.
    """
    metric = main_metric(data.results)
    charts = []
    for cell in chosen_cells(data.results):
        run = median_run(cell, metric)
        chart = run_chart(run, data, samples_alone=False) if run else None
        if run is None:
            continue
        if chart is None and any(cell.workloads for cell in data.study.cells):
            continue  # cells differ in which of several workloads run
        if chart is None:
            # Either all runs of a study have records over time or none has, so one run determines
            # it.
            return None
        charts.append((f"{cell_text(cell.factors)} · {run.run}", chart))
    if not charts:
        return None
    return MedianRuns(charts, len(data.results.cells), quantity(metric, 1).title.lower())


def chosen_cells(results: Results) -> list[CellResult]:
    """Return at most `MOST_RUNS` cells, whose median runs are drawn."""
    conditions = [cells for _, cells in results.conditions()]
    contenders = max((len(cells) for cells in conditions), default=1)
    room = max(1, MOST_RUNS // contenders)
    step = math.ceil(len(conditions) / room)
    return [cell for cells in conditions[::step] for cell in cells][:MOST_RUNS]


def median_run(cell: CellResult, metric: str) -> RunResult | None:
    """Return the run whose value of a metric is the median, the lower one of two; None if no run
    succeeded.
    """
    measured = [(value, run) for run in cell.runs if (value := run.value(metric)) is not None]
    measured.sort(key=lambda pair: (pair[0], pair[1].replicate))
    return measured[(len(measured) - 1) // 2][1] if measured else None
