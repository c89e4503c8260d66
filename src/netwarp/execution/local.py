"""Carries out runs on this machine, on one CPU each."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from netwarp.backends.base import Backend
from netwarp.errors import BackendError, InputError
from netwarp.execution.executor import Keeper
from netwarp.execution.outcome import run_job
from netwarp.plan import PlannedRun

if TYPE_CHECKING:
    from concurrent.futures import Future

SIGNALS_EVERY_S = 0.2


class LocalExecutor:
    """Carries runs out in threads of this process.

    Args:
        jobs: number of runs at a time; None for one per CPU, or a single one if they would disturb
            each other.

    Raises:
        InputError: `jobs` is less than one.
    """

    name = "local"

    def __init__(self, jobs: int | None = None) -> None:
        if jobs is not None and jobs < 1:
            raise InputError(f"{jobs} runs at a time: at least 1")
        self.jobs = jobs
        self._stopping = threading.Event()

    def at_a_time(self, backend: Backend) -> int:
        """Return the number of runs at the same time: the number asked for, or one per CPU.

        Raises:
            BackendError: several were asked for, but runs of this backend would disturb each other.
        """
        if backend.parallel:
            return self.jobs or len(os.sched_getaffinity(0))
        if self.jobs is not None and self.jobs > 1:
            raise BackendError(
                f"--jobs {self.jobs}: runs of the {backend.name} backend share this machine's CPUs"
                " and would slow each other down: leave it away, they go one at a time"
            )
        return 1

    def check(self, backend: Backend, runs: int) -> None:
        """Check that the backend is ready for this many runs at the same time."""
        backend.check(min(self.at_a_time(backend), runs))

    def run_all(self, pending: Sequence[PlannedRun], backend: Backend, keeper: Keeper) -> None:
        """Carry out runs in as many threads as there are runs at a time."""
        # Imported only if there are runs to carry out: importing it takes longer than finding that
        # there are none.
        from concurrent.futures import ThreadPoolExecutor

        self._stopping.clear()
        queued: queue.SimpleQueue[PlannedRun] = queue.SimpleQueue()
        for run in pending:
            queued.put(run)
        threads = min(self.at_a_time(backend), len(pending))
        with ThreadPoolExecutor(max_workers=threads, thread_name_prefix="netwarp-run") as pool:
            try:
                _wait_for_all(
                    [
                        pool.submit(self._run_queued, queued, backend, keeper, slot)
                        for slot in range(threads)
                    ]
                )
            except BaseException:
                self._stopping.set()
                backend.stop()
                raise

    def _run_queued(
        self, queued: queue.SimpleQueue[PlannedRun], backend: Backend, keeper: Keeper, slot: int
    ) -> None:
        while not self._stopping.is_set() and keeper.goes_on():
            try:
                run = queued.get_nowait()
            except queue.Empty:
                return
            outcome = run_job(
                backend,
                run.job,
                keeper.begin(run),
                slot=slot,
                on_progress=partial(keeper.observer.progressed, run),
            )
            if self._stopping.is_set():
                return  # the run ended because we killed it, which is not a result
            keeper.finish(run, outcome)


def _wait_for_all(workers: Sequence[Future[None]]) -> None:
    """Wait until all threads have ended, or raise what one of them raised.

    Ctrl-C has to interrupt this wait. Importing polars (2.1.0) replaces Python's SIGINT handler by
    one with SA_RESTART, after which a wait for a lock is never interrupted by a signal: hence the
    time-out. And a KeyboardInterrupt within `concurrent.futures.wait` can release a lock twice:
    hence a queue, which waits in C.
    """
    ended: queue.SimpleQueue[Future[None]] = queue.SimpleQueue()
    for worker in workers:
        worker.add_done_callback(ended.put)
    left = len(workers)
    while left:
        try:
            ended.get(timeout=SIGNALS_EVERY_S).result()
        except queue.Empty:
            continue
        left -= 1
