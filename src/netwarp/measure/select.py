"""Which of a run's records a metric is made from."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from netwarp.wire import Connection, Job, Record, Side, Transfer

if TYPE_CHECKING:
    from collections.abc import Iterable

T = TypeVar("T")


def of_kind(records: Iterable[Record], kind: type[T]) -> list[T]:
    """Give the records of one kind, in their order."""
    return [record for record in records if isinstance(record, kind)]


def of_transfer(records: Iterable[Record], transfer: int) -> list[Record]:
    """Give connections and transfers of one of the run's transfers."""
    return [
        record
        for record in records
        if isinstance(record, Connection | Transfer) and record.transfer == transfer
    ]


def connections(records: Iterable[Record], side: Side) -> list[Connection]:
    """Give the connections as one side saw them."""
    return [each for each in of_kind(records, Connection) if each.side == side]


def received(job: Job, records: Iterable[Record]) -> list[Transfer]:
    """Give the transfers as the receiver saw them."""
    return [each for each in of_kind(records, Transfer) if each.side == receiver(job)]


def leaves_file(job: Job) -> bool:
    """Say whether programs move the content, so that there is a file in the end and no transfer."""
    stack = job.transport.stack
    return stack is not None and stack.contract == "interop"


def receiver(job: Job) -> Side:
    """Tell which side the content goes to."""
    return "client" if job.direction == "down" else "server"


def sender(job: Job) -> Side:
    """Tell which side the content comes from."""
    return "server" if job.direction == "down" else "client"


def start_ns(records: Iterable[Record]) -> int:
    """When the client first called connect."""
    return min(connection.start_ns for connection in connections(records, "client"))


def ready_ns(records: Iterable[Record]) -> int:
    """When the client's connections were ready for application data for the first time.

    A connection that was given up because the client moved has a successor: so many connections as
    were not given up stood at once, and the first so many to be ready are the first ones.
    """
    clients = connections(records, "client")
    at_once = sum(not connection.abandoned for connection in clients)
    in_order = sorted(connection.connected_ns for connection in clients)
    return in_order[max(1, at_once) - 1]
