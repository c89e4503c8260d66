"""Selects the cells and runs of a run directory that `netwarp why` explains."""

from __future__ import annotations

import re
from dataclasses import replace

from netwarp.errors import InputError
from netwarp.estimate.comparison import Sample
from netwarp.evaluation import RunData
from netwarp.results import CellResult
from netwarp.results.comparisons import main_metrics
from netwarp.suggestions import did_you_mean
from netwarp.why.answer import BaseRun, is_one_value
from netwarp.wording import cell_text

MOST_LISTED = 12
"""Maximum number of cells that an error message names."""


def cell_named(data: RunData, name: str | None) -> CellResult:
    """Return the cell with a name: `c003`, or levels such as `transport=tcp,path.loss=1%`. Without
    a name, the only cell is returned.

    Raises:
        InputError: no cell has the name, or several have.
    """
    cells = data.results.cells
    if name is None:
        found = list(cells)
    elif re.fullmatch(r"c?\d+(-r\d+)?", name):
        number = int(name.removeprefix("c").partition("-")[0])
        found = [cell for cell in cells if cell.index == number]
    else:
        found = data.results.select(_levels(data, name))
    if len(found) == 1:
        return found[0]
    said = f"CELL {name}" if name else "which cell?"
    reason = "no cell has these levels" if not found else f"{len(found)} cells"
    listed = "; ".join(
        f"c{cell.index:03d} ({cell_text(cell.factors)})" for cell in (found or cells)[:MOST_LISTED]
    )
    more = " …" if len(found or cells) > MOST_LISTED else ""
    raise InputError(f"why: {said}: {reason}; name one: {listed}{more}")


def _levels(data: RunData, name: str) -> dict[str, str]:
    levels = {}
    for part in name.split(","):
        factor, equals, level = part.partition("=")
        factor = factor.strip()
        if not equals:
            raise InputError(
                f"why: CELL {name}: neither a cell such as c003 nor levels such as transport=tcp"
            )
        known = data.results.factors.get(factor)
        if known is None or level not in known:
            word, of = (factor, data.results.factors) if known is None else (level, known)
            raise InputError(f"why: CELL {name}: no run has {word}; {did_you_mean(word, of)}")
        levels[factor] = level
    return levels


def metric_of(data: RunData) -> str:
    """Return the metric that is explained: the first main metric of the study."""
    return main_metrics(data.results)[0]


def base_runs(
    data: RunData, cell: CellResult, metric: str, replicates: int | None
) -> list[BaseRun]:
    """Return the runs of a cell from which limits are removed. If one run represents all, only the
    first has records.

    Raises:
        InputError: the runs are of real time, of several workloads or of programs, or failed.
    """
    if data.clock != "virtual":
        raise InputError("why: runs in real time are no pairs of others; explain virtual ones")
    found: list[BaseRun] = []
    for run in cell.runs[:replicates]:
        job = data.job(run.run)
        value = run.value(metric)
        if run.outcome == "failed" or job is None or value is None:
            raise InputError(f"why: {run.run} has no {metric}: {run.reason or 'it was not kept'}")
        if job.names_workloads or job.network is not None:
            raise InputError(
                f"why: {run.run} has several workloads or hosts, of which no limit is lifted yet;"
                " explain a study of one"
            )
        random = run.random != ()
        found.append(BaseRun(job, (), Sample(value, run.seed, False, random)))
    told = 1 if is_one_value(found) else len(found)
    return [
        replace(each, records=data.records(each.job.run)) if place < told else each
        for place, each in enumerate(found)
    ]
