"""Jobs × backend × executor → run directory. Resumes: what has finished is not done again."""

from __future__ import annotations

import queue
import shutil
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from netwarp.backends.base import Backend
from netwarp.errors import BackendError, NetwarpError, RunDirectoryError
from netwarp.execution.observer import Observer
from netwarp.plan import PlannedRun
from netwarp.run_directory import RunDirectory, Status

# Records, console and figures of a run are small; a disk this full is about to lose something.
FREE_DISK_BYTES = 64 << 20
SIGNALS_EVERY_S = 0.2


class Interrupted(KeyboardInterrupt):
    """Ctrl-C while runs went on: what had finished is kept."""

    def __init__(self, finished: int, planned: int) -> None:
        self.finished = finished
        self.planned = planned
        super().__init__(f"{finished} of {planned} runs are finished")


def execute(
    plan: Sequence[PlannedRun],
    backend: Backend,
    directory: RunDirectory,
    *,
    jobs: int,
    observer: Observer,
) -> dict[str, Status]:
    """Carry out all runs of a plan that have not finished yet, several at a time.

    A failed run does not stop the others; an earlier failed one is tried again.

    Args:
        plan: in the order to run.
        backend: where.
        directory: locked by the caller; the plan is already written there.
        jobs: how many runs at a time.
        observer: told of every run.

    Returns:
        The status of each run by name.

    Raises:
        BackendError: before anything runs, when the backend refuses a job.
        Interrupted: on Ctrl-C.
    """
    check(plan, backend, directory)
    directory.discard_partials()
    statuses: dict[str, Status] = {}
    pending: queue.SimpleQueue[PlannedRun] = queue.SimpleQueue()
    for planned in plan:
        status = directory.status(planned.run)
        if status is not None and status.outcome == "ok":
            statuses[planned.run] = status
            observer.finished(planned, status, resumed=True)
        else:
            pending.put(planned)
    _work(pending, statuses, backend, directory, jobs, observer, planned=len(plan))
    return statuses


def check(plan: Sequence[PlannedRun], backend: Backend, directory: RunDirectory) -> None:
    """Refuse what cannot work before any of it runs."""
    backend.check()
    for planned in plan:
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
    pending: queue.SimpleQueue[PlannedRun],
    statuses: dict[str, Status],
    backend: Backend,
    directory: RunDirectory,
    jobs: int,
    observer: Observer,
    *,
    planned: int,
) -> None:
    stopping = threading.Event()

    def worker(slot: int) -> None:
        while not stopping.is_set():
            try:
                run = pending.get_nowait()
            except queue.Empty:
                return
            status = _run_one(run, backend, directory, slot, observer)
            if stopping.is_set():
                return  # it ended because we killed it: not a result
            directory.finish(run.run, status)
            statuses[run.run] = status
            observer.finished(run, status, resumed=False)

    with ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="netwarp-run") as pool:
        try:
            _wait_for_all([pool.submit(worker, slot) for slot in range(jobs)])
        except BaseException as error:
            stopping.set()
            backend.stop()
            if isinstance(error, KeyboardInterrupt):
                raise Interrupted(finished=len(statuses), planned=planned) from None
            if isinstance(error, OSError):
                raise NetwarpError(
                    f"cannot keep runs in {directory.path}: {error.strerror}; {len(statuses)} of"
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


def _run_one(
    run: PlannedRun, backend: Backend, directory: RunDirectory, slot: int, observer: Observer
) -> Status:
    path = directory.begin(run.run, run.job_json)
    observer.started(run)
    return backend.run(
        run.job,
        path,
        slot=slot,
        on_progress=lambda virtual_s: observer.progressed(run, virtual_s),
    )
