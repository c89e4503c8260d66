"""What every backend gives: carry out one job in one directory and say how it went."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, Self

from netwarp.backends.needs import Need
from netwarp.backends.watch import Bounds
from netwarp.run_directory import Clock, Status
from netwarp.wire import Job


class Backend(Protocol):
    """A place where runs happen."""

    name: str
    needs: tuple[Need, ...]
    """What the machine must have, in the order to look: `check` refuses without, doctor tells."""
    parallel: bool
    """Whether runs can go side by side without disturbing each other."""
    interleaved: bool
    """Whether time itself disturbs: runs then go in an order drawn at random, what is compared side
    by side."""
    sets_path: bool
    """Whether it builds the path that a study asks for; else there is one, and it is measured."""
    suffix: str
    """The end of a default run directory's name, so that results of two backends do not mix."""
    cpu_is_free: bool
    """Whether CPU work takes no time on its clock: reports then say what this CPU could carry."""

    @property
    def clock(self) -> Clock:
        """Whose time its numbers tell: the guest's, in which CPU work is free, or the wall's."""

    def check(self, jobs: int) -> None:
        """Make sure that this many runs can go on here at a time.

        Raises:
            BackendError: something is missing; the message names it and the remedy.
        """

    def refuse(self, job: Job, sha256: str) -> str | None:
        """Say why this backend cannot carry out a run, or None when it can.

        What a job asks for (`netwarp.wire.asked`) is refused unless the backend names it
        (`abilities.beyond`).

        Args:
            job: its cell's, which differs from its own in name and seeds alone.
            sha256: hash of its own job, see :func:`netwarp.wire.job_sha256`.
        """

    def run(
        self, job: Job, directory: Path, *, slot: int, on_progress: Callable[[float], None]
    ) -> Status:
        """Carry out one job.

        Args:
            job: already written to ``directory/job.json``.
            directory: the run's own; receives ``records.jsonl`` and ``console.log``.
            slot: which of the parallel places this is, counted from 0.
            on_progress: called now and then with the run's clock in seconds.

        Returns:
            The status. A run that goes wrong is a failed status, not an exception.
        """

    def stop(self) -> None:
        """End all runs under way at once; they become failed ones. From any thread."""

    def provenance(self) -> dict[str, Any]:
        """What the numbers depend on: versions and hashes of kernel and endpoint."""


class NamedBackend(Backend, Protocol):
    """A backend that the command line and studies open by its name.

    What follows its name is in its row of `netwarp.backend_table`; the class of one that a package
    adds says it itself, as `argument`.
    """

    @classmethod
    def opened(cls, argument: str, bounds: Bounds) -> Self:
        """Open the backend as its name and argument on the command line say.

        Args:
            argument: what follows its name; empty where nothing does.
            bounds: when a run is given up.

        Raises:
            BackendError: the machine lacks something without which it cannot even be opened.
        """
