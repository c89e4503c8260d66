"""The share of this machine's CPU time that other processes used, which affects results in real
time.
"""

from netwarp.backends.cpus import CpuTimes

DISTURBING = 0.05
"""Share of CPU time of other processes above which results in real time get a warning."""


def others_share(before: CpuTimes, after: CpuTimes) -> float:
    """Return the share of CPU time that other processes used between two readings."""
    busy_s = after.busy_s - before.busy_s
    all_s = busy_s + after.idle_s - before.idle_s
    own_s = after.own_s - before.own_s
    return max(0.0, busy_s - own_s) / all_s if all_s > 0 else 0.0


def warning(share: float | None) -> str | None:
    """Return the warning that a machine was not idle; None if it was, or if this is unknown."""
    if share is None or share <= DISTURBING:
        return None
    return (
        f"other work took {100 * share:.0f} % of this machine's CPUs while these runs went on, and"
        " in real time that is in the numbers: verdicts on them are provisional and not counted; do"
        " it again on an idle machine"
    )
