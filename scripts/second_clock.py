#!/usr/bin/env python3
"""Holds virtual time against a distribution's own kernel on an emulated PC, and writes
docs/second-clock.md and its picture.

`make second-clock ARGS=ROOT`, where ROOT has a kernel's packages unpacked in it. Needs
qemu-system-x86_64 and a static busybox.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from netwarp.backends.guest_files import find_endpoint, find_kernel
from netwarp.backends.virtual import VirtualBackend
from netwarp.execution import run_job
from netwarp.metrics import metrics_from_records
from netwarp.plan import plan_study
from netwarp.run_directory import RECORDS_FILE
from netwarp.wire import Job, job_to_json, read_records
from second_clock_cells import DELAYS_MS, DRAWS, WARM_UP, Cell, drawn_cells
from second_clock_page import Compared, chart_of, page
from stock_machine import StockKernel, find_kernel_below, run_jobs

DOCS = Path(__file__).parents[1] / "docs"
SHIFTS = (0, 1)
"""An instruction takes 1 ns, and as the control of what CPU time does, 2 ns."""
METRIC = "completion_time_s"
Times = Mapping[str, float]
"""Completion times in seconds, by the name of the run."""


def main() -> int:
    """Run all cells on both clocks, and the controls of those that differ; write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", type=Path, help="directory with a kernel's unpacked packages")
    busybox = shutil.which("busybox") or "busybox"
    parser.add_argument("--busybox", type=Path, default=busybox, help="a static busybox")
    parser.add_argument("--out", type=Path, default=Path("netwarp-out/second-clock"))
    given = parser.parse_args()
    try:
        kernel = find_kernel_below(given.root)
        compared = _compared(drawn_cells(), kernel, given.busybox, given.out)
    except (OSError, RuntimeError) as error:
        sys.exit(f"cannot hold the clocks against each other: {error}")
    versions = (kernel.release, str(find_kernel().info["version"]))
    (DOCS / "second-clock.md").write_text(page(compared, *versions), encoding="utf-8")
    (DOCS / "images" / "second-clock.svg").write_text(chart_of(compared).svg(), encoding="utf-8")
    print(sum(each.is_near for each in compared), "of", len(compared), "cells within 1 %")
    return 0


def _compared(
    cells: Sequence[Cell], kernel: StockKernel, busybox: Path, out: Path
) -> list[Compared]:
    jobs = jobs_of(cells)
    virtual = virtual_times(jobs, out / "virtual")
    endpoint = find_endpoint(os.environ)
    warm = {f"warm-{name}": job for name, job in jobs_of(WARM_UP).items()}
    texts = {name: job_to_json(job) for name, job in {**warm, **jobs}.items()}
    stock, slower = (
        times_of(jobs, run_jobs(kernel, busybox, endpoint, texts, shift, out / f"stock-{shift}"))
        for shift in SHIFTS
    )
    found = [
        Compared(cell, mean_of(cell, virtual), mean_of(cell, stock), mean_of(cell, slower))
        for cell in cells
    ]
    return [
        each.with_varied(_varied(each.cell, out)) if each.needs_reason else each for each in found
    ]


def _varied(cell: Cell, out: Path) -> list[float]:
    """Return a cell's completion times in virtual time over paths that take slightly longer, and
    with other random numbers of the guest's own, while the same packets are lost.
    """
    delayed = {f"{extra_ms:g}ms": jobs_of([cell], extra_ms) for extra_ms in DELAYS_MS}
    drawn = {
        f"draw-{place}": {
            name: job.model_copy(update={"seed": job.seed ^ place})
            for name, job in jobs_of([cell]).items()
        }
        for place in range(1, DRAWS + 1)
    }
    return [
        mean_of(cell, virtual_times(jobs, out / f"virtual-{name}"))
        for name, jobs in (delayed | drawn).items()
    ]


def jobs_of(cells: Iterable[Cell], extra_ms: float = 0.0) -> dict[str, Job]:
    """Return the jobs of cells by name: a cell's and the replicate's.

    Args:
        cells: the cells.
        extra_ms: what is added to their round-trip times.
    """
    return {
        f"{cell.name}-{planned.replicate}": planned.job
        for cell in cells
        for planned in plan_study(cell.study(extra_ms))
    }


def virtual_times(jobs: Mapping[str, Job], out: Path) -> Times:
    """Carry out jobs in virtual time.

    Raises:
        RuntimeError: a run failed.
    """
    backend = VirtualBackend()
    for name, job in jobs.items():
        shutil.rmtree(out / name, ignore_errors=True)
        outcome = run_job(backend, job, out / name)
        if outcome.failed:
            raise RuntimeError(f"{name} failed in virtual time: {outcome.status.reason}")
    return times_of(jobs, {name: out / name / RECORDS_FILE for name in jobs})


def times_of(jobs: Mapping[str, Job], records: Mapping[str, Path]) -> Times:
    """Read completion times from records.

    Raises:
        RuntimeError: a run has none.
    """
    times = {}
    for name, job in jobs.items():
        measured = metrics_from_records(job, read_records(records[name]))
        if METRIC not in measured:
            raise RuntimeError(f"{records[name]}: the transfer was not completed")
        times[name] = measured[METRIC]
    return times


def mean_of(cell: Cell, times: Times) -> float:
    """Return the mean completion time of a cell's replicates."""
    return sum(times[f"{cell.name}-{place}"] for place in range(cell.replicates)) / cell.replicates


if __name__ == "__main__":
    sys.exit(main())
