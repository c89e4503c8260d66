"""The samples of a run as lines over time: goodput, queueing delay, windows, RTTs.

Pure: a job and its records in, lines out.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from netwarp.figures.lines import MOST_POINTS, Line, thinned
from netwarp.measure.queueing import queue_delays
from netwarp.units import NS_PER_S
from netwarp.wire import ConnectionSamples, QueueSamples

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netwarp.figures.lines import Point
    from netwarp.wire import Job, Record


@dataclass(frozen=True)
class SampledLine:
    """One sampled value of a run over time."""

    title: str
    """Title of its panel, with the unit."""
    readout: str
    """Name of the value in readouts, with the unit."""
    line: Line


def sampled_lines(job: Job, records: Sequence[Record]) -> list[SampledLine]:
    """Make a line for each sampled value, in the order of the chart. Lines that are all 0 are left
    out, and so is the bottleneck's throughput where goodput is known.
    """
    connections = [each for each in records if isinstance(each, ConnectionSamples)]
    queue = queue_delays(job, records, job.direction)
    queued = [
        (at_ns / NS_PER_S, delay_ns / 1e6)
        for at_ns, delay_ns in zip(queue.at_ns, queue.delay_ns, strict=True)
    ]
    counted = any(each.acked_bytes for each in connections)
    of_all = "" if len(connections) < 2 else f", all {len(connections)} connections"
    found = (
        (
            "Throughput of the bottleneck (Mbit/s)",
            "throughput (Mbit/s)",
            [] if counted else _carried_mbit_s(job, records),
        ),
        ("Queueing delay at the bottleneck (ms)", "queueing delay (ms)", queued),
        (
            f"Congestion window (kB{of_all})",
            "congestion window (kB)",
            _summed(connections, "cwnd_bytes", 1e3),
        ),
        (
            f"Smoothed RTT at the sender (ms{', longest' if of_all else ''})",
            "smoothed RTT (ms)",
            _largest(connections, "rtt_ns", 1e6),
        ),
    )
    return [
        SampledLine(title, readout, Line(thinned(points, MOST_POINTS)))
        for title, readout, points in found
        if any(value > 0 for _, value in points)
    ]


def _carried_mbit_s(job: Job, records: Sequence[Record]) -> list[Point]:
    """Give the bottleneck's throughput between samples, headers included, for each step."""
    samples = next(
        (
            each
            for each in records
            if isinstance(each, QueueSamples) and (each.path, each.direction) == (0, job.direction)
        ),
        None,
    )
    if samples is None:
        return []
    moments = zip(samples.at_ns, samples.sent_bytes, strict=True)
    return [
        (until_ns / NS_PER_S, 8 * (after - before) / (until_ns - since_ns) * NS_PER_S / 1e6)
        for (since_ns, before), (until_ns, after) in pairwise(moments)
    ]


def acknowledged_mbit_s(records: Sequence[Record]) -> Line | None:
    """Make a step line of the rate of acknowledged bytes between samples, over all connections."""
    connections = [each for each in records if isinstance(each, ConnectionSamples)]
    summed = _summed(connections, "acked_bytes", 1.0)
    steps = [
        (since_s, max(0.0, 8 * (after - before) / (until_s - since_s) / 1e6))
        for (since_s, before), (until_s, after) in pairwise(summed)
    ]
    return Line([*steps, (summed[-1][0], 0.0)]) if any(value for _, value in steps) else None


def _by_time(connections: Sequence[ConnectionSamples], column: str) -> dict[int, list[int]]:
    values: dict[int, list[int]] = {}
    for each in (each for each in connections if getattr(each, column)):
        for at_ns, value in zip(each.at_ns, getattr(each, column), strict=True):
            values.setdefault(at_ns, []).append(value)
    return dict(sorted(values.items()))


def _summed(connections: Sequence[ConnectionSamples], column: str, unit: float) -> list[Point]:
    by_time = _by_time(connections, column)
    return [(at_ns / NS_PER_S, sum(values) / unit) for at_ns, values in by_time.items()]


def _largest(connections: Sequence[ConnectionSamples], column: str, unit: float) -> list[Point]:
    by_time = _by_time(connections, column)
    return [(at_ns / NS_PER_S, max(values) / unit) for at_ns, values in by_time.items()]
