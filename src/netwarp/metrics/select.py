"""Which of a run's records a metric is made from."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from netwarp.wire import Bulk, Connection, Job, PlayEnd, Player, Record, Segment, Side, Transfer

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

T = TypeVar("T")


def of_kind(records: Iterable[Record], kind: type[T]) -> list[T]:
    """Give the records of one kind, in their order."""
    return [record for record in records if isinstance(record, kind)]


def of_last_transfer(job: Job, records: Iterable[Record]) -> list[Record]:
    """Give connections and transfers of the run's last transfer; a stream is one."""
    last = job.workload.transfers - 1 if isinstance(job.workload, Bulk) else 0
    return [
        record
        for record in records
        if isinstance(record, Connection | Transfer) and record.transfer == last
    ]


def connections(records: Iterable[Record], side: Side) -> list[Connection]:
    """Give the connections as one side saw them."""
    return [each for each in of_kind(records, Connection) if each.side == side]


def received(job: Job, records: Iterable[Record]) -> list[Transfer]:
    """Give the transfers as the receiver saw them."""
    return [each for each in of_kind(records, Transfer) if each.side == receiver(job)]


def receiver(job: Job) -> Side:
    """Tell which side the content goes to."""
    return "client" if job.direction == "down" else "server"


def sender(job: Job) -> Side:
    """Tell which side the content comes from."""
    return "server" if job.direction == "down" else "client"


def content_bytes(job: Job, records: Iterable[Record]) -> int:
    """Count what the receiver has got, in whole transfers or segments."""
    if isinstance(job.workload, Bulk):
        return sum(transfer.bytes for transfer in received(job, records))
    return sum(segment.bytes for segment in of_kind(records, Segment))


def span_ns(job: Job, records: Sequence[Record]) -> tuple[int, int]:
    """From the client's first connect to the receiver's last byte, or until the viewer has enough.

    Closing the connections is not counted.
    """
    start_ns = min(connection.start_ns for connection in connections(records, "client"))
    if isinstance(job.workload, Bulk):
        return start_ns, max(transfer.last_byte_ns for transfer in received(job, records))
    actions = of_kind(records, Player)
    return start_ns, max(each.at_ns for each in actions if isinstance(each.action, PlayEnd))


def ready_ns(records: Iterable[Record]) -> int:
    """When the client's connections were ready for application data for the first time.

    A connection that was given up because the client moved has a successor: so many connections as
    were not given up stood at once, and the first so many to be ready are the first ones.
    """
    clients = connections(records, "client")
    at_once = sum(not connection.abandoned for connection in clients)
    in_order = sorted(connection.connected_ns for connection in clients)
    return in_order[max(1, at_once) - 1]
