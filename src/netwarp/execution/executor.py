"""Carries out a plan: runs its jobs on a backend by an executor, and stores the results in a run
directory. An interrupted plan is resumed: finished runs are not repeated. What the operating system
refuses, such as writing a file, ends it with an error.
"""

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from netwarp.backends.base import Backend
from netwarp.errors import BackendError, NetwarpError, RunDirectoryError
from netwarp.execution.observer import Observer
from netwarp.execution.outcome import Outcome, read_outcome
from netwarp.plan import PlannedRun
from netwarp.run_directory import RunDirectory

# Least free space in bytes on the disk: records, console and figures of a run are small, and a
# fuller disk would soon lose some of them.
FREE_DISK_BYTES = 64 << 20
GoesOn = Callable[[], bool]
"""A function that returns whether another run may begin. It is called from several threads."""


class Interrupted(KeyboardInterrupt):
    """Raised on Ctrl-C while runs are under way; finished runs are kept."""

    def __init__(self, finished: int, planned: int) -> None:
        self.finished = finished
        self.planned = planned
        super().__init__(finished, planned)

    def __str__(self) -> str:
        """Return how many runs of the plan are finished."""
        return f"{self.finished} of {self.planned} runs are finished"


@dataclass
class Keeper:
    """Stores the runs of a plan, each when it has ended. Its methods are called from several
    threads.
    """

    directory: RunDirectory
    observer: Observer
    goes_on: GoesOn = lambda: True
    outcomes: dict[str, Outcome] = field(default_factory=dict)

    def begin(self, run: PlannedRun) -> Path:
        """Create the directory for the files of a run that begins."""
        self.observer.started(run)
        return self.directory.begin(run.run)

    def finish(self, run: PlannedRun, outcome: Outcome) -> None:
        """Store the status of a run that has ended, successfully or not, with its files in
        place.
        """
        self.directory.finish(run.run, outcome.status)
        self.outcomes[run.run] = outcome
        self.observer.finished(run, outcome.status, resumed=False)


class Executor(Protocol):
    """Determines on which CPUs runs are carried out, and how many at a time."""

    name: str

    def at_a_time(self, backend: Backend) -> int:
        """Return the number of runs that are carried out at the same time.

        Raises:
            BackendError: runs of this backend cannot be carried out by this executor.
        """

    def check(self, backend: Backend, runs: int) -> None:
        """Check that this many runs can be carried out at a time.

        Raises:
            BackendError: something is missing; the message names it and the remedy.
        """

    def run_all(self, pending: Sequence[PlannedRun], backend: Backend, keeper: Keeper) -> None:
        """Carry out one or more runs, and pass each to the keeper when it has ended.

        No run begins after the keeper's `goes_on` has returned False.

        An exception that ends this early, such as Ctrl-C, is raised once all runs have stopped; the
        runs that it stopped are not kept.
        """


def kept_outcomes(plan: Sequence[PlannedRun], directory: RunDirectory) -> dict[str, Outcome]:
    """Return the outcomes of a plan's runs that succeeded in an earlier execution, by name; they
    are not repeated.
    """
    outcomes = {}
    ended = directory.kept_runs()
    for planned in plan:
        outcome = read_outcome(directory, planned.run) if planned.run in ended else None
        if outcome is not None and not outcome.failed:
            outcomes[planned.run] = outcome
    return outcomes


def execute(
    plan: Sequence[PlannedRun],
    kept: Mapping[str, Outcome],
    backend: Backend,
    directory: RunDirectory,
    *,
    executor: Executor,
    observer: Observer,
    goes_on: GoesOn = lambda: True,
) -> dict[str, Outcome]:
    """Carry out all runs of a plan that are not kept, several at a time.

    A failed run does not stop the others; a run that failed in an earlier execution is repeated.

    Args:
        plan: the runs in the order in which they are carried out.
        kept: outcomes of earlier runs, see :func:`kept_outcomes`.
        backend: the backend that carries out the runs.
        directory: the run directory, which contains the plan and which the caller has locked.
        executor: the executor, which decides on which CPUs runs are carried out.
        observer: notified about every run.
        goes_on: called before each run; once it returns False, the remaining runs are not begun.

    Returns:
        The outcome of each run that was carried out or kept, by name.

    Raises:
        BackendError: raised before anything runs, if the backend or the executor refuses a job.
        Interrupted: on Ctrl-C.
    """
    directory.discard_partials()
    pending = [planned for planned in plan if planned.run not in kept]
    for planned in plan:
        if planned.run in kept:
            observer.finished(planned, kept[planned.run].status, resumed=True)
    keeper = Keeper(directory, observer, goes_on)
    if pending:
        check(pending, backend, directory)
        executor.check(backend, len(pending))
        _run_all(plan, pending, backend, executor, keeper)
    return {**kept, **keeper.outcomes}


def check(pending: Sequence[PlannedRun], backend: Backend, directory: RunDirectory) -> None:
    """Refuse a plan that cannot be carried out, before any run begins."""
    refuse_jobs(pending, backend)
    free_bytes = shutil.disk_usage(directory.path).free
    if free_bytes < FREE_DISK_BYTES:
        raise RunDirectoryError(
            f"{directory.path} is on a disk with {free_bytes >> 20} MiB left, and runs begin with"
            f" {FREE_DISK_BYTES >> 20} MiB or more: make room, or choose another place with --out"
            " DIR"
        )


def refuse_jobs(pending: Sequence[PlannedRun], backend: Backend) -> None:
    """Raise BackendError if the backend cannot carry out the job of a run; the message names the
    first such run.
    """
    for planned in pending:
        reason = backend.refuse(planned.cell.template, planned.job_sha256)
        if reason is not None:
            raise BackendError(f"the {backend.name} backend cannot do {planned.run}: {reason}")


def _refused_text(error: OSError) -> str:
    """Return as text what the operating system refused, and for which files."""
    files = " -> ".join(str(name) for name in (error.filename, error.filename2) if name is not None)
    return f"{files}: {error.strerror}" if files else f"{error.strerror}"


def _run_all(
    plan: Sequence[PlannedRun],
    pending: Sequence[PlannedRun],
    backend: Backend,
    executor: Executor,
    keeper: Keeper,
) -> None:
    """Carry out runs; if that is interrupted, the error says how many runs of the plan are kept."""
    try:
        executor.run_all(pending, backend, keeper)
    except (KeyboardInterrupt, OSError) as error:
        # Count the runs on disk, because somebody may have removed some meanwhile.
        finished, planned = len(keeper.directory.kept_runs() & {run.run for run in plan}), len(plan)
        if isinstance(error, KeyboardInterrupt):
            raise Interrupted(finished, planned) from None
        raise NetwarpError(
            f"cannot keep runs in {keeper.directory.path}: {_refused_text(error)}; {finished} of"
            f" {planned} are kept: mend that, and the same command goes on from there"
        ) from None
