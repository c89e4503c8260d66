"""The flows of a cell's `traffic` workloads in all its runs, for figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netwarp.fields import KeyValueError
from netwarp.metrics import METRICS
from netwarp.results import CellResult
from netwarp.wire import Exchange, FlowTable, OfWorkload, Record
from netwarp.workloads.traffic.flows import CompletedFlow, flows_of_table

if TYPE_CHECKING:
    from netwarp.kept_runs import Kept

SLOWDOWN, TIME = "flow_slowdown_index", "flow_completion_time_s"


def workload_and_metric(metric: str) -> tuple[str | None, str]:
    """Split the name of a metric into its workload's name, None if it has none, and the name of the
    metric itself.
    """
    workload, _, own = metric.rpartition(".")
    return workload or None, own


def refuse_other_metrics(metric: str, key: str, *, beginning: str) -> None:
    """Refuse a metric that is not a metric of the flows of a `traffic` workload.

    Args:
        metric: the name of the metric.
        key: where the study names it.
        beginning: the beginning of the names of metrics that can be shown.

    Raises:
        KeyValueError: refused; the message names `key`.
    """
    _, own = workload_and_metric(metric)
    if not own.startswith(beginning):
        known = [each for each in METRICS if each.startswith(beginning)]
        reason = "not a metric of the flows of a traffic that this figure shows"
        raise KeyValueError(key, metric, reason, f"one of {', '.join(known)}")


def flows_of_cell(cell: CellResult, kept: Kept, metric: str) -> list[CompletedFlow]:
    """Return the flows of the workload that a metric names, from all runs of a cell."""
    workload, _ = workload_and_metric(metric)
    found: list[CompletedFlow] = []
    for run in cell.runs:
        job = kept.job(run.run)
        if job is None:
            continue
        for one in job.workloads:
            if workload in (None, one.group or one.name):
                for table in _tables(one, kept.records(run.run)):
                    found += flows_of_table(job, one, table)
    return found


def _tables(one: Exchange, records: list[Record]) -> list[FlowTable]:
    lines = (
        each.line if isinstance(each, OfWorkload) else each
        for each in records
        if not isinstance(each, OfWorkload) or each.workload == one.name
    )
    return [each for each in lines if isinstance(each, FlowTable)]
