"""What is measured: the metrics' names, and how each is computed from a run's records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netwarp.metrics.bulk import bulk_metrics
from netwarp.metrics.path import path_metrics
from netwarp.metrics.registry import METRICS, Metric, Unit
from netwarp.metrics.roaming import roaming_metrics
from netwarp.metrics.stacks import cpu_metrics, stack_metrics
from netwarp.metrics.stream import stream_metrics
from netwarp.metrics.verdict import failure_from_records
from netwarp.wire import Stream

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netwarp.wire import Job, Record

__all__ = ["METRICS", "Metric", "Unit", "failure_from_records", "metrics_from_records"]


def metrics_from_records(job: Job, records: Sequence[Record]) -> dict[str, float]:
    """Compute a run's metrics.

    Args:
        job: what was asked.
        records: of a run that succeeded, see :func:`failure_from_records`.

    Returns:
        Values by name, a subset of :data:`METRICS` in its order.

    Raises:
        ValueError: the run failed; a failed run has no metrics.
    """
    failure = failure_from_records(job, records)
    if failure is not None:
        raise ValueError(f"{job.run} failed: {failure.stage}: {failure.message}")
    of_workload = stream_metrics if isinstance(job.workload, Stream) else bulk_metrics
    found = {
        **of_workload(job, records),
        **roaming_metrics(job, records),
        **stack_metrics(job, records),
        **path_metrics(job, records),
        **cpu_metrics(job, records),
    }
    return {name: float(found[name]) for name in METRICS if name in found}
