"""The samples of a network's links as lines over time, for each direction.

Pure: makes lines from a job and its records.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from netwarp.errors import InputError
from netwarp.fields import DIRECTIONS
from netwarp.figures.lines import MOST_POINTS, Line, Point, thinned
from netwarp.figures.over_time.sampled import SampledLine
from netwarp.measure.queueing import queue_delays
from netwarp.measure.rates import constant_rate_bit_s
from netwarp.metrics.links import measured_links
from netwarp.suggestions import did_you_mean
from netwarp.units import NS_PER_S
from netwarp.wire import Direction, Job, QueueSamples, Record

MOST_SHOWN = 4
"""Maximum number of directions of links in the chart of a whole run: those with the longest
queues."""
LEAST_SHOWN = 0.05
"""Minimum queueing delay with which a direction of a link is shown, as a share of the largest one
in the network."""


def link_lines(job: Job, records: Sequence[Record], link: str) -> list[SampledLine]:
    """Return the lines of one link: utilisation (throughput, if the rate is unlimited or changes),
    queueing delay, and packets dropped and marked so far. Lines that are 0 throughout are left out.

    Args:
        job: the run's job.
        records: the run's records.
        link: the link's name, as in metrics: `wan` for `link.wan.packets_down`.

    Raises:
        InputError: the run has no such link, or nothing of the link was sampled.
    """
    samples = list(_samples(records, link_index(job, link)))
    if not samples:
        raise InputError(
            f"--link {link}: its queues were not sampled: it has no rate, or sampling was off"
        )
    found = [line for each in samples for line in _of_direction(job, records, each)]
    return [each for each in found if any(value > 0 for _, value in each.line.points)]


def link_index(job: Job, link: str) -> int:
    """Return the index of a link's path among those of the job.

    Raises:
        InputError: the run has no such link.
    """
    if job.network is None:
        raise InputError(f"--link {link}: the run has one client and one server, and no links")
    labels = [each.label for each in job.network.links]
    if link not in labels:
        remedy = did_you_mean(link, labels)
        raise InputError(f"--link {link}: the network has no link of this name; {remedy}")
    return labels.index(link)


def busiest_lines(job: Job, records: Sequence[Record]) -> list[SampledLine]:
    """Return utilisation and queueing delay of the links of a network whose queues were longest,
    for at most `MOST_SHOWN` directions.
    """
    found = [
        (max(delays.delay_ns, default=0.0), samples)
        for index, _ in measured_links(job)
        for samples in _samples(records, index)
        for delays in [queue_delays(job, records, samples.direction, index)]
    ]
    least_ns = LEAST_SHOWN * max((delay_ns for delay_ns, _ in found), default=0.0)
    longest = sorted(found, key=lambda each: -each[0])[:MOST_SHOWN]
    return [
        line
        for delay_ns, samples in sorted(longest, key=lambda each: (each[1].path, each[1].direction))
        if delay_ns > least_ns
        for line in _of_direction(job, records, samples)[:2]
        if any(value > 0 for _, value in line.line.points)
    ]


def _samples(records: Sequence[Record], index: int) -> Iterator[QueueSamples]:
    of_link = [each for each in records if isinstance(each, QueueSamples) and each.path == index]
    for direction in DIRECTIONS:
        yield from (each for each in of_link if each.direction == direction)


def _of_direction(job: Job, records: Sequence[Record], samples: QueueSamples) -> list[SampledLine]:
    """Return the lines of one direction of a link."""
    where = _direction_name(job, samples.path, samples.direction)
    rate_bit_s, is_constant = constant_rate_bit_s(job, samples.path, samples.direction)
    if rate_bit_s is not None and is_constant:
        carried = (f"Utilisation of {where} (%)", "utilisation (%)")
        busy = _throughput(samples, 100 / rate_bit_s)
    else:
        carried = (f"Throughput of {where} (Mbit/s)", "throughput (Mbit/s)")
        busy = _throughput(samples, 1e-6)
    delays = queue_delays(job, records, samples.direction, samples.path)
    queued = [
        (at_ns / NS_PER_S, delay_ns / 1e6)
        for at_ns, delay_ns in zip(delays.at_ns, delays.delay_ns, strict=True)
    ]
    lines = [
        (*carried, busy),
        (f"Queueing delay at {where} (ms)", "queueing delay (ms)", queued),
        (f"Dropped at {where} (packets so far)", "dropped (packets)",
         _counted(samples, samples.dropped_packets)),
        (f"Marked at {where} (packets so far)", "marked (packets)",
         _counted(samples, samples.marked_packets)),
    ]  # fmt: skip
    return [
        SampledLine(title, readout, Line(thinned(points, MOST_POINTS)))
        for title, readout, points in lines
    ]


def _direction_name(job: Job, index: int, direction: Direction) -> str:
    """Return the name of a link's direction: `wan: left → right`."""
    if job.network is None:
        return direction
    link = job.network.links[index]
    ends = (link.first, link.second) if direction == "up" else (link.second, link.first)
    return " → ".join(ends) if link.name is None else f"{link.name}, {' → '.join(ends)}"


def _throughput(samples: QueueSamples, factor: float) -> list[Point]:
    """Return the bits sent per second between samples, multiplied by a factor."""
    moments = zip(samples.at_ns, samples.sent_bytes, strict=True)
    return [
        (until_ns / NS_PER_S, 8 * (after - before) / (until_ns - since_ns) * NS_PER_S * factor)
        for (since_ns, before), (until_ns, after) in pairwise(moments)
        if until_ns > since_ns
    ]


def _counted(samples: QueueSamples, packets: Sequence[int]) -> list[Point]:
    """Return a packet counter over time."""
    return [
        (at_ns / NS_PER_S, float(number))
        for at_ns, number in zip(samples.at_ns, packets, strict=True)
    ]
