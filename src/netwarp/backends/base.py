"""The interface of every backend: carry out one job in one directory and report how it ended."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, Self, runtime_checkable

from netwarp.backends.needs import Need
from netwarp.backends.watch import Bounds
from netwarp.errors import BackendError
from netwarp.run_directory import Clock
from netwarp.run_status import Status
from netwarp.wire import Job


class Backend(Protocol):
    """A place where runs are carried out, such as guests or this host's own kernel."""

    name: str
    needs: tuple[Need, ...]
    """What the machine must have, in the order of the checks: `check` refuses to run without it,
    and `netwarp doctor` lists it.
    """
    parallel: bool
    """Whether several runs can be carried out at the same time without disturbing each other."""
    interleaved: bool
    """Whether results drift with time: runs are then carried out in a random order, with the runs
    that are compared next to each other.
    """
    sets_path: bool
    """Whether the backend builds the path that a study asks for; otherwise the path exists already,
    and is measured.
    """
    suffix: str
    """Suffix of the name of a default run directory, by which results of different backends are
    kept apart."""
    cpu_is_free: bool
    """Whether CPU work takes no time on the backend's clock: reports then state what this machine's
    CPU could transfer.
    """

    @property
    def clock(self) -> Clock:
        """The clock that times a backend's runs: the guest's, on which CPU work takes no time, or
        the wall clock.
        """

    def check(self, jobs: int) -> None:
        """Check that the machine can carry out this many runs at the same time.

        Raises:
            BackendError: something is missing; the message names it and the remedy.
        """

    def refuse(self, job: Job, sha256: str) -> str | None:
        """Return the reason why this backend cannot carry out a run; None if it can.

        A job's requirements (`netwarp.wire.asked`) are refused unless the backend lists them
        (`abilities.beyond`).

        Args:
            job: a job of the run's cell, which differs from the run's own job only in name and
                seeds.
            sha256: hash of the run's own job, see :func:`netwarp.wire.job_sha256`.
        """

    def run(
        self, job: Job, directory: Path, *, slot: int, on_progress: Callable[[float], None]
    ) -> Status:
        """Carry out one job.

        Args:
            job: the job, which has already been written to ``directory/job.json``.
            directory: the directory of the run; receives ``records.jsonl`` and ``console.log``.
            slot: index of the parallel slot in which the run is carried out, counted from 0.
            on_progress: called repeatedly during the run, with the run's clock in seconds.

        Returns:
            The status of the run. For a run that fails, it says so; no exception is raised.

        Raises:
            BackendError: `stop` was called, before or during the run.
        """

    def stop(self) -> None:
        """End all runs at once, and let no further one start. Any thread may call this.

        The call of `run` for a run that is ended raises BackendError.
        """

    def provenance(self) -> dict[str, Any]:
        """Versions and hashes of everything that the results depend on, such as kernel and
        endpoint.
        """


@runtime_checkable
class BootsKernels(Protocol):
    """A backend whose jobs may name the guest kernel on which they run."""

    def kernel_provenance(self, name: str) -> dict[str, Any]:
        """Return versions and hashes of the guest kernel of this name.

        Raises:
            BackendError: no kernel of this name is built.
        """


def kernel_provenance(backend: Backend, name: str) -> dict[str, Any]:
    """Return versions and hashes of the guest kernel that a backend finds by this name.

    Raises:
        BackendError: no kernel of this name is built, or the backend boots no kernels by name.
    """
    if not isinstance(backend, BootsKernels):
        raise BackendError(f"kernel {name}: {backend.name} boots no guest kernel by its name")
    return backend.kernel_provenance(name)


class NamedBackend(Backend, Protocol):
    """A backend that the command line and studies open by its name, such as `native`.

    The argument after its name is described in `netwarp.backend_table`; a backend that another
    package adds declares it in its class, as `argument`.
    """

    @classmethod
    def opened(cls, argument: str, bounds: Bounds) -> Self:
        """Open the backend with its argument from the command line.

        Args:
            argument: the text after the backend's name; empty if there is none.
            bounds: the limits beyond which a run is aborted.

        Raises:
            BackendError: the machine lacks something that is needed even to open it.
        """
