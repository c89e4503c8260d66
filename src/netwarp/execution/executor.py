"""Jobs × backend × executor → run directory. Resumes: what has finished is not done again."""

from __future__ import annotations

import queue
import shutil
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial

from netwarp.backends.base import Backend
from netwarp.errors import BackendError, NetwarpError, RunDirectoryError
from netwarp.execution.observer import Observer
from netwarp.execution.outcome import Outcome, read_outcome, run_job
from netwarp.plan import PlannedRun
from netwarp.run_directory import RunDirectory

# Records, console and figures of a run are small; a disk this full is about to lose something.
FREE_DISK_BYTES = 64 << 20
SIGNALS_EVERY_S = 0.2


class Interrupted(KeyboardInterrupt):
    """Raised by Ctrl-C while runs go on; what had finished is kept."""

    def __init__(self, finished: int, planned: int) -> None:
        self.finished = finished
        self.planned = planned
        super().__init__(f"{finished} of {planned} runs are finished")


def kept_outcomes(plan: Sequence[PlannedRun], directory: RunDirectory) -> dict[str, Outcome]:
    """Give the runs of a plan that have succeeded before, by name: they need not be done again."""
    outcomes = {}
    for planned in plan:
        outcome = read_outcome(directory, planned.run)
        if outcome is not None and not outcome.failed:
            outcomes[planned.run] = outcome
    return outcomes


def execute(
    plan: Sequence[PlannedRun],
    kept: Mapping[str, Outcome],
    backend: Backend,
    directory: RunDirectory,
    *,
    jobs: int,
    observer: Observer,
) -> dict[str, Outcome]:
    """Carry out all runs of a plan that are not kept, several at a time.

    A failed run does not stop the others; an earlier failed one is tried again.

    Args:
        plan: in the order to run.
        kept: see :func:`kept_outcomes`.
        backend: where.
        directory: locked by the caller; the plan is already written there.
        jobs: how many runs at a time.
        observer: told of every run.

    Returns:
        The outcome of each run by name.

    Raises:
        BackendError: before anything runs, when the backend refuses a job.
        Interrupted: on Ctrl-C.
    """
    directory.discard_partials()
    pending = [planned for planned in plan if planned.run not in kept]
    outcomes = dict(kept)
    for planned in plan:
        if planned.run in kept:
            observer.finished(planned, kept[planned.run].status, resumed=True)
    if pending:
        jobs = min(jobs, len(pending))
        check(pending, backend, directory, jobs)
        _work(pending, outcomes, backend, directory, jobs, observer)
    return outcomes


def check(
    pending: Sequence[PlannedRun], backend: Backend, directory: RunDirectory, jobs: int
) -> None:
    """Refuse what cannot work before any of it runs."""
    backend.check(jobs)
    for planned in pending:
        reason = backend.refuse(planned.job)
        if reason is not None:
            raise BackendError(f"the {backend.name} backend cannot do {planned.run}: {reason}")
    free_bytes = shutil.disk_usage(directory.path).free
    if free_bytes < FREE_DISK_BYTES:
        raise RunDirectoryError(
            f"{directory.path} is on a disk with {free_bytes >> 20} MiB left:"
            " make room, or choose another place with --out DIR"
        )


def _work(
    pending: Sequence[PlannedRun],
    outcomes: dict[str, Outcome],
    backend: Backend,
    directory: RunDirectory,
    jobs: int,
    observer: Observer,
) -> None:
    """Carry out runs in as many threads as go side by side, and add their outcomes."""
    stopping = threading.Event()
    planned = len(outcomes) + len(pending)
    queued: queue.SimpleQueue[PlannedRun] = queue.SimpleQueue()
    for run in pending:
        queued.put(run)

    def worker(slot: int) -> None:
        while not stopping.is_set():
            try:
                run = queued.get_nowait()
            except queue.Empty:
                return
            observer.started(run)
            outcome = run_job(
                backend,
                run.job,
                directory.begin(run.run),
                slot=slot,
                on_progress=partial(observer.progressed, run),
            )
            if stopping.is_set():
                return  # it ended because we killed it: not a result
            directory.finish(run.run, outcome.status)
            outcomes[run.run] = outcome
            observer.finished(run, outcome.status, resumed=False)

    with ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="netwarp-run") as pool:
        try:
            _wait_for_all([pool.submit(worker, slot) for slot in range(jobs)])
        except BaseException as error:
            stopping.set()
            backend.stop()
            if isinstance(error, KeyboardInterrupt):
                raise Interrupted(finished=len(outcomes), planned=planned) from None
            if isinstance(error, OSError):
                raise NetwarpError(
                    f"cannot keep runs in {directory.path}: {error.strerror}; {len(outcomes)} of"
                    f" {planned} are kept: mend that, and the same command goes on from there"
                ) from None
            raise


def _wait_for_all(workers: Sequence[Future[None]]) -> None:
    """Wait until all have ended, or raise what one of them raised.

    Ctrl-C has to get through here. Importing polars (2.1.0) replaces Python's SIGINT handler by one
    with SA_RESTART, after which a wait for a lock is never given up for a signal: hence the
    time-out. And a KeyboardInterrupt in the midst of `concurrent.futures.wait` can leave a lock
    released twice: hence a queue, which waits in C.
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
