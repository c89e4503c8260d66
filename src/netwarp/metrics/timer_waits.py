"""When a sender waited for a retransmission timer, determined from the samples of one connection.

The kernel's TCP counts recoveries from time-outs from their first expiry on
(`tcp_update_rto_stats`, net/ipv4/tcp_timer.c); the wait before it is assumed to be the shortest
possible one. A sender of any stack waits for its timer if nothing changes for longer than a round
trip although data is unacknowledged, and it then repeats something, be it because of a probe or of
a time-out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile

from netwarp.wire import ConnectionSamples

LINUX_RTO_MIN_NS = 200_000_000
"""Minimum in ns by which TCP's retransmission timeout exceeds the smoothed round-trip time
(`TCP_RTO_MIN`)."""

TICK_NS = 10_000_000
"""Longest timer tick, in ns, of the kernels that runs use."""

Span = tuple[int, int]


def timer_waits(
    samples: ConnectionSamples, *, acks_packets: bool, rto_min_ns: int = LINUX_RTO_MIN_NS
) -> list[Span]:
    """Return the intervals in which the sender waited for its timer, in ns: in order, and without
    overlap.

    Args:
        samples: samples of the sender's end.
        acks_packets: whether each acknowledged packet counts as acknowledged bytes, as in QUIC.
            Then packets that are not acknowledged, such as probes, do not count as a change.
        rto_min_ns: least time by which a timer exceeds the smoothed round-trip time.
    """
    return joined(
        [*_counted(samples, rto_min_ns), *_unchanged_intervals(samples, acks_packets=acks_packets)]
    )


def stood_at_end(samples: ConnectionSamples, *, acks_packets: bool) -> Span | None:
    """Return the interval before the last sample in which nothing changed for longer than a round
    trip, although data was unacknowledged and no new data could be sent; None if there is none.

    What arrives later has been repeated, which no sample shows.
    """
    states, times = _states(samples, acks_packets=acks_packets), samples.at_ns
    same = takewhile(lambda state: state == states[-1], reversed(states))
    first = len(states) - sum(1 for _ in same)
    since_ns = times[first] + samples.rtt_ns[first]
    is_waiting = samples.unacked_bytes[first] and samples.unacked_bytes[-1]
    if not (is_waiting and samples.has_sent_all[-1] and times[-1] > since_ns):
        return None
    return (since_ns, times[-1])


def waits_at_end(samples: ConnectionSamples) -> bool:
    """Return whether the sender was still recovering from a time-out at the last sample, by the
    kernel's counters.
    """
    counted, times = samples.timeout_ns, samples.at_ns
    if len(counted) < 2:
        return False
    step_ns = counted[-1] - counted[-2]
    begun = samples.timeout_recoveries[-1] > samples.timeout_recoveries[-2]
    return step_ns > 0 and (begun or step_ns > times[-1] - times[-2] - TICK_NS)


def joined(spans: Iterable[Span]) -> list[Span]:
    """Return intervals of time in order, in which those that overlap or touch are one."""
    found: list[Span] = []
    for since_ns, until_ns in sorted(spans):
        if found and since_ns <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], until_ns))
        else:
            found.append((since_ns, until_ns))
    return found


def overlap_ns(spans: Sequence[Span], since_ns: int, until_ns: int) -> int:
    """Return how much of the time between two times intervals cover, in ns. The intervals must not
    overlap each other.
    """
    return sum(max(0, min(end, until_ns) - max(start, since_ns)) for start, end in spans)


def _counted(samples: ConnectionSamples, rto_min_ns: int) -> Iterator[Span]:
    """Yield the recoveries that the kernel counted, each with the wait before it. A recovery that
    begins between two samples lasts until the second one; any other begins at the first one.
    """
    times, counted = samples.at_ns, samples.timeout_ns
    for index in range(len(counted) - 1):
        step_ns = min(counted[index + 1] - counted[index], times[index + 1] - times[index])
        begun = samples.timeout_recoveries[index + 1] - samples.timeout_recoveries[index]
        if begun:
            waited_ns = begun * (rto_min_ns + samples.rtt_ns[index])
            start_ns = times[index + 1] - step_ns - waited_ns
            yield (max(times[0], start_ns), times[index + 1])
        elif step_ns:
            yield (times[index], times[index] + step_ns)


def _unchanged_intervals(samples: ConnectionSamples, *, acks_packets: bool) -> Iterator[Span]:
    """Yield the intervals in which nothing changed for longer than a round trip, up to the last
    sample before a retransmission.
    """
    states = _states(samples, acks_packets=acks_packets)
    times, repeated = samples.at_ns, samples.retrans_packets
    first = 0
    for index in range(1, len(times)):
        if states[index] == states[first]:
            continue
        since_ns, until_ns = times[first] + samples.rtt_ns[first], times[index - 1]
        timer_fired = bool(repeated) and repeated[index] > repeated[index - 1]
        if timer_fired and samples.unacked_bytes[first] and until_ns > since_ns:
            yield (since_ns, until_ns)
        first = index


def _states(samples: ConnectionSamples, *, acks_packets: bool) -> list[tuple[int, ...]]:
    """Return the values of each sample that change as long as the sender makes progress."""
    sent = () if acks_packets else (samples.unacked_bytes,)
    columns = (samples.acked_bytes, samples.retrans_packets, samples.cwnd_bytes, *sent)
    return list(zip(*(column for column in columns if column), strict=True))
