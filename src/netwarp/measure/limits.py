"""Attributes a sender's time to what limited it: application, windows, buffers, pacing or link.

The kernel's TCP counts how long a connection had something to send, and how long its peer's window
or its own send buffer held it back (`TCP_INFO`, in ticks of 10 ms). For SCTP and QUIC each sample
represents the time since the one before. For the rest of the time, the limit is the first of these
that applies: the application, if all its data was sent; the link, while packets queue at the
bottleneck; pacing, if the connection paces and its congestion window has room for a packet; the
congestion window.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise
from typing import Literal, get_args

from netwarp.measure.queueing import queue_delays
from netwarp.units import NS_PER_S
from netwarp.wire import Connection, ConnectionSamples, Job, Path, Record

Limit = Literal["application", "rwnd", "sndbuf", "link", "pacing", "cwnd"]
LIMITS: tuple[Limit, ...] = get_args(Limit)


def limited_shares(
    job: Job, records: Sequence[Record], end_ns: int
) -> Mapping[Limit, float] | None:
    """Return the share of a sender's time for each limit; None if no connection was sampled twice.

    Args:
        job: the run's job.
        records: its records.
        end_ns: when the last byte arrived; of an interval between samples the time until then
            counts.
    """
    delays = queue_delays(job, records, job.direction)
    delay_at = dict(zip(delays.at_ns, delays.delay_ns, strict=True))
    path = job.paths[0]
    rate_bit_s = getattr(path, job.direction).rate_bit_s
    packet_ns = 8 * path.mtu_bytes * NS_PER_S / rate_bit_s if rate_bit_s else 0
    queued = {at_ns for at_ns, delay_ns in delay_at.items() if delay_ns > packet_ns}
    paced = any(each.settings.paced for each in records if isinstance(each, Connection))
    spent: dict[Limit, float] = dict.fromkeys(LIMITS, 0.0)
    for each in records:
        if not isinstance(each, ConnectionSamples):
            continue
        for before, after in pairwise(range(len(each.at_ns))):
            lasted_ns = each.at_ns[after] - each.at_ns[before]
            counted = min(1.0, max(0.0, (end_ns - each.at_ns[before]) / max(1, lasted_ns)))
            busy_ns = min(each.busy_ns[after] - each.busy_ns[before], lasted_ns)
            rwnd_ns = min(each.rwnd_limited_ns[after] - each.rwnd_limited_ns[before], busy_ns)
            sndbuf_ns = min(
                each.sndbuf_limited_ns[after] - each.sndbuf_limited_ns[before], busy_ns - rwnd_ns
            )
            spent["application"] += counted * (lasted_ns - busy_ns)
            spent["rwnd"] += counted * rwnd_ns
            spent["sndbuf"] += counted * sndbuf_ns
            for index in (before, after):
                own = _own_limit(each, index, queued=queued, paced=paced, path=path)
                spent[own] += counted * (busy_ns - rwnd_ns - sndbuf_ns) / 2
    whole_ns = sum(spent.values())
    return {limit: spent[limit] / whole_ns for limit in LIMITS} if whole_ns else None


def _own_limit(
    samples: ConnectionSamples, index: int, *, queued: AbstractSet[int], paced: bool, path: Path
) -> Limit:
    """Return the limit of a connection at a sample, if neither the peer's window nor the send
    buffer limited it.

    Args:
        samples: the connection's samples.
        index: index of the sample.
        queued: times at which packets queued at the bottleneck.
        paced: whether the connection paces.
        path: the path that its packets take.
    """
    if samples.has_sent_all[index]:
        return "application"
    if samples.at_ns[index] in queued:
        return "link"
    return "pacing" if paced and has_room(samples, index, path.mtu_bytes) else "cwnd"


def has_room(samples: ConnectionSamples, index: int, mtu_bytes: int) -> bool:
    """Return whether the congestion window had room for another packet when a sample was taken."""
    return samples.unacked_bytes[index] + mtu_bytes <= samples.cwnd_bytes[index]
