"""The goodput of each of several workloads over time, from job and records. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from netwarp.measure.sharing import Arrived
from netwarp.metrics.competing import workload_views
from netwarp.units import NS_PER_S
from netwarp.wire import Goodput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netwarp.figures.lines import Point
    from netwarp.wire import Job, Record

STEPS = 150
"""Number of steps in a chart; with more, single bursts would hide the rates."""
SHORTEST_STEP_NS = NS_PER_S // 10


@dataclass(frozen=True)
class WorkloadGoodput:
    """The goodput of one workload over time."""

    name: str
    mbit_s: list[Point]
    """Goodput in Mbit/s as a step line: each value holds until the next."""


def workload_goodputs(job: Job, records: Sequence[Record], end_ns: int) -> list[WorkloadGoodput]:
    """Give the goodput of each workload with content, in common steps of time."""
    step_ns = max(end_ns // STEPS, SHORTEST_STEP_NS)
    starts_ns = range(0, max(end_ns, 1), step_ns)
    found = []
    for view in workload_views(job, records):
        for goodput in view.run.of_kind(Goodput):
            arrived = Arrived.of(goodput)
            points = [
                (at_ns / NS_PER_S, 8e3 * arrived.between(at_ns, at_ns + step_ns) / step_ns)
                for at_ns in starts_ns
            ]
            found.append(WorkloadGoodput(view.name, points))
    return found
