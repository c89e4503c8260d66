"""Runs several jobs at the same time in a temporary directory, and returns what they measured."""

from __future__ import annotations

import os
import queue
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from netwarp.execution.outcome import Outcome, run_job
from netwarp.file_trees import temporary_directory
from netwarp.run_directory import RECORDS_FILE
from netwarp.wire import Job, Record, read_records

if TYPE_CHECKING:
    from netwarp.backends.base import Backend


def outcomes(
    backend: Backend,
    jobs: Sequence[Job],
    on_done: Callable[[], None] = lambda: None,
    at_a_time: int | None = None,
) -> list[Outcome]:
    """Run jobs, and return their outcomes in the order of the jobs; no files are kept. As many run
    at a time as there are CPUs, unless `at_a_time` is set.
    """
    return [outcome for outcome, _ in measured(backend, jobs, on_done, at_a_time)]


def measured(
    backend: Backend,
    jobs: Sequence[Job],
    on_done: Callable[[], None] = lambda: None,
    at_a_time: int | None = None,
) -> list[tuple[Outcome, Sequence[Record]]]:
    """Run jobs, and return their outcomes with their records; a failed run has no records.

    Args:
        backend: the backend on which they run, which has been checked.
        jobs: the jobs.
        on_done: called after each run, in its thread.
        at_a_time: how many run at the same time; None for as many as there are CPUs.
    """
    threads = min(at_a_time or len(os.sched_getaffinity(0)), max(1, len(jobs)))
    slots: queue.SimpleQueue[int] = queue.SimpleQueue()
    for slot in range(threads):
        slots.put(slot)

    def one(place: Path, job: Job) -> tuple[Outcome, Sequence[Record]]:
        slot = slots.get()
        try:
            outcome = run_job(backend, job, place, slot=slot)
            return outcome, [] if outcome.failed else read_records(place / RECORDS_FILE)
        finally:
            slots.put(slot)
            on_done()

    with temporary_directory("netwarp-why-") as place:
        pool = ThreadPoolExecutor(max_workers=threads, thread_name_prefix="netwarp-why")
        try:
            asked = [
                pool.submit(one, Path(place) / f"{number}", job) for number, job in enumerate(jobs)
            ]
            return [each.result() for each in asked]
        finally:
            pool.shutdown(cancel_futures=True)
