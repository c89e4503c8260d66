"""The samples of a run as lines over time: goodput, queueing delay, windows, RTTs, shares.

Pure: makes lines from a job and its records.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from netwarp.figures.lines import MOST_POINTS, Line, Point, thinned
from netwarp.figures.over_time.sent import counted_so_far
from netwarp.measure.queueing import queue_delays, queue_samples
from netwarp.measure.select import sampled_together
from netwarp.measure.sharing import Arrived
from netwarp.metrics.competing import workload_views
from netwarp.units import NS_PER_S
from netwarp.wire import ConnectionSamples, Goodput, Job, QueueSamples, Record

STEPS = 150
"""Number of time bins in which the goodput of several workloads is shown; with more, single bursts
would hide the rates."""
SHORTEST_STEP_NS = NS_PER_S // 10
LEAST_STEPS = 20
"""Number of steps of a short run, whose steps are shorter than `SHORTEST_STEP_NS` then, but not
shorter than those that were recorded.
"""


@dataclass(frozen=True)
class SampledLine:
    """A time series of samples of a run, such as a queueing delay, drawn as a line in a panel."""

    title: str
    """Title of the line's panel, with the unit."""
    readout: str
    """Name of the value at the pointer, with the unit."""
    line: Line


def sampled_lines(job: Job, records: Sequence[Record], paths: Sequence[int]) -> list[SampledLine]:
    """Return a line for each sampled value, in the order of the chart. Lines that are 0 throughout
    are left out, and so is the bottleneck's throughput if goodput is known.

    Args:
        job: the run's job.
        records: the run's records.
        paths: indices of the paths whose bottlenecks are shown.
    """
    connections = [each for each in records if isinstance(each, ConnectionSamples)]
    counted = any(each.acked_bytes for each in connections)
    found = []
    for path in paths:
        of_path = f" of path {path + 1}" if len(paths) > 1 else ""
        carried = [] if counted else _carried_mbit_s(job, records, path)
        queued = _queueing_delay_ms(job, records, path)
        found += [
            (f"Throughput of the bottleneck{of_path} (Mbit/s)", "throughput (Mbit/s)", carried),
            (f"Queueing delay at the bottleneck{of_path} (ms)", "queueing delay (ms)", queued),
        ]
    for name, its in _by_workload(job, records) or [("", connections)]:
        of_workload = f" of {name}" if name else ""
        of_all = "" if len(its) < 2 else f", all {len(its)} connections"
        longest = ", longest" if of_all else ""
        found += [
            (
                f"Congestion window{of_workload} (kB{of_all})",
                "congestion window (kB)",
                _joined(its, "cwnd_bytes", 1e3, sum),
            ),
            (
                f"Smoothed RTT at the sender{of_workload} (ms{longest})",
                "smoothed RTT (ms)",
                _joined(its, "rtt_ns", 1e6, max),
            ),
        ]
    return [
        SampledLine(title, readout, Line(thinned(points, MOST_POINTS)))
        for title, readout, points in found
        if any(value > 0 for _, value in points)
    ]


def sampling_intervals_s(records: Sequence[Record]) -> tuple[float, float] | None:
    """Return the shortest and the longest time in s between samples of the bottleneck; None if
    there are fewer than two samples.
    """
    samples = next((each for each in records if isinstance(each, QueueSamples)), None)
    steps = [] if samples is None else [after - at for at, after in pairwise(samples.at_ns)]
    return (min(steps) / NS_PER_S, max(steps) / NS_PER_S) if steps else None


def _by_workload(job: Job, records: Sequence[Record]) -> list[tuple[str, list[ConnectionSamples]]]:
    """Return the samples of each workload's sending connections; empty if there is a single
    workload.
    """
    found: dict[str, list[ConnectionSamples]] = {}
    for view in workload_views(job, records):
        own = [each for each in view.records if isinstance(each, ConnectionSamples)]
        found.setdefault(view.known_as, []).extend(own)
    return list(found.items())


def _queueing_delay_ms(job: Job, records: Sequence[Record], path: int) -> list[Point]:
    delays = queue_delays(job, records, job.direction, path)
    return [
        (at_ns / NS_PER_S, delay_ns / 1e6)
        for at_ns, delay_ns in zip(delays.at_ns, delays.delay_ns, strict=True)
    ]


def _carried_mbit_s(job: Job, records: Sequence[Record], path: int) -> list[Point]:
    """Return the throughput of a path's bottleneck between samples, in Mbit/s, headers included."""
    samples = queue_samples(records, job.direction, path)
    if samples is None:
        return []
    moments = zip(samples.at_ns, samples.sent_bytes, strict=True)
    return [
        (until_ns / NS_PER_S, 8 * (after - before) / (until_ns - since_ns) * NS_PER_S / 1e6)
        for (since_ns, before), (until_ns, after) in pairwise(moments)
    ]


def acknowledged_mbit_s(records: Sequence[Record]) -> Line | None:
    """Return the rate of acknowledged bytes between samples, over all connections, as a step line
    in Mbit/s.
    """
    connections = [each for each in records if isinstance(each, ConnectionSamples)]
    columns = [(each.at_ns, each.acked_bytes) for each in connections if each.acked_bytes]
    summed = [(at_ns / NS_PER_S, acked) for at_ns, acked in counted_so_far(columns).items()]
    steps = [
        (since_s, max(0.0, 8 * (after - before) / (until_s - since_s) / 1e6))
        for (since_s, before), (until_s, after) in pairwise(summed)
    ]
    return Line([*steps, (summed[-1][0], 0.0)]) if any(value for _, value in steps) else None


def _joined(
    connections: Sequence[ConnectionSamples],
    column: str,
    unit: float,
    join: Callable[[Sequence[int]], int],
) -> list[Point]:
    """Return the sum, or another combination, of a sampled value over all connections at each time,
    in a given unit.
    """
    by_time = sampled_together(connections, column)
    return [(at_ns / NS_PER_S, join(values) / unit) for at_ns, values in by_time.items()]


@dataclass(frozen=True)
class WorkloadGoodput:
    """The goodput of one workload over time."""

    name: str
    mbit_s: list[Point]
    """Goodput in Mbit/s as a step line: each value is valid until the next."""


def workload_goodputs(job: Job, records: Sequence[Record], end_ns: int) -> list[WorkloadGoodput]:
    """Return goodput over time for each workload that transfers content, all in the same time bins.
    Workloads to which the study gives one name are summed.
    """
    found: dict[str, list[Arrived]] = {}
    for view in workload_views(job, records):
        for goodput in view.run.of_kind(Goodput):
            found.setdefault(view.known_as, []).append(Arrived.of(goodput))
    recorded_ns = max((each.step_ns for arrived in found.values() for each in arrived), default=1)
    shortest_ns = min(SHORTEST_STEP_NS, max(recorded_ns, end_ns // LEAST_STEPS))
    step_ns = max(end_ns // STEPS, shortest_ns)
    return [WorkloadGoodput(name, _steps(each, step_ns, end_ns)) for name, each in found.items()]


def _steps(arrived: Sequence[Arrived], step_ns: int, end_ns: int) -> list[Point]:
    """Return the rate in Mbit/s at which content arrived, step by step. The last value is repeated
    at the end of its step, without which a step line would not show it.
    """
    starts_ns = range(0, max(end_ns, 1), step_ns)
    rates = [
        8e3 * sum(each.between(at_ns, at_ns + step_ns) for each in arrived) / step_ns
        for at_ns in starts_ns
    ]
    times_s = [at_ns / NS_PER_S for at_ns in (*starts_ns, starts_ns[-1] + step_ns)]
    return list(zip(times_s, [*rates, rates[-1]], strict=True))
