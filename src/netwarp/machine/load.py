"""How much of this machine's CPUs other work took: in real time that is in every number."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

STAT = Path("/proc/stat")
DISTURBING = 0.05
"""Share of the CPUs that other work may take before real-time results are worth a warning."""


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


def others_share(before: CpuTimes, after: CpuTimes) -> float:
    """Give the share of the CPUs' time between two readings that other work took."""
    busy_s = after.busy_s - before.busy_s
    all_s = busy_s + after.idle_s - before.idle_s
    own_s = after.own_s - before.own_s
    return max(0.0, busy_s - own_s) / all_s if all_s > 0 else 0.0


def warning(share: float | None) -> str | None:
    """Say that a machine was not idle; None where it was, or nothing is known."""
    if share is None or share <= DISTURBING:
        return None
    return (
        f"other work took {100 * share:.0f} % of this machine's CPUs while these runs went on, and"
        " in real time that is in the numbers: do it again on an idle machine"
    )
