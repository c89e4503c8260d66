"""What kept the content's sender from sending more, share by share of its connections' time.

The kernel's TCP counts how long a connection had something to send, and how long its peer's window
or its own send buffer held it back (`TCP_INFO`, in ticks of 10 ms). The rest of the time it sent as
much as it thought right: while packets queue at the bottleneck, the link is what limits it; where
none do, its congestion window is, or its pacing if it paces.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, get_args

from netwarp.measure.queueing import queue_delays
from netwarp.units import NS_PER_S
from netwarp.wire import Connection, ConnectionSamples

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from netwarp.wire import Job, Record

Limit = Literal["application", "rwnd", "sndbuf", "link", "pacing", "cwnd"]
LIMITS: tuple[Limit, ...] = get_args(Limit)


def limited_shares(job: Job, records: Sequence[Record]) -> Mapping[Limit, float] | None:
    """Give the share of time that each limit held; None where no connection was sampled twice."""
    delays = queue_delays(job, records, job.direction)
    delay_at = dict(zip(delays.at_ns, delays.delay_ns, strict=True))
    path = job.paths[0]
    rate_bit_s = getattr(path, job.direction).rate_bit_s
    packet_ns = 8 * path.mtu_bytes * NS_PER_S / rate_bit_s if rate_bit_s else 0
    paced = any(each.settings.paced for each in records if isinstance(each, Connection))
    spent: Counter[Limit] = Counter()
    for each in records:
        if not isinstance(each, ConnectionSamples):
            continue
        for before, after in pairwise(range(len(each.at_ns))):
            lasted_ns = each.at_ns[after] - each.at_ns[before]
            busy_ns = min(each.busy_ns[after] - each.busy_ns[before], lasted_ns)
            rwnd_ns = min(each.rwnd_limited_ns[after] - each.rwnd_limited_ns[before], busy_ns)
            sndbuf_ns = min(
                each.sndbuf_limited_ns[after] - each.sndbuf_limited_ns[before], busy_ns - rwnd_ns
            )
            queues = delay_at.get(each.at_ns[after], 0.0) > packet_ns
            own: Limit = "link" if queues else "pacing" if paced else "cwnd"
            spent["application"] += lasted_ns - busy_ns
            spent["rwnd"] += rwnd_ns
            spent["sndbuf"] += sndbuf_ns
            spent[own] += busy_ns - rwnd_ns - sndbuf_ns
    whole_ns = sum(spent.values())
    return {limit: spent[limit] / whole_ns for limit in LIMITS} if whole_ns else None
