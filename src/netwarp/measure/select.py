"""Selects the records of a run from which a metric is computed."""

from collections.abc import Iterable
from typing import TypeVar

from netwarp.wire import Connection, ConnectionSamples, Job, PathMeasurement, Record, Side, Transfer

T = TypeVar("T")
SIDES: tuple[Side, Side] = ("client", "server")


def of_kind(records: Iterable[Record], kind: type[T]) -> list[T]:
    """Return the records of one kind, in their order."""
    return [record for record in records if isinstance(record, kind)]


def network_alone(records: Iterable[Record]) -> list[PathMeasurement]:
    """Return the measurements of a network between two hosts that were made without the hosts'
    impairments.
    """
    return [each for each in of_kind(records, PathMeasurement) if each.moment != "imposed"]


def of_transfer(records: Iterable[Record], transfer: int) -> list[Record]:
    """Return the connection and transfer records of one of the run's transfers."""
    return [
        record
        for record in records
        if isinstance(record, Connection | Transfer) and record.transfer == transfer
    ]


def connections(records: Iterable[Record], side: Side) -> list[Connection]:
    """Return the connections that one side recorded."""
    return [each for each in of_kind(records, Connection) if each.side == side]


def sampled_together(samples: Iterable[ConnectionSamples], column: str) -> dict[int, list[int]]:
    """Return the values of a column of several connections' samples by their time in ns, in the
    order of time. Connections that do not have the column are left out.
    """
    values: dict[int, list[int]] = {}
    for each in (each for each in samples if getattr(each, column)):
        for at_ns, value in zip(each.at_ns, getattr(each, column), strict=True):
            values.setdefault(at_ns, []).append(value)
    return dict(sorted(values.items()))


def received(job: Job, records: Iterable[Record]) -> list[Transfer]:
    """Return the transfers that the receiver recorded."""
    return [each for each in of_kind(records, Transfer) if each.side == receiver(job)]


def leaves_file(job: Job) -> bool:
    """Return whether programs transfer the content, so that the result is a file, and not a
    transfer record.
    """
    stack = job.only.transport.stack
    return stack is not None and stack.contract == "interop"


def receiver(job: Job) -> Side:
    """Return the side that receives the content."""
    return "client" if job.direction == "down" else "server"


def sender(job: Job) -> Side:
    """Return the side that sends the content."""
    return "server" if job.direction == "down" else "client"


def start_ns(records: Iterable[Record]) -> int:
    """Return when the client first called connect, in ns of the run's clock."""
    return min(connection.start_ns for connection in connections(records, "client"))


def ready_ns(records: Iterable[Record]) -> int:
    """Return when the client's initial connections were ready for application data, in ns of the
    run's clock.

    Each connection that was abandoned because the client moved has a successor. So there are as
    many initial connections as connections that were not abandoned, and the initial ones are the
    first to be ready.
    """
    clients = connections(records, "client")
    at_once = sum(not connection.abandoned for connection in clients)
    in_order = sorted(connection.connected_ns for connection in clients)
    return in_order[max(1, at_once) - 1]
