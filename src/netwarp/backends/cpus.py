"""The CPUs: which one a guest is pinned to, one that no other guest has; how busy they were."""

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
    """Hold a CPU while a guest runs on it.

    Two guests on one CPU take twice as long while another CPU idles, so whoever starts one, in this
    process or in another, takes a lock file of the CPU first. Locks end with their process.

    Args:
        cpus: those this process may use, not empty.
        slot: which of them is tried first, counted round; it is the one to share when guests have
            all of them.
        locks: a directory that all of this user's processes see.

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
    """Open and lock a file; None when somebody else holds it, or it cannot be opened."""
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
    """What the CPUs have done since the machine started, in seconds over all of them."""

    busy_s: float
    """CPU time of everybody's work, what a hypervisor took away included."""
    idle_s: float
    own_s: float
    """CPU time of this process and of its children that have ended."""


def cpu_times(stat: Path = STAT) -> CpuTimes:
    """Read the machine's CPU times and our own (proc(5), times(2))."""
    ticks = [int(field) for field in stat.read_text().split("\n", 1)[0].split()[1:9]]
    user, nice, system, idle, iowait, irq, softirq, steal = ticks
    per_second = os.sysconf("SC_CLK_TCK")
    busy = user + nice + system + irq + softirq + steal
    return CpuTimes(busy / per_second, (idle + iowait) / per_second, sum(os.times()[:4]))


def busy_share(before: CpuTimes, after: CpuTimes) -> float | None:
    """Return the share of the CPUs' time between two readings that was used; None without time."""
    busy_s, idle_s = after.busy_s - before.busy_s, after.idle_s - before.idle_s
    return min(1.0, max(0.0, busy_s / (busy_s + idle_s))) if busy_s + idle_s > 0 else None


def cpu_model() -> str:
    """Name this machine's CPU."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "model name":
            return value.strip()
    return "unknown"
