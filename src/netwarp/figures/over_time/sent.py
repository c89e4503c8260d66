"""What a sender had sent over time, and what of it was acknowledged, from its samples. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from netwarp.figures.lines import MOST_POINTS
from netwarp.units import NS_PER_S
from netwarp.wire import ConnectionSamples, Job, Record


@dataclass(frozen=True)
class Sent:
    """What the sender's connections had sent at a time, all together."""

    at_s: float
    acked_mb: float
    """Acknowledged, in MB."""
    sent_mb: float
    """Acknowledged or under way, in MB."""
    repeated_packets: int
    """Packets that were sent again since the time before."""


def sent_over_time(job: Job, records: Sequence[Record]) -> tuple[Sent, ...]:
    """Return what was sent and acknowledged, at no more times than a chart shows; empty where no
    samples of a single workload count it, as SCTP's do not.
    """
    if job.names_workloads:
        return ()
    of_time: dict[int, list[int]] = {}
    for each in records:
        if not isinstance(each, ConnectionSamples) or not any(each.acked_bytes):
            continue
        columns = (each.acked_bytes, each.unacked_bytes, each.retrans_packets)
        for at_ns, values in zip(each.at_ns, zip(*columns, strict=True), strict=True):
            of_others = of_time.get(at_ns, [0, 0, 0])
            of_time[at_ns] = [a + b for a, b in zip(of_others, values, strict=True)]
    times = sorted(of_time)
    times = times[:: max(1, -(-len(times) // MOST_POINTS))]
    found = []
    for before, at_ns in pairwise([times[0], *times] if times else []):
        acked, unacked, repeated = of_time[at_ns]
        again = max(0, repeated - of_time[before][2])
        found.append(Sent(at_ns / NS_PER_S, acked / 1e6, (acked + unacked) / 1e6, again))
    return tuple(found)
