"""Checks whether a run's records show what its job asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netwarp.measure.select import connections, of_kind
from netwarp.metrics.competing import workload_views
from netwarp.transports import is_simulated
from netwarp.wire import Calibration, End, Failure, GaveUp
from netwarp.workloads import workload_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netwarp.wire import Job, Record


def failure_from_records(job: Job, records: Sequence[Record]) -> Failure | None:
    """Return the reason why a run failed; None if everything that its job asks for was done.

    The job's workload determines what is checked.
    """
    end = records[-1] if records else None
    if not isinstance(end, End):
        return Failure(stage="endpoint", message="the records stop before the run's end")
    if end.failure is not None:
        return end.failure
    # The job of a view is of one workload alone: it has no network, and so no NAT.
    may_be_reset = _translates(job)
    views = workload_views(job, records)
    if not views:
        return _failure_of_workload(job, records, may_be_reset=may_be_reset)
    for view in views:
        failure = _failure_of_workload(view.job, view.records, may_be_reset=may_be_reset)
        if failure is not None:
            return failure.model_copy(update={"message": f"{view.name}: {failure.message}"})
    return None


def _failure_of_workload(
    job: Job, records: Sequence[Record], *, may_be_reset: bool
) -> Failure | None:
    gave_up = of_kind(records, GaveUp)
    if gave_up and (_lost_something(records) or _corrupts(job) or may_be_reset):
        return None  # This is a result: metrics of what could not arrive are missing.
    if gave_up:
        cause = f"{gave_up[0].cause}, on a path that delivered all packets"
        return Failure(stage=gave_up[0].side, message=cause)
    workload = workload_of(job)
    message = workload.difference(job, records)
    if message is not None:
        return Failure(stage="verify", message=message)
    is_real = not is_simulated(job.only.transport.model)
    connects = workload.dials(job) and is_real and not workload.may_end_unconnected(job)
    if connects and not connections(records, "client"):
        return Failure(stage="client", message="the client recorded no connection")
    return None


def _corrupts(job: Job) -> bool:
    """Return whether the path can corrupt packets so that the receiver drops them because of their
    checksum; no counter includes these drops.
    """
    return any(each.corrupt_ratio > 0 for path in job.paths for each in (path.down, path.up))


def _translates(job: Job) -> bool:
    """Return whether a router with NAT can forget a connection, which the peer's kernel then resets
    although every packet was delivered.
    """
    return job.network is not None and bool(job.network.nats)


def _lost_something(records: Sequence[Record]) -> bool:
    return any(
        each.delivered_packets < each.offered_packets for each in of_kind(records, Calibration)
    )
