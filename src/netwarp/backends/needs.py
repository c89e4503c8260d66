"""The requirements of backends on the machine, with a check for each."""

import os
import shutil
import stat
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from netwarp.backends.guest_files import endpoint_version, find_endpoint
from netwarp.errors import BackendError
from netwarp.file_trees import current_umask
from netwarp.regular_files import is_folder
from netwarp.wire import Job
from netwarp.workloads import WORKLOADS, Program, reads_of


@dataclass(frozen=True)
class Machine:
    """The machine on which runs are to be carried out."""

    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    jobs: int = 1
    """Number of runs that are carried out at a time."""


@dataclass(frozen=True)
class Need:
    """A requirement on the machine, with its check."""

    name: str
    check: Callable[[Machine], object]
    """Raises a `BackendError` that names what is missing and the remedy; it is quick, because it
    precedes every execution.
    """
    describe: Callable[[Machine], str]
    """Returns a description of what was found, for `netwarp doctor`; raises as `check` does."""
    optional: bool = False
    """Whether runs are possible without it."""


def require(needs: Iterable[Need], machine: Machine) -> None:
    """Check that the machine has everything that is needed.

    Raises:
        BackendError: the first thing that is missing, with the remedy.
    """
    for need in needs:
        if not need.optional:
            need.check(machine)


def programs(*names: str) -> Need:
    """Return the requirement that these util-linux programs are installed."""

    def check(_: Machine) -> None:
        missing = [name for name in names if shutil.which(name) is None]
        if missing:
            are = "is" if len(missing) == 1 else "are"
            raise BackendError(f"{', '.join(missing)} {are} missing: `apt-get install util-linux`")

    def describe(machine: Machine) -> str:
        check(machine)
        return ", ".join(names)

    return Need("tools", check, describe)


def _describe_tools(_: Machine) -> str:
    names = ("setpriv", "setarch", "taskset")
    missing = [name for name in names if shutil.which(name) is None]
    if missing:
        raise BackendError(
            f"Python stands in for {' and '.join(missing)}, and every run starts some hundredths of"
            " a second later: `apt-get install util-linux`"
        )
    return ", ".join(names)


TOOLS = Need("tools", _describe_tools, _describe_tools, optional=True)
"""The optional requirement that the programs by which others are started (`launching.py`) are
installed."""


def _describe_umask(_: Machine) -> str:
    mask = current_umask()
    if mask & stat.S_IRWXU:
        raise BackendError(
            f"the umask {mask:04o} denies their owner the files that a run makes: `umask 022`"
        )
    return f"{mask:04o}"


UMASK = Need("umask", _describe_umask, _describe_umask)
"""The requirement that the umask leaves new files readable and writable for their owner; otherwise
guests panic.
"""


def _describe_endpoint(machine: Machine) -> str:
    path = find_endpoint(machine.environ)
    return f"netwarp-endpoint {endpoint_version(path)['endpoint']}, {path}"


GUEST_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Directories in which guests look for programs, whatever the user's own PATH is."""


def missing_programs(wanted: Iterable[Program]) -> str | None:
    """Return which of these programs are not installed on this machine, with the remedies; None if
    all are installed.
    """
    lacking = [
        f"{program.name} is not installed: {program.install}"
        for program in wanted
        if _found(program) is None
    ]
    return "; ".join(lacking) or None


def missing_directory(job: Job) -> str | None:
    """Return the message that the directory in which a job's programs start does not exist; None if
    it exists.
    """
    for reads in reads_of(job):
        if reads.directory is not None and not is_folder(Path(reads.directory)):
            return (
                f'workload.directory = "{reads.directory}": there is no such directory; make it,'
                " or name another"
            )
    return None


def _found(program: Program) -> str | None:
    places = (shutil.which(name, path=GUEST_PATH) for name in program.names)
    return next((place for place in places if place is not None), None)


def _describe_programs(_: Machine) -> str:
    wanted = [program for workload in WORKLOADS.values() for program in workload.programs]
    lacking = missing_programs(wanted)
    if lacking is not None:
        raise BackendError(f"{lacking} (for web pages with real browsers and servers)")
    return ", ".join(str(_found(program)) for program in wanted)


PROGRAMS = Need("programs", _describe_programs, _describe_programs, optional=True)
"""The requirement that the programs that workloads name, such as a browser, are installed; few
studies name any."""

ENDPOINT = Need("endpoint", lambda machine: find_endpoint(machine.environ), _describe_endpoint)
"""The requirement that the program `netwarp-endpoint`, which builds paths and moves bytes, is
installed."""
