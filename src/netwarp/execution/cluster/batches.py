"""Divides runs into batches, one for each task of a worker: short runs together, long ones alone.

A task costs Dask some 20 ms of CPU time, and a guest with a short run takes 60 ms. So short runs
share a task. A task takes about a second and not longer, because its work is lost if the worker
dies, and because a worker reports results only at the end of a task.
"""

from collections import deque
from collections.abc import Iterable, Sequence

from netwarp.execution.cost import run_cpu_s
from netwarp.execution.executor import GoesOn
from netwarp.plan import PlannedRun

BATCH_S = 2.0
"""Time in s that the runs of a batch should take together, as estimated. After this time a worker
begins no further run of the batch."""
BATCHES_FOR_EACH_GUEST = 2
"""Number of batches in the cluster for each guest: one that is carried out, and one more, so that
no worker has to wait."""


class Waiting:
    """The runs that have not yet been sent to a worker, in the order of the plan."""

    def __init__(self, runs: Iterable[PlannedRun], goes_on: GoesOn) -> None:
        self._runs = deque(runs)
        self._goes_on = goes_on
        self._cpu_s: dict[int, float] = {}
        """Estimated CPU seconds of a run of each cell, by the cell's index."""

    def take(self, guests: int) -> list[PlannedRun]:
        """Remove and return the next batch. It is empty only if no run is left, or none may begin.

        Args:
            guests: number of runs that are carried out at a time; towards the end batches become
                smaller, so that all guests have work.
        """
        if not self._runs or not self._goes_on():
            return []
        most = max(1, len(self._runs) // (BATCHES_FOR_EACH_GUEST * guests))
        batch = [self._runs.popleft()]
        cpu_s = self._expected_cpu_s(batch[0])
        while self._runs and len(batch) < most:
            cpu_s += self._expected_cpu_s(self._runs[0])
            if cpu_s > BATCH_S:
                break
            batch.append(self._runs.popleft())
        return batch

    def put_back(self, runs: Sequence[PlannedRun]) -> None:
        """Put runs back that were not carried out; they are taken next."""
        self._runs.extendleft(reversed(runs))

    def _expected_cpu_s(self, run: PlannedRun) -> float:
        cell = run.cell
        if cell.index not in self._cpu_s:
            self._cpu_s[cell.index] = run_cpu_s(cell.template)
        return self._cpu_s[cell.index]
