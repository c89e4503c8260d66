"""Points of throughput and queueing delay of a workload that shares a path, for its performance
envelope.
"""

from __future__ import annotations

from collections.abc import Sequence

from netwarp.measure.envelope import KEPT_SHARE, WINDOW_RTTS, Point
from netwarp.measure.queueing import queue_delays
from netwarp.measure.sharing import Arrived
from netwarp.metrics.competing import workload_views
from netwarp.units import NS_PER_MS, NS_PER_S
from netwarp.wire import Goodput, Job, Record

_BITS_PER_MBIT = 1_000_000


def envelope_points(job: Job, records: Sequence[Record], workload: str) -> list[Point]:
    """Return a point for each window of ten round-trip times in which a workload and all others
    were active, except for the last twentieth of that time.

    Empty if there is no other workload, if nothing was sampled, or if the workload's content is not
    recorded over time.
    """
    views = workload_views(job, records)
    own = next((view for view in views if view.known_as == workload), None)
    goodput = next(iter(own.run.of_kind(Goodput)), None) if own is not None else None
    if own is None or goodput is None or len(views) < 2:
        return []
    spans = [view.span_ns for view in views]
    since_ns, until_ns = max(since for since, _ in spans), min(until for _, until in spans)
    until_ns = since_ns + int((until_ns - since_ns) * KEPT_SHARE)
    window_ns = WINDOW_RTTS * own.job.paths[0].idle_rtt_ns
    arrived = Arrived.of(goodput)
    queued = queue_delays(own.job, own.records, own.job.direction)
    points = []
    for start_ns in range(since_ns, until_ns - window_ns + 1, window_ns or NS_PER_S):
        span_ns = (start_ns, start_ns + window_ns)
        delays_ns = queued.within(span_ns).delay_ns
        if delays_ns:
            rate_bit_s = 8 * arrived.between(*span_ns) * NS_PER_S / window_ns
            delay_ms = sum(delays_ns) / len(delays_ns) / NS_PER_MS
            points.append(Point(delay_ms, rate_bit_s / _BITS_PER_MBIT))
    return points
