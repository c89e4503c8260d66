"""Shows a run directory: first replicates over time, and why a cell takes long."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netwarp.errors import InputError
from netwarp.ui.asked import Asked, Event
from netwarp.ui.over_time import over_time
from netwarp.ui.studies import kept_at
from netwarp.wording import cell_text

if TYPE_CHECKING:
    from netwarp.evaluation import RunData


def inside(data: RunData) -> dict[str, Any]:
    """Return the charts of a run directory over time, and the cells that can be explained."""
    cells = [
        {"name": f"c{cell.index:03d}", "text": cell_text(cell.factors)}
        for cell in data.results.cells
    ]
    return over_time(data) | {"cells": cells}


class WhyRun(Asked):
    """Explains a cell of a run directory, as `netwarp why` does; nothing is written to the
    directory.

    Args:
        folder: the folder of run directories.
        name: the run directory's name.
        cell: the cell's name, such as `c003`.
        after: see :class:`netwarp.ui.asked.Asked`.
    """

    def __init__(self, folder: Path, name: str, cell: str, after: Asked | None = None) -> None:
        super().__init__(after)
        self._folder, self._name, self._cell = folder, name, cell

    def _answers(self) -> Iterator[Event]:
        from netwarp.library import backend_for, open_run
        from netwarp.output.why_lines import answer_lines
        from netwarp.why.answer import explain
        from netwarp.why.cells import base_runs, cell_named, metric_of
        from netwarp.workloads import runs_programs

        data = open_run(kept_at(self._folder, self._name)).data
        cell, metric = cell_named(data, self._cell), metric_of(data)
        runs = base_runs(data, cell, metric, None)
        if any(runs_programs(run.job) for run in runs):
            raise InputError(
                f"programs are not run from a page: `netwarp why {self._folder / self._name}"
                f" {self._cell}` in a shell does it"
            )
        backend = backend_for(data.study)
        if not self._begins_with(backend):
            return
        backend.check(1)
        yield "started", {"of": len(runs)}
        found = explain(runs, metric, data.results.criteria.relevant, backend, self._counting())
        yield "why", {"text": "\n".join(answer_lines(found, cell, runs))}

    def _counting(self) -> Callable[[int], None]:
        """Return a function that counts runs and sends both counts to the page: with a negative
        argument it adds to the number of all runs, with a positive one to the number of those that
        have ended.
        """
        lock = threading.Lock()
        said = {"ended": 0, "of": 0}

        def count(change: int) -> None:
            with lock:
                said["of" if change < 0 else "ended"] += abs(change)
                self._put("progress", dict(said))

        return count
