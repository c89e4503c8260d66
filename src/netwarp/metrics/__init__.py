"""The metrics: their names, and how each is computed from a run's records.

Each metric is one entry next to the function that computes it, in `times.py`, `handovers.py`,
`path.py`, `queueing.py`, `limits.py`, `stacks.py`, `second_half.py`, `competing.py` (for several
workloads), or in its workload's folder. `registry.py` combines them, and `verdict.py` checks
whether records support a run's status.

Invariant: a metric that the records do not determine is missing, never 0.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress

from netwarp.measure.metric import Metric, Unit
from netwarp.measure.run_records import RunRecords
from netwarp.metrics.competing import (
    competing_metrics,
    metrics_of_workloads,
    printed_by_workloads,
)
from netwarp.metrics.possible import possible_metrics
from netwarp.metrics.registry import (
    MAIN_METRICS,
    METRICS,
    metric_named,
    workload_and_metric,
)
from netwarp.metrics.times import GAVE_UP
from netwarp.metrics.verdict import failure_from_records
from netwarp.wire import GaveUp, Job, Record
from netwarp.workloads import WORKLOADS, workload_of
from netwarp.workloads.command.printed import NothingPrintedError

__all__ = [
    "MAIN_METRICS",
    "METRICS",
    "Metric",
    "Unit",
    "failure_from_records",
    "metric_named",
    "metrics_from_records",
    "metrics_of_workloads",
    "metrics_until_failure",
    "possible_metrics",
    "printed_by_workloads",
    "workload_and_metric",
]


def metrics_from_records(job: Job, records: Sequence[Record]) -> dict[str, float]:
    """Compute a run's metrics.

    Args:
        job: the run's job.
        records: the records of a run that succeeded, see :func:`failure_from_records`.

    Returns:
        Values by name: metrics that the study itself defines on the output of programs, then a
        subset of :data:`METRICS` in its order. If a run has several workloads, the names of each
            workload's metrics begin with the workload's name.

    Raises:
        ValueError: the run failed; a failed run has no metrics.
    """
    failure = failure_from_records(job, records)
    if failure is not None:
        raise ValueError(f"{job.run} failed: {failure.stage}: {failure.message}")
    if job.names_workloads:
        return _with_values(competing_metrics(job, records))
    workload = workload_of(job)
    run = RunRecords(job, records, workload)
    if run.of_kind(GaveUp):
        # Other records belong to a workload that was not completed.
        return _with_values({GAVE_UP.name: GAVE_UP.measure(run)})
    others = {each for other in WORKLOADS.values() for each in other.metrics} - {*workload.metrics}
    told = {each.record for each in records}
    return _with_values(
        {
            each.name: each.measure(run)
            for each in (*workload.own_metrics(job), *METRICS.values())
            if each not in others and told.intersection(each.source.split(", "))
        }
    )


UNTIL_FAILURE = frozenset({"program", "calibration"})
"""Kinds of records that remain valid if the run fails after they were written."""


def metrics_until_failure(job: Job, records: Sequence[Record]) -> dict[str, float]:
    """Return the metrics that the records of a failed run of programs determine: how long the
    programs that ended had run, what these printed, and the packets on the path until then.

    Args:
        job: the run's job, with the workload of programs alone.
        records: the run's records, as far as they were written.
    """
    workload = workload_of(job)
    run = RunRecords(job, records, workload)
    told = {each.record for each in records}
    measured: dict[str, float | None] = {}
    for metric in (*workload.own_metrics(job), *METRICS.values()):
        kinds = {*metric.source.split(", ")}
        if kinds <= UNTIL_FAILURE and kinds & told:
            with suppress(NothingPrintedError):
                measured[metric.name] = metric.measure(run)
    return _with_values(measured)


def _with_values(measured: Mapping[str, float | None]) -> dict[str, float]:
    return {name: float(value) for name, value in measured.items() if value is not None}
