"""Measures what large studies cost: many small runs on all CPUs, and 100 000 runs in memory."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import netwarp
from bench.executors import PythonCpu
from bench.overhead import small_study
from bench.printing import tell
from netwarp.backends.cpus import cpu_times
from netwarp.evaluation import load
from netwarp.execution.cluster import batches
from netwarp.execution.outcome import Outcome
from netwarp.measure.compact_values import CompactValues
from netwarp.output.export import export_results
from netwarp.plan import PlannedRun, plan_study
from netwarp.results.parquet import write_results
from netwarp.run_directory import Clock, RunDirectory
from netwarp.run_files import write_json
from netwarp.run_status import Status

RUNS = 10_000
MOST_MINUTES = 12.0
"""For so many runs on two CPUs."""
LEAST_EFFICIENCY = 0.9
IN_MEMORY = 100_000
ALONE = 200
CORES = 1000
MOST_MB = 500.0
KEPT_IN_MEMORY = "from bench.scale import keep_in_memory; keep_in_memory()"


class RunPhase(PythonCpu):
    """Times what goes on from the first run's start to the last one's end, and sums guests up."""

    def __init__(self, every: int) -> None:
        super().__init__()
        self.begun_s = self.ended_s = self.idle_s = 0.0
        self.guests_cpu_s = 0.0
        self.runs = 0
        self._every = every

    def planned(self, runs: int, clock: Clock) -> None:
        """Take the time: from here on runs go on."""
        super().planned(runs, clock)
        self.begun_s, self.idle_s = time.monotonic(), -cpu_times().idle_s

    def finished(self, run: PlannedRun, status: Status, *, resumed: bool) -> None:
        """Count a run, and what its guest took."""
        super().finished(run, status, resumed=resumed)
        self.runs += 1
        self.guests_cpu_s += status.cpu_s
        if self.runs % self._every == 0:
            tell(f"{self.runs} runs")

    def ended(self) -> None:
        """Take the time again."""
        self.ended_s = time.monotonic()
        self.idle_s += cpu_times().idle_s
        super().ended()


def measure(runs: int, executor: str) -> dict[str, Any]:
    """Carry out a study of so many small runs, and keep another one in memory.

    Args:
        runs: how many, an even number.
        executor: on whose CPUs, as `--executor` has it.
    """
    phase = _carried_out(runs, executor)
    cores = len(os.sched_getaffinity(0))
    wall_s = phase.ended_s - phase.begun_s
    cpu_s = phase.guests_cpu_s + phase.coordinator_s + phase.workers_s
    in_memory = subprocess.run(
        [sys.executable, "-c", KEPT_IN_MEMORY], check=True, capture_output=True, text=True
    )
    return {
        "runs": phase.runs,
        "executor": executor,
        "cores": cores,
        "wall_s": wall_s,
        "guests_cpu_s": phase.guests_cpu_s,
        "coordinator_cpu_s": phase.coordinator_s,
        "workers_cpu_s": phase.workers_s,
        "runs_per_min": 60 * phase.runs / wall_s,
        "efficiency": cpu_s / (cores * wall_s),
        "idle_ratio": phase.idle_s / (cores * wall_s),
        "peak_mb": _peak_mb(),
        "in_memory": json.loads(in_memory.stdout),
        "alone_ms": None if executor == "local" else _alone_ms(executor),
    }


def _carried_out(runs: int, executor: str) -> RunPhase:
    phase = RunPhase(max(1, runs // 100))
    with tempfile.TemporaryDirectory(prefix="netwarp-bench-") as place:
        study = small_study(runs)
        netwarp.run(study, "virtual", out=Path(place) / "out", executor=executor, observer=phase)
    return phase


def _alone_ms(executor: str) -> float:
    """Measure what a run takes of the coordinator, in CPU milliseconds, that has a task of its own.

    Runs of seconds and more have; short ones do here, so that it does not take long.
    """
    with patch.object(batches, "BATCH_S", 0.0):
        return 1e3 * _carried_out(ALONE, executor).coordinator_s / ALONE


def table(answer: dict[str, Any]) -> Iterator[str]:
    """Write what was measured, and whether it is within its goals."""
    runs, minutes = answer["runs"], answer["wall_s"] / 60
    most_minutes = MOST_MINUTES * runs / RUNS * 2 / answer["cores"]
    yield (
        f"{runs} small runs, {answer['executor']}, {answer['cores']} CPUs: {minutes:.2f} min,"
        f" {answer['runs_per_min']:.0f} a minute  {_held(minutes <= most_minutes)}"
        f" {most_minutes:.2f} min"
    )
    share = answer["efficiency"]
    guest, coordinator, workers = (
        1e3 * answer[f"{who}_cpu_s"] / runs for who in ("guests", "coordinator", "workers")
    )
    yield (
        f"CPU in use of CPUs × time in the run phase: {share:.1%}"
        f"  {_held(share >= LEAST_EFFICIENCY)} {LEAST_EFFICIENCY:.0%};"
        f" idle {answer['idle_ratio']:.1%}, the rest was other work's"
    )
    yield (
        f"CPU ms a run: {guest:.1f} its guest, {coordinator:.1f} this process, {workers:.1f} Dask's"
        f" workers; this process takes {answer['peak_mb']:.0f} MB at most"
    )
    kept = answer["in_memory"]
    yield (
        f"{kept['runs']} runs, planned, with outcomes and results, written as Parquet and CSV:"
        f" {kept['peak_mb']:.0f} MB, {kept['cpu_s']:.1f} CPU s"
        f"  {_held(kept['peak_mb'] <= MOST_MB)} {MOST_MB:.0f} MB"
    )
    if answer["alone_ms"] is not None:
        yield projection(answer["alone_ms"])


def projection(alone_ms: float) -> str:
    """Say what 1 000 cores can do, where the coordinator is what bounds them."""
    return (
        f"a run with a task of its own: {alone_ms:.1f} CPU ms of this process; so"
        f" {1e3 / alone_ms:.0f} runs a second, {CORES} cores at work with runs of"
        f" {CORES * alone_ms / 1e3:.0f} CPU s and more, and {IN_MEMORY} runs in"
        f" {IN_MEMORY * alone_ms / 60e3:.0f} min"
    )


def keep_in_memory() -> None:
    """Plan a study of many runs, give each the outcome of one that was carried out, read the
    results and write them as tables, as a coordinator does; print the peak of memory as JSON.
    """
    with tempfile.TemporaryDirectory(prefix="netwarp-bench-") as place:
        one = netwarp.run(small_study(2), "virtual", out=Path(place) / "one")
        values = {name: v for name, v in one.data.results.runs[0].metrics.items() if v is not None}
        study = small_study(IN_MEMORY)
        directory = RunDirectory(Path(place) / "many")
        directory.runs.mkdir(parents=True)
        write_json(directory.study_json, study.raw)
        plan = plan_study(study)
        directory.write_plan(run.to_json() for run in plan)
        outcomes = {
            run.run: Outcome(
                Status("ok", None, 0.1, 0.1, 1 << 25, 1.0),
                CompactValues({name: value + place for name, value in values.items()}),
            )
            for place, run in enumerate(plan)
        }
        found = load(directory.path, outcomes, study)
        estimates = [cell.estimate("completion_time_s") for cell in found.results.cells]
        write_results(found.results, directory.results_file)
        csv_bytes = sum(map(len, export_results(found, "csv")))
        table_bytes = directory.results_file.stat().st_size
    measured = {"runs": len(found.results.runs), "peak_mb": _peak_mb(), "cpu_s": _own_cpu_s()}
    measured |= {"parquet_bytes": table_bytes, "csv_bytes": csv_bytes}
    sys.stdout.write(json.dumps(measured | {"cells": len(estimates), "metrics": len(values)}))


def _held(is_held: bool) -> str:
    return "within" if is_held else "OVER"


def _own_cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
