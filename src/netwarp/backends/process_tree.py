"""A process with all that it has started: which there are, their CPU time, and their memory."""

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

PEAK_RSS = re.compile(r"^VmHWM:\s*(\d+) kB$", re.MULTILINE)


def process_tree(pid: int) -> Iterator[int]:
    """List a process and its descendants."""
    yield pid
    yield from descendants(pid)


def descendants(pid: int) -> Iterator[int]:
    """List what a process has started, and what that has; ended ones until they are waited for."""
    for child in children(pid):
        yield from process_tree(child)


def children(pid: int) -> list[int]:
    """List what a process has started, in any of its threads; ended ones until waited for."""
    found = []
    for started in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):  # the thread, or the process, has ended
            found += [int(child) for child in started.read_text().split()]
    return found


def is_alive(pid: int) -> bool:
    """Whether a process has not ended; one that waits for its parent to learn of it has."""
    try:
        return _fields(pid)[0] != "Z"
    except OSError:
        return False


def cpu_ticks(pid: int) -> dict[int, int]:
    """Give the CPU time in ticks of a process and each of its living descendants."""
    ticks = {}
    for each in process_tree(pid):
        with contextlib.suppress(OSError):  # the process ended between two looks
            ticks[each] = sum(_times(each)[:2])
    return ticks


def tree_cpu_s(pid: int) -> float:
    """CPU time of a process, its living descendants and those it has waited for, in seconds."""
    ticks = 0
    for each in process_tree(pid):
        with contextlib.suppress(OSError):  # it ended between two looks
            ticks += sum(_times(each))
    return ticks / os.sysconf("SC_CLK_TCK")


def _times(pid: int) -> list[int]:
    """Read utime, stime, and those of the children that were waited for (proc_pid_stat(5))."""
    return [int(ticks) for ticks in _fields(pid)[11:15]]


def _fields(pid: int) -> list[str]:
    """Read what the kernel tells of a process behind its name, which may hold spaces."""
    return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()


def peak_rss_bytes(pid: int) -> int:
    """Return the largest resident set in bytes that a process or a living descendant has had since
    it executed its program; 0 when all have ended.

    The value of `wait4` (ru_maxrss) is not usable: it survives execve(2), and a child begins with
    the memory of the Python that starts it, several times a guest's.
    """
    largest_bytes = 0
    for each in process_tree(pid):
        with contextlib.suppress(OSError):  # it ended between two looks
            found = PEAK_RSS.search(Path(f"/proc/{each}/status").read_text())
            largest_bytes = max(largest_bytes, int(found[1]) * 1024 if found else 0)
    return largest_bytes
