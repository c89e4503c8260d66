"""Properties of runs between two hosts, which runs in a guest do not have: there are two clocks,
the path may change, and packets may arrive early.
"""

from collections.abc import Sequence

from netwarp.measure.select import of_kind
from netwarp.units import ETHERNET_HEADER_BYTES
from netwarp.wire import Job, PathMeasurement, Record

MOST_UNCERTAIN = 0.1
"""Maximum uncertainty (±) of a time, as a share of it, with which the time is reported."""


def clock_uncertainty_ns(records: Sequence[Record]) -> int | None:
    """Return the uncertainty (±) of times by the server's clock in ns; None if there is one
    clock.
    """
    bounds = [each.clock_uncertainty_ns for each in of_kind(records, PathMeasurement)]
    known = [each for each in bounds if each is not None]
    return max(known) if known else None


def is_known(span_ns: float, records: Sequence[Record]) -> bool:
    """Return whether the time between two events, by the clocks of two hosts, is certain enough to
    be reported.
    """
    uncertainty_ns = clock_uncertainty_ns(records)
    return uncertainty_ns is None or uncertainty_ns <= MOST_UNCERTAIN * span_ns


def upload_refusal(span_ns: int, records: Sequence[Record]) -> str | None:
    """Return the reason why the time of an upload, which ends by the server's clock, is not
    reported.

    Args:
        span_ns: time from the client's start to the server's last byte.
        records: the run's records.

    Returns:
        The reason; None if the time is reported, as in all runs with one clock.
    """
    if is_known(span_ns, records):
        return None
    uncertainty_ns = clock_uncertainty_ns(records) or 0
    return (
        f"the upload ended {span_ns / 1e6:.2f} ms after its start by the server's clock, which is"
        f" known to ±{uncertainty_ns / 1e6:.2f} ms, and more than {MOST_UNCERTAIN:.0%} is too"
        " uncertain: send more, or the other way"
    )


RTT_SHARE = 0.25
"""Relative change of the median round-trip time above which the path has changed."""
RTT_LEAST_NS = 500_000
"""Minimum change of the round-trip time, in ns, that counts as a change of the path: hosts
themselves vary by up to that much."""
LOST_SHARE = 0.05
"""Difference between the loss ratios of two measurements above which the path has changed."""


def disturbance(before: PathMeasurement, after: PathMeasurement) -> str | None:
    """Return in words what changed between two measurements of a path; None if nothing did."""
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


def early_s(job: Job) -> float:
    """Return by how many seconds full-size packets between two hosts arrive early. It is their
    transmission time on the link, which nothing adds there.

    If packets may overtake others, a shaper enforces the rate and releases each packet when the
    link becomes free. On netwarp's own paths a second stage then adds the packet's transmission
    time; impairments that a host imposes on incoming packets have no such stage (decision 46). 0 if
    netem enforces the rate.
    """
    path = job.paths[0]
    rates = (each.rate_bit_s for each in (path.down, path.up) if each.reorder.ratio > 0)
    frame_bits = (path.mtu_bytes + ETHERNET_HEADER_BYTES) * 8
    return max((frame_bits / rate for rate in rates if rate is not None), default=0.0)
