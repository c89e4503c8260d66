"""Measures what a cluster's executor costs a run, beyond what `local` costs it."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import netwarp
from bench.overhead import small_study
from bench.printing import tell
from netwarp.backends.process_tree import cpu_s, descendants
from netwarp.execution.observer import Unobserved
from netwarp.plan import PlannedRun
from netwarp.run_directory import Clock
from netwarp.run_status import Status

RUNS = (40, 240)
"""Sizes of two studies: what both cost is Dask's start and its workers' checks, not a run's."""
MOST_MS = 5.0
CLUSTER = "dask-local:2"


class PythonCpu(Unobserved):
    """Adds up the CPU time of all of netwarp's and Dask's processes while runs go on.

    Coordinator, scheduler and workers are counted; what guests take is not, as it is that of
    processes of their own.
    """

    def __init__(self) -> None:
        self.coordinator_s = 0.0
        """Of this process: with `dask-local`, the scheduler's too."""
        self.workers_s = 0.0
        self._workers: list[int] = []

    def planned(self, runs: int, clock: Clock) -> None:
        """Find the processes, of which none is a guest yet, and begin."""
        del runs, clock
        self._workers = list(descendants(os.getpid()))
        self.coordinator_s = -time.process_time()
        self.workers_s = -sum(map(cpu_s, self._workers))

    def finished(self, run: PlannedRun, status: Status, *, resumed: bool) -> None:
        """End the bench where a run failed: its cost says nothing."""
        del resumed
        if status.outcome == "failed":
            raise SystemExit(f"{run.run} failed: {status.reason}")

    def ended(self) -> None:
        """Add up the CPU time of the coordinator and of its workers, now that all runs ended."""
        self.coordinator_s += time.process_time()
        self.workers_s += sum(map(cpu_s, self._workers))


def measure(repeats: int) -> dict[str, Any]:
    """Carry two studies of small runs out, with both executors in turn.

    Returns:
        CPU milliseconds a run, ``ms``: by how much more the larger study costs than the smaller,
        divided by how many runs more it has, with the cluster, less the same with `local`; of each
        repeat; and at most, ``most_ms``.
    """
    of_each: dict[str, list[float]] = {"local": [], CLUSTER: []}
    for repeat in range(repeats):
        for executor, spent_ms in of_each.items():
            tell(f"{repeat + 1}/{repeats} runs with {executor}")
            few_s, many_s = (_cpu_s(executor, runs) for runs in RUNS)
            spent_ms.append((many_s - few_s) * 1e3 / (RUNS[1] - RUNS[0]))
    beyond_ms = [
        there - here for here, there in zip(of_each["local"], of_each[CLUSTER], strict=True)
    ]
    return {
        "name": f"a run with {CLUSTER}, beyond local's {median(of_each['local']):.1f} ms",
        "ms": beyond_ms,
        "most_ms": MOST_MS,
    }


def _cpu_s(executor: str, runs: int) -> float:
    spent = PythonCpu()
    with tempfile.TemporaryDirectory(prefix="netwarp-bench-") as place:
        netwarp.run(
            small_study(runs),
            "virtual",
            out=Path(place) / "out",
            executor=executor,
            jobs=2 if executor == "local" else None,
            observer=spent,
        )
    return spent.coordinator_s + spent.workers_s
