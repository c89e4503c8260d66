"""A process and its descendants: which ones there are, their CPU time, and their memory."""

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

PEAK_RSS = re.compile(r"^VmHWM:\s*(\d+) kB$", re.MULTILINE)


def process_tree(pid: int) -> Iterator[int]:
    """Yield the IDs of a process and of its descendants."""
    yield pid
    yield from descendants(pid)


def descendants(pid: int) -> Iterator[int]:
    """Yield the process IDs of all descendants, including processes that have ended and have not
    been waited for.
    """
    for child in children(pid):
        yield from process_tree(child)


def children(pid: int) -> list[int]:
    """Return the process IDs of the children that any thread of a process has started, including
    those that have ended and have not been waited for.
    """
    found: list[int] = []
    with contextlib.suppress(OSError):  # the process ended
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):  # the thread ended
                started = (thread / "children").read_text()
                found += [int(child) for child in started.split()]
    return found


def is_alive(pid: int) -> bool:
    """Return whether a process exists and is not a zombie."""
    try:
        return _fields(pid)[0] != "Z"
    except OSError:
        return False


def cpu_ticks(pid: int) -> dict[int, int]:
    """Return the CPU time in ticks of a process and each of its living descendants."""
    ticks = {}
    for each in process_tree(pid):
        with contextlib.suppress(OSError):  # the process ended between two readings
            ticks[each] = sum(_times(each)[:2])
    return ticks


def cpu_s(pid: int) -> float:
    """CPU time of a process and of all its threads, in seconds, without its children's."""
    return sum(_times(pid)[:2]) / os.sysconf("SC_CLK_TCK")


def tree_cpu_s(pid: int) -> float:
    """CPU time of a process, its living descendants and those it has waited for, in seconds."""
    ticks = 0
    for each in process_tree(pid):
        with contextlib.suppress(OSError):  # it ended between two readings
            ticks += sum(_times(each))
    return ticks / os.sysconf("SC_CLK_TCK")


def _times(pid: int) -> list[int]:
    """Return utime, stime, cutime and cstime of a process, in ticks; the last two are of children
    that it has waited for (proc_pid_stat(5)).
    """
    return [int(ticks) for ticks in _fields(pid)[11:15]]


def _fields(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat that follow the process's name, which itself may contain
    spaces.
    """
    return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()


def peak_rss_bytes(pid: int) -> int:
    """Return the largest resident set in bytes that the process or one of its living descendants
    has had since it executed its program; 0 if all have ended.

    The value of `wait4` (ru_maxrss) is not usable: it survives execve(2), and a child begins with
    the memory of the Python that starts it, several times a guest's.
    """
    largest_bytes = 0
    for each in process_tree(pid):
        with contextlib.suppress(OSError):  # it ended between two readings
            found = PEAK_RSS.search(Path(f"/proc/{each}/status").read_text())
            largest_bytes = max(largest_bytes, int(found[1]) * 1024 if found else 0)
    return largest_bytes
