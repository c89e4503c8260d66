"""The flows of a `traffic`, with completion times and slowdowns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from netwarp.measure.run_records import RunRecords
from netwarp.units import NS_PER_S
from netwarp.wire import FlowTable, Job, Rate

SMALL_BYTES = 100_000
LARGE_BYTES = 10_000_000
"""Bounds of small and large flows, those of pFabric (SIGCOMM 2013, section 5)."""


@dataclass(frozen=True)
class CompletedFlow:
    """A flow that was completed."""

    size_bytes: int
    time_s: float
    """Its completion time: from when it was due until its last byte had arrived."""
    slowdown: float | None
    """That time, divided by the best possible one; None where the rate of the path changes."""


def completed_flows(run: RunRecords) -> Sequence[CompletedFlow]:
    """Return the flows of a run, in the order in which they were due."""
    return run.computed_once(_completed_flows)


def _completed_flows(run: RunRecords) -> Sequence[CompletedFlow]:
    return [flow for table in run.of_kind(FlowTable) for flow in flows_of_table(run.job, table)]


def flows_of_table(job: Job, table: FlowTable) -> Sequence[CompletedFlow]:
    """Return the flows of a table.

    Args:
        job: the job of the workload alone, with the path between its two hosts.
        table: its record.
    """
    columns = zip(table.due_ns, table.size_bytes, table.completed_ns, strict=True)
    flows = []
    for due_ns, size_bytes, completed_ns in columns:
        time_s = (completed_ns - due_ns) / NS_PER_S
        best_s = _best_s(job, size_bytes)
        flows.append(CompletedFlow(size_bytes, time_s, time_s / best_s if best_s else None))
    return flows


def _best_s(job: Job, size_bytes: int) -> float | None:
    """Return the best possible completion time on an idle path in s: a round-trip time, and the
    content's bits at the path's rate. None where that changes.
    """
    path = job.paths[0]
    changes = any(isinstance(event.change, Rate) for event in job.timeline.events)
    if changes or job.timeline.traces:
        return None
    rate_bit_s = path.down.rate_bit_s
    sending_s = 8 * size_bytes / rate_bit_s if rate_bit_s else 0.0
    return path.idle_rtt_ns / NS_PER_S + sending_s
