"""What the paths carried and lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netwarp.metrics.select import of_kind, span_ns
from netwarp.metrics.stacks import total
from netwarp.units import NS_PER_S
from netwarp.wire import Calibration, Probe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netwarp.wire import Direction, Job, Record


def path_metrics(job: Job, records: Sequence[Record]) -> dict[str, float]:
    """Compute the paths' counters over the whole run, all paths together."""
    start_ns, end_ns = span_ns(job, records)
    found: dict[str, float] = {}
    directions: tuple[Direction, ...] = ("down", "up")
    for direction in directions:
        counted = [each for each in of_kind(records, Calibration) if each.direction == direction]
        if counted:
            found |= _direction_counters(direction, counted, end_ns - start_ns)
    for unit in ("packets", "bytes"):
        ways = [found.get(f"wire_{unit}_{direction}") for direction in directions]
        if None not in ways:
            found[f"wire_{unit}_total"] = sum(way for way in ways if way is not None)
    probes = of_kind(records, Probe)
    rtts_ns = [each.min_rtt_ns for each in probes if each.min_rtt_ns is not None]
    if rtts_ns:
        found["path_min_rtt_s"] = min(rtts_ns) / NS_PER_S
    return found


def _direction_counters(
    direction: Direction, counted: Sequence[Calibration], duration_ns: int
) -> dict[str, float]:
    offered_packets = sum(each.offered_packets for each in counted)
    dropped_packets = sum(each.dropped_packets for each in counted)
    lost_packets = total(each.lost_packets for each in counted)
    delivered_bits = 8 * sum(each.delivered_bytes for each in counted)
    found: dict[str, float] = {
        f"wire_packets_{direction}": offered_packets,
        f"wire_bytes_{direction}": sum(each.offered_bytes for each in counted),
        f"path_packets_{direction}": offered_packets,
        f"path_dropped_{direction}": dropped_packets,
    }
    if lost_packets is not None:
        found[f"path_overflow_{direction}"] = dropped_packets - lost_packets
        if offered_packets:
            found[f"path_loss_{direction}"] = lost_packets / offered_packets
    if duration_ns:
        found[f"path_rate_{direction}_bit_s"] = delivered_bits * NS_PER_S / duration_ns
    return found
