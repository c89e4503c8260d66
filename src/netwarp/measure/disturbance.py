"""Detects that a real path changed during a run, from measurements before and after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netwarp.wire import PathMeasurement

RTT_SHARE = 0.25
"""Relative change of the median round-trip time above which the path has changed."""
RTT_LEAST_NS = 500_000
"""Least change of the round-trip time, in ns, that counts: hosts themselves vary by less."""
LOST_SHARE = 0.05
"""Difference between the two measurements' loss ratios above which the path has changed."""


def disturbance(before: PathMeasurement, after: PathMeasurement) -> str | None:
    """Describe what changed between two measurements of a path; None if nothing did."""
    lost = [1 - each.received / each.sent if each.sent else 1.0 for each in (before, after)]
    if abs(lost[0] - lost[1]) > LOST_SHARE:
        return f"{lost[0]:.0%} of its datagrams were lost before the run, {lost[1]:.0%} after it"
    if before.median_rtt_ns is None or after.median_rtt_ns is None:
        return "no datagram came back"
    change_ns = abs(after.median_rtt_ns - before.median_rtt_ns)
    if change_ns > max(RTT_LEAST_NS, RTT_SHARE * before.median_rtt_ns):
        shown = [f"{each / 1e6:.2f} ms" for each in (before.median_rtt_ns, after.median_rtt_ns)]
        return f"its round-trip time was {shown[0]} before the run, {shown[1]} after it"
    return None
