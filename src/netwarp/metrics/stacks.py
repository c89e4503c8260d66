"""What the stacks counted, and what the processes cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netwarp.metrics.select import connections, content_bytes, of_kind, of_last_transfer, sender
from netwarp.units import NS_PER_S
from netwarp.wire import Usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from netwarp.wire import Job, Record, Stats


def stack_metrics(job: Job, records: Sequence[Record]) -> dict[str, float]:
    """Compute the sender's counters, over all connections of the run's last transfer."""
    last = of_last_transfer(job, records)
    stats = [connection.stats for connection in connections(last, sender(job))]
    counters = {
        "retransmitted_packets": total(each.retransmitted_packets for each in stats),
        "busy_s": _seconds(stats, "busy_ns"),
        "receive_window_limited_s": _seconds(stats, "receive_window_limited_ns"),
        "send_buffer_limited_s": _seconds(stats, "send_buffer_limited_ns"),
    }
    return {name: value for name, value in counters.items() if value is not None}


def cpu_metrics(job: Job, records: Sequence[Record]) -> dict[str, float]:
    """Compute CPU times; in virtual time there are none."""
    moved_bytes = content_bytes(job, records)
    found: dict[str, float] = {}
    for usage in of_kind(records, Usage):
        cpu_ns = usage.user_ns + usage.system_ns
        found[f"cpu_{usage.side}_s"] = cpu_ns / NS_PER_S
        found[f"cpu_per_byte_{usage.side}_ns"] = cpu_ns / moved_bytes
    return found


def total(values: Iterable[int | None]) -> int | None:
    """Add up; None when nothing was counted, or one of them cannot say."""
    counted = list(values)
    if not counted or None in counted:
        return None
    return sum(value for value in counted if value is not None)


def _seconds(stats: Sequence[Stats], name: str) -> float | None:
    total_ns = total(getattr(each, name) for each in stats)
    return None if total_ns is None else total_ns / NS_PER_S
