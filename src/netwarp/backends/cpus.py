"""The CPUs of this machine: pins each guest to a CPU that no other guest uses, and measures how
busy the CPUs were.
"""

import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

STAT = Path("/proc/stat")

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@contextmanager
def free_cpu(cpus: Sequence[int], slot: int, locks: Path) -> Iterator[int]:
    """Context manager: reserve a CPU while a guest runs on it.

    Two guests on one CPU take twice as long while another CPU idles. So every process that starts a
    guest locks a file for its CPU first. The locks end with their process.

    Args:
        cpus: those this process may use, not empty.
        slot: index of the CPU that is tried first, modulo their number; it is shared if all CPUs
            have guests.
        locks: the directory of the lock files, the same for all processes of this user.

    Yields:
        The CPU's number.
    """
    first = slot % len(cpus)
    for cpu in (*cpus[first:], *cpus[:first]):
        lock = _lock(locks / f"netwarp-{os.getuid()}-cpu{cpu}.lock")
        if lock is not None:
            try:
                yield cpu
            finally:
                os.close(lock)
            return
    yield cpus[first]


def _lock(path: Path) -> int | None:
    """Open a file and lock it, and return its descriptor; None if another process has locked it, or
    if it cannot be opened.
    """
    try:
        file = os.open(path, _FLAGS, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        return None
    return file


@dataclass(frozen=True)
class CpuTimes:
    """CPU time used since the machine started (`busy_s`) and by this process (`own_s`), in seconds,
    summed over all CPUs.
    """

    busy_s: float
    """CPU time of all processes, including time that a hypervisor took away."""
    idle_s: float
    own_s: float
    """CPU time of this process and of its children that have ended."""


def cpu_times(stat: Path = STAT) -> CpuTimes:
    """Return the CPU times of the machine, from /proc/stat, and those of this process (proc(5),
    times(2)).
    """
    ticks = [int(field) for field in stat.read_text().split("\n", 1)[0].split()[1:9]]
    user, nice, system, idle, iowait, irq, softirq, steal = ticks
    per_second = os.sysconf("SC_CLK_TCK")
    busy = user + nice + system + irq + softirq + steal
    return CpuTimes(busy / per_second, (idle + iowait) / per_second, sum(os.times()[:4]))


def busy_share(before: CpuTimes, after: CpuTimes) -> float | None:
    """Return the share of all CPUs' time, from 0 to 1, that was used between two readings; None if
    no time has passed between them.
    """
    busy_s, idle_s = after.busy_s - before.busy_s, after.idle_s - before.idle_s
    return min(1.0, max(0.0, busy_s / (busy_s + idle_s))) if busy_s + idle_s > 0 else None


def cpu_model() -> str:
    """Return the model name of this machine's CPU."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "model name":
            return value.strip()
    return "unknown"
