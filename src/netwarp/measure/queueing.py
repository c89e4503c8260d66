"""Computes queueing delay and round-trip time under load from samples of the routers' queues.

A bottleneck is a queue from which packets are sent at its rate, with a delay line behind or before
it. If one netem has both, a packet that arrives at ``t`` and does not queue leaves at ``t`` plus
the line's delay. So the bytes queued at ``t`` are those that had arrived by ``t``, less those that
have left by ``t`` plus that delay.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from netwarp.units import NS_PER_S
from netwarp.wire import (
    Change,
    Delay,
    Direction,
    Impairments,
    Job,
    QueueSamples,
    Rate,
    Record,
    TimelineEvent,
)


@dataclass(frozen=True)
class Delays:
    """A delay over time: times of the run's clock and delays, both in ns, in order of time."""

    at_ns: tuple[int, ...]
    delay_ns: tuple[float, ...]

    def quantile_ns(self, share: float) -> float | None:
        """Return the delay that is not exceeded for a share of the time; None if there are no
        samples.

        Each sample represents half the time to its neighbours on both sides.
        """
        if not self.at_ns:
            return None
        times = self.at_ns
        edges = [times[0], *((a + b) / 2 for a, b in itertools.pairwise(times)), times[-1]]
        weights = [max(until - since, 1) for since, until in itertools.pairwise(edges)]
        reached, wanted = 0.0, share * sum(weights)
        for delay_ns, weight in sorted(zip(self.delay_ns, weights, strict=True)):
            reached += weight
            if reached >= wanted:
                return delay_ns
        return max(self.delay_ns)

    def within(self, span_ns: tuple[int, int]) -> Delays:
        """Return the samples that were taken within an interval of time."""
        kept = [
            (at_ns, delay_ns)
            for at_ns, delay_ns in zip(self.at_ns, self.delay_ns, strict=True)
            if span_ns[0] <= at_ns <= span_ns[1]
        ]
        return Delays(tuple(at for at, _ in kept), tuple(delay for _, delay in kept))


def queue_samples(
    records: Sequence[Record], direction: Direction, path: int = 0
) -> QueueSamples | None:
    """Return the samples of a bottleneck's queue; None if it was not sampled."""
    found = (
        each
        for each in records
        if isinstance(each, QueueSamples) and (each.path, each.direction) == (path, direction)
    )
    return next(found, None)


def value_at(at_ns: Sequence[int], values: Sequence[float], when_ns: float) -> float:
    """Return a sampled value at a time, interpolated linearly between samples. Before the first
    sample and after the last one, that sample's value is returned.
    """
    place = bisect_right(at_ns, when_ns)
    if place in (0, len(at_ns)):
        return float(values[0 if place == 0 else -1])
    passed = (when_ns - at_ns[place - 1]) / (at_ns[place] - at_ns[place - 1])
    return values[place - 1] + passed * (values[place] - values[place - 1])


def sent_bytes_at(samples: QueueSamples, at_ns: float) -> float:
    """Return the bytes that a bottleneck had sent at a time, as :func:`value_at` has them."""
    return value_at(samples.at_ns, samples.sent_bytes, at_ns)


def queue_delays(
    job: Job, records: Sequence[Record], direction: Direction, path: int = 0
) -> Delays:
    """Return the queueing delay of a packet that arrives at the time of each sample.

    Zero if the rate is unlimited. Empty if the run was not sampled.
    """
    samples = queue_samples(records, direction, path)
    if samples is None:
        return Delays((), ())
    asked: Impairments = getattr(job.paths[path], direction)
    rate, delay = (of(job, records, path, direction) for of in (rate_at, delay_at))
    is_one_qdisc = has_delay_line(asked)
    delays = []
    for index, at_ns in enumerate(samples.at_ns):
        rate_bit_s = rate(at_ns)
        if not rate_bit_s:
            delays.append(0.0)
            continue
        line_ns = delay(at_ns) or 0
        queued = _queued_bytes(samples, index, line_ns) if is_one_qdisc else None
        if queued is None:
            backlog_ns = 8 * samples.backlog_bytes[index] * NS_PER_S / rate_bit_s
            delays.append(max(0.0, backlog_ns - (line_ns if is_one_qdisc else 0)))
        else:
            delays.append(8 * queued * NS_PER_S / rate_bit_s)
    return Delays(samples.at_ns, tuple(delays))


def has_delay_line(impairments: Impairments) -> bool:
    """Return whether one qdisc has the queue and the delay line, so that samples count both."""
    return impairments.shaper_queue_bytes is None and impairments.queue_packets is None


def rate_at(
    job: Job, records: Sequence[Record], path: int, direction: Direction
) -> Callable[[int], int | None]:
    """Return a function from a time in ns to a path's rate in bit/s, which events can change; None
    if the rate is unlimited.
    """
    asked: Impairments = getattr(job.paths[path], direction)
    return _changing(records, path, asked.rate_bit_s, lambda change: _rate_bit_s(change, direction))


def delay_at(
    job: Job, records: Sequence[Record], path: int, direction: Direction
) -> Callable[[int], int | None]:
    """Return a function from a time to a path's delay, both in ns, which events can change."""
    asked: Impairments = getattr(job.paths[path], direction)
    return _changing(records, path, asked.delay_ns, lambda change: _delay_ns(change, direction))


def round_trip_delays(job: Job, records: Sequence[Record], path: int = 0) -> Delays:
    """Return the sum of the queueing delays of both directions over time."""
    down = queue_delays(job, records, "down", path)
    up = queue_delays(job, records, "up", path)
    of_up = dict(zip(up.at_ns, up.delay_ns, strict=True))
    both = (
        delay_ns + of_up.get(at_ns, 0.0)
        for at_ns, delay_ns in zip(down.at_ns, down.delay_ns, strict=True)
    )
    return Delays(down.at_ns, tuple(both))


def rtts_under_load(job: Job, records: Sequence[Record], path: int = 0) -> Delays:
    """Return the path's round-trip time over time, with the queueing delays of both directions.

    Empty in a network of several hosts, in which each pair of hosts has its own round-trip time.
    """
    if job.network is not None:
        return Delays((), ())
    queued = round_trip_delays(job, records, path)
    idle_at = _changing(
        records,
        path,
        job.paths[path].idle_rtt_ns,
        lambda change: change.down_ns + change.up_ns if isinstance(change, Delay) else None,
    )
    rtts = (
        (idle_at(at_ns) or 0) + delay_ns
        for at_ns, delay_ns in zip(queued.at_ns, queued.delay_ns, strict=True)
    )
    return Delays(queued.at_ns, tuple(rtts))


def _queued_bytes(samples: QueueSamples, index: int, line_ns: int) -> float | None:
    """Return the number of bytes that are queued before the delay line; None if no later sample
    determines it.
    """
    at_ns, backlog_bytes = samples.at_ns[index], samples.backlog_bytes[index]
    until_ns = at_ns + line_ns
    later = bisect_right(samples.at_ns, until_ns)
    if later >= len(samples.at_ns):
        return None
    since_ns, next_ns = samples.at_ns[later - 1], samples.at_ns[later]
    since_bytes, next_bytes = samples.sent_bytes[later - 1], samples.sent_bytes[later]
    passed = (until_ns - since_ns) / (next_ns - since_ns)
    left_bytes = since_bytes + passed * (next_bytes - since_bytes) - samples.sent_bytes[index]
    return min(max(0.0, backlog_bytes - left_bytes), float(backlog_bytes))


def _rate_bit_s(change: Change, direction: Direction) -> int | None:
    if isinstance(change, Rate) and change.direction == direction:
        return change.rate_bit_s
    return None


def _delay_ns(change: Change, direction: Direction) -> int | None:
    if not isinstance(change, Delay):
        return None
    return change.down_ns if direction == "down" else change.up_ns


def _changing(
    records: Sequence[Record], path: int, start: int | None, after: Callable[[Change], int | None]
) -> Callable[[int], int | None]:
    """Return a function from a time in ns to a path's value at that time, which events can
    change.
    """
    changes = [(0, start)] + [
        (each.at_ns, value)
        for each in records
        if isinstance(each, TimelineEvent) and each.event.path == path
        if (value := after(each.event.change)) is not None
    ]
    times_ns = [at_ns for at_ns, _ in changes]

    def at(time_ns: int) -> int | None:
        return changes[max(bisect_right(times_ns, time_ns), 1) - 1][1]

    return at
