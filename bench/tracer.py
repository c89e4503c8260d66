"""Counts a run's guest system calls: a tracer in the endpoint's place, as the first process.

The tracer starts the endpoint and stops all that it starts at each system call (ptrace(2)). That
takes no virtual time, so the run is the same and the count is exact. It counts what the two roles
call, from the start of their programs to their ends.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
from collections import Counter
from pathlib import Path

MARK = "system calls of the roles: "
"""Before the counts, by number, on the guest's console."""

PTRACE_TRACEME, PTRACE_PEEKUSER, PTRACE_SYSCALL, PTRACE_SETOPTIONS = 0, 3, 24, 0x4200
OPTIONS = 1 | 2 | 4 | 8 | 16
"""PTRACE_O_TRACESYSGOOD, -FORK, -VFORK, -CLONE and -EXEC."""

CALL_STOP = signal.SIGTRAP | 0x80
EXEC_EVENT = 4
ORIG_RAX = 15 * 8
"""Where struct user has a call's number, on x86-64."""

WALL = 0x40000000
SYS_REBOOT = 169
ROLES = (b"server", b"client")

_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_LIBC.ptrace.restype = ctypes.c_long


def main(endpoint: str, arguments: list[str]) -> None:
    """Run the endpoint as the guest's first process would, counting."""
    first = os.fork()
    if first == 0:
        _LIBC.ptrace(PTRACE_TRACEME, 0, None, None)
        os.kill(os.getpid(), signal.SIGSTOP)
        os.execv(endpoint, [endpoint, *arguments])  # noqa: S606 - there is no shell to want
    os.waitpid(first, 0)
    _LIBC.ptrace(PTRACE_SETOPTIONS, first, None, OPTIONS)
    _LIBC.ptrace(PTRACE_SYSCALL, first, None, None)
    follow()


def follow() -> None:
    """Let everything run, from one system call to the next, until the guest powers off."""
    counts: Counter[int] = Counter()
    roles: dict[int, bool] = {}
    inside: set[int] = set()
    while True:
        task, status = os.waitpid(-1, WALL)
        if not os.WIFSTOPPED(status):
            continue
        stop, event = os.WSTOPSIG(status), status >> 16
        if task not in roles or event == EXEC_EVENT:
            roles[task] = is_role(task)
        if stop != CALL_STOP:
            is_the_tracers = event or stop == signal.SIGSTOP
            _LIBC.ptrace(PTRACE_SYSCALL, task, None, 0 if is_the_tracers else stop)
            continue
        inside ^= {task}
        if task in inside:
            call = _LIBC.ptrace(PTRACE_PEEKUSER, task, ORIG_RAX, None)
            if call == SYS_REBOOT:
                print(MARK + json.dumps(counts), file=sys.stderr, flush=True)
            counts[call] += roles[task]
        _LIBC.ptrace(PTRACE_SYSCALL, task, None, None)


def is_role(task: int) -> bool:
    """Tell whether a task is of one of the two roles."""
    try:
        words = Path(f"/proc/{task}/cmdline").read_bytes().split(b"\0")
    except OSError:  # The endpoint mounts it.
        return False
    return any(role in words for role in ROLES)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
