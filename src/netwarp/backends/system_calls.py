"""Tries the system calls that every run needs, before any run starts."""

import ctypes
import errno
import fcntl
from collections.abc import Iterable
from dataclasses import dataclass

from netwarp.backends.needs import Machine, Need
from netwarp.errors import BackendError

INVALID = -1


@dataclass(frozen=True)
class SystemCall:
    """A system call that is tried with invalid arguments, so that it does nothing.

    Attributes:
        name: as in its manual page.
        number: on x86-64.
        arguments: the invalid arguments.
    """

    name: str
    number: int
    arguments: tuple[int, ...]

    def is_missing(self) -> bool:
        """Return whether the kernel does not have the system call, or a filter forbids it, as in a
        container.
        """
        libc = ctypes.CDLL(None, use_errno=True)
        arguments = [ctypes.c_long(each) for each in self.arguments]
        answer: int = libc.syscall(ctypes.c_long(self.number), *arguments)
        return answer == INVALID and ctypes.get_errno() in (errno.ENOSYS, errno.EPERM)


OWN_CALLS = (
    SystemCall("flock", 73, (INVALID, fcntl.LOCK_EX)),
    SystemCall("rename", 82, (0, 0)),
    SystemCall("prctl", 157, (INVALID,)),
    SystemCall("epoll_create1", 291, (INVALID,)),
)
"""The system calls that netwarp itself needs for runs: for locks, for keeping runs, for processes
that end with it, and for waiting."""

GUEST_CALLS = (
    *OWN_CALLS,
    SystemCall("symlink", 88, (0, 0)),
    SystemCall("sched_setaffinity", 203, (0, 0, 0)),
    SystemCall("seccomp", 317, (INVALID, 0, 0)),
)
"""The system calls that netwarp and its guests need."""

CLOSE_RANGE = SystemCall("close_range", 436, (1, 0, 0))
"""The system call that a guest needs if its programs run under seccomp
(arch/um/os-Linux/start_up.c)."""


def missing_calls(calls: Iterable[SystemCall]) -> str | None:
    """Return which of these system calls are missing, with the remedy; None if all are
    available.
    """
    names = [each.name for each in calls if each.is_missing()]
    if not names:
        return None
    lacks = "a system call is missing here" if len(names) == 1 else "system calls are missing here"
    return (
        f"{lacks} that runs need: {', '.join(names)}; boot a newer kernel, or in a container allow"
        " what its filter of system calls forbids (`--security-opt seccomp=unconfined`)"
    )


def system_calls(calls: Iterable[SystemCall]) -> Need:
    """Return the requirement that these system calls are available."""

    def check(_: Machine) -> None:
        missing = missing_calls(calls)
        if missing is not None:
            raise BackendError(missing)

    def describe(machine: Machine) -> str:
        check(machine)
        return ", ".join(each.name for each in calls)

    return Need("system calls", check, describe)
