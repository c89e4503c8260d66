"""What is measured: the metrics' names, and how each is computed from a run's records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netwarp.measure.metric import Metric, Unit
from netwarp.measure.run_records import RunRecords
from netwarp.metrics.registry import MAIN_METRICS, METRICS, metric_named
from netwarp.metrics.verdict import failure_from_records
from netwarp.workloads import WORKLOADS, workload_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netwarp.wire import Job, Record

__all__ = [
    "MAIN_METRICS",
    "METRICS",
    "Metric",
    "Unit",
    "failure_from_records",
    "metric_named",
    "metrics_from_records",
]


def metrics_from_records(job: Job, records: Sequence[Record]) -> dict[str, float]:
    """Compute a run's metrics.

    Args:
        job: what was asked.
        records: of a run that succeeded, see :func:`failure_from_records`.

    Returns:
        Values by name: those that the study itself reads from what programs printed, then a subset
        of :data:`METRICS` in its order.

    Raises:
        ValueError: the run failed; a failed run has no metrics.
    """
    failure = failure_from_records(job, records)
    if failure is not None:
        raise ValueError(f"{job.run} failed: {failure.stage}: {failure.message}")
    workload = workload_of(job)
    run = RunRecords(job, records, workload)
    others = {each for other in WORKLOADS.values() for each in other.metrics} - {*workload.metrics}
    told = {each.record for each in records}
    measured = (
        (each.name, each.measure(run))
        for each in (*workload.own_metrics(job), *METRICS.values())
        if each not in others and told.intersection(each.source.split(", "))
    )
    return {name: float(value) for name, value in measured if value is not None}
