"""The flows of a workload `traffic`, with completion times and slowdowns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from netwarp.measure.best_times import has_changing_delay, idle_way
from netwarp.measure.run_records import RunRecords
from netwarp.units import NS_PER_S
from netwarp.wire import Exchange, FlowTable, Job

SMALL_BYTES = 100_000
LARGE_BYTES = 10_000_000
"""Largest small flow and smallest large flow, as in pFabric (SIGCOMM 2013, section 5)."""


@dataclass(frozen=True)
class CompletedFlow:
    """A flow that was completed."""

    size_bytes: int
    time_s: float
    """Completion time in s: from when the flow was due until its last byte had arrived."""
    slowdown: float | None
    """Completion time divided by the best possible one; None if there is no single best time,
    because the rate or the delay between the hosts changes, or because there are several paths."""


def completed_flows(run: RunRecords) -> Sequence[CompletedFlow]:
    """Return the flows of a run, in the order in which they were due."""
    return run.computed_once(_completed_flows)


def _completed_flows(run: RunRecords) -> Sequence[CompletedFlow]:
    job = run.of_run or run.job
    tables = run.of_kind(FlowTable)
    return [flow for table in tables for flow in flows_of_table(job, run.job.only, table)]


def flows_of_table(job: Job, exchange: Exchange, table: FlowTable) -> Sequence[CompletedFlow]:
    """Return the completed flows that a workload's record lists.

    Args:
        job: the run's job.
        exchange: the workload.
        table: the workload's record.
    """
    way = None if has_changing_delay(job, exchange) else idle_way(job, exchange)
    columns = zip(table.due_ns, table.size_bytes, table.completed_ns, strict=True)
    flows = []
    for due_ns, size_bytes, completed_ns in columns:
        time_s = (completed_ns - due_ns) / NS_PER_S
        best_s = way.best_s(8 * size_bytes) if way is not None else None
        flows.append(CompletedFlow(size_bytes, time_s, time_s / best_s if best_s else None))
    return flows
