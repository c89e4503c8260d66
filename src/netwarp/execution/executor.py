"""Jobs × backend × executor → run directory. Resumes: what has finished is not done again."""

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

# Records, console and figures of a run are small; a disk this full is about to lose something.
FREE_DISK_BYTES = 64 << 20
GoesOn = Callable[[], bool]
"""Says whether another run may begin. Asked from several threads."""


class Interrupted(KeyboardInterrupt):
    """Raised by Ctrl-C while runs go on; what had finished is kept."""

    def __init__(self, finished: int, planned: int) -> None:
        self.finished = finished
        self.planned = planned
        super().__init__(finished, planned)

    def __str__(self) -> str:
        return f"{self.finished} of {self.planned} runs are finished"


@dataclass
class Keeper:
    """Keeps each run of a plan as it ends. Its methods are called from several threads."""

    directory: RunDirectory
    observer: Observer
    goes_on: GoesOn = lambda: True
    outcomes: dict[str, Outcome] = field(default_factory=dict)

    def begin(self, run: PlannedRun) -> Path:
        """Make the directory that a run's files go to while it is not finished."""
        self.observer.started(run)
        return self.directory.begin(run.run)

    def finish(self, run: PlannedRun, outcome: Outcome) -> None:
        """Keep a run that has ended, well or not, and whose files are there."""
        self.directory.finish(run.run, outcome.status)
        self.outcomes[run.run] = outcome
        self.observer.finished(run, outcome.status, resumed=False)


class Executor(Protocol):
    """Whose CPUs carry runs out, and how many runs at a time."""

    name: str

    def at_a_time(self, backend: Backend) -> int:
        """Say how many runs go side by side.

        Raises:
            BackendError: runs of this backend cannot be carried out so.
        """

    def check(self, backend: Backend, runs: int) -> None:
        """Make sure that so many runs can be carried out.

        Raises:
            BackendError: something is missing; the message names it and the remedy.
        """

    def run_all(self, pending: Sequence[PlannedRun], backend: Backend, keeper: Keeper) -> None:
        """Carry out runs, at least one, and hand each to the keeper when it has ended.

        None begins once the keeper's `goes_on` says no.

        Whatever cuts that short, such as Ctrl-C, is raised once no run is under way any more;
        nothing is kept of those that were.
        """


def kept_outcomes(plan: Sequence[PlannedRun], directory: RunDirectory) -> dict[str, Outcome]:
    """Return the runs of a plan that have succeeded before, by name: they need not be done
    again.
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

    A failed run does not stop the others; an earlier failed one is tried again.

    Args:
        plan: in the order to run.
        kept: see :func:`kept_outcomes`.
        backend: where.
        directory: locked by the caller; the plan is already written there.
        executor: on whose CPUs.
        observer: told of every run.
        goes_on: asked before each run; once it says no, those that are left are not begun.

    Returns:
        The outcome of each run that was carried out or kept, by name.

    Raises:
        BackendError: before anything runs, when the backend or the executor refuses a job.
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
    """Refuse what cannot work before any of it runs."""
    refuse_jobs(pending, backend)
    free_bytes = shutil.disk_usage(directory.path).free
    if free_bytes < FREE_DISK_BYTES:
        raise RunDirectoryError(
            f"{directory.path} is on a disk with {free_bytes >> 20} MiB left, and runs begin with"
            f" {FREE_DISK_BYTES >> 20} MiB or more: make room, or choose another place with --out"
            " DIR"
        )


def refuse_jobs(pending: Sequence[PlannedRun], backend: Backend) -> None:
    """Raise BackendError for the first run whose job the backend cannot do."""
    for planned in pending:
        reason = backend.refuse(planned.cell.template, planned.job_sha256)
        if reason is not None:
            raise BackendError(f"the {backend.name} backend cannot do {planned.run}: {reason}")


def _run_all(
    plan: Sequence[PlannedRun],
    pending: Sequence[PlannedRun],
    backend: Backend,
    executor: Executor,
    keeper: Keeper,
) -> None:
    """Carry out runs; where that is cut short, say how many of the plan are kept."""
    try:
        executor.run_all(pending, backend, keeper)
    except (KeyboardInterrupt, OSError) as error:
        # Counted where they are kept: somebody may have removed them meanwhile.
        finished, planned = len(keeper.directory.kept_runs() & {run.run for run in plan}), len(plan)
        if isinstance(error, KeyboardInterrupt):
            raise Interrupted(finished, planned) from None
        raise NetwarpError(
            f"cannot keep runs in {keeper.directory.path}: {error.strerror}; {finished} of"
            f" {planned} are kept: mend that, and the same command goes on from there"
        ) from None
