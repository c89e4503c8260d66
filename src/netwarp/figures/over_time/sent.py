"""The bytes that a sender had sent over time, and how many of them were acknowledged, from its
samples. Pure.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from netwarp.figures.lines import MOST_POINTS
from netwarp.units import NS_PER_S
from netwarp.wire import ConnectionSamples, Job, Record


@dataclass(frozen=True)
class Sent:
    """The bytes that the sender's connections, all together, had sent at a time, and how many of
    them were acknowledged.
    """

    at_s: float
    acked_mb: float
    """Bytes acknowledged, in MB."""
    sent_mb: float
    """Bytes acknowledged or in flight, in MB."""
    repeated_packets: int
    """Number of packets that were retransmitted since the time of the entry before."""


def sent_over_time(job: Job, records: Sequence[Record]) -> tuple[Sent, ...]:
    """Return the bytes sent and acknowledged over time, at no more times than a chart can show;
    empty if a run has several workloads, or if samples do not count these bytes, as with SCTP.
    """
    if job.names_workloads:
        return ()
    counting = [
        each for each in records if isinstance(each, ConnectionSamples) and any(each.acked_bytes)
    ]
    acked_bytes = counted_so_far([(each.at_ns, each.acked_bytes) for each in counting])
    repeated = counted_so_far([(each.at_ns, each.retrans_packets) for each in counting])
    unacked_bytes: Counter[int] = Counter()
    for each in counting:
        unacked_bytes.update(dict(zip(each.at_ns, each.unacked_bytes, strict=True)))
    times = list(acked_bytes)
    times = times[:: max(1, -(-len(times) // MOST_POINTS))]
    found = []
    for before, at_ns in pairwise([times[0], *times] if times else []):
        acked, unacked = acked_bytes[at_ns], unacked_bytes[at_ns]
        again = max(0, repeated[at_ns] - repeated[before])
        found.append(Sent(at_ns / NS_PER_S, acked / 1e6, (acked + unacked) / 1e6, again))
    return tuple(found)


def counted_so_far(columns: Sequence[tuple[Sequence[int], Sequence[int]]]) -> dict[int, int]:
    """Return the sum of a counter over all connections, for each time at which one was sampled. The
    count of a closed connection stays in the sum.

    Args:
        columns: for each connection: the times in ns of its samples, and the count at each.
    """
    grown: Counter[int] = Counter()
    for at_ns, counts in columns:
        steps = (after - before for before, after in pairwise([0, *counts]))
        grown.update(dict(zip(at_ns, steps, strict=True)))
    times = sorted(grown)
    return dict(zip(times, accumulate(grown[at_ns] for at_ns in times), strict=True))
