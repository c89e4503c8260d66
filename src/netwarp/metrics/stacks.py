"""Counters of the sender's stack over the connections of the run's last transfer, and CPU times."""

from functools import partial

from netwarp.measure.metric import SHORTER, Metric
from netwarp.measure.run_records import RunRecords, total
from netwarp.measure.select import SIDES, connections
from netwarp.transports import TRANSPORTS
from netwarp.units import seconds
from netwarp.wire import Connection, Side

_CPU = "in its own code and in the kernel's; real time only"


def _counted(run: RunRecords, counter: str) -> int | None:
    """Return a counter of all connections together; None if a server's end that a client which
    moved has abandoned was never closed, and so is not counted.
    """
    if run.given_up and len(run.sender_stats) < len(connections(run.measured, "client")):
        return None
    return total(getattr(each, counter) for each in run.sender_stats)


def _seconds(run: RunRecords, counter: str) -> float | None:
    return seconds(_counted(run, counter))


def _cpu_s(run: RunRecords, side: Side) -> float | None:
    return seconds(run.cpu_ns(side))


def _cpu_per_byte_ns(run: RunRecords, sides: tuple[Side, ...]) -> float | None:
    cpu_ns = total(run.cpu_ns(side) for side in sides)
    content_bytes = run.whole_content_bytes  # 0 for a flow and for programs
    return cpu_ns / content_bytes if cpu_ns is not None and content_bytes else None


def _plain_tcp_connections(run: RunRecords) -> float | None:
    kind = run.job.only.transport.kind
    if TRANSPORTS[kind].second_path != "needed":
        return None
    dialled = [each for each in run.of_kind(Connection) if each.side == "client"]
    return sum(each.settings.transport != kind for each in dialled)


STACK_METRICS = (
    Metric(
        "retransmitted_packets", "packets", "lower", "Retransmitted packets",
        "As the sender's stack counts them. Missing, as all its counters, where a client that moved"
        " left connections behind whose ends at the server were never closed.", "connection",
        partial(_counted, counter="retransmitted_packets"),
        head="retransm.", in_report=True,
    ),
    Metric(
        "busy_s", "s", "neither", "Busy", "Time in which the sender had something to send.",
        "connection", partial(_seconds, counter="busy_ns"), SHORTER,
    ),
    Metric(
        "receive_window_limited_s", "s", "neither", "Receive window limited",
        "Of it, held back by the peer's window.", "connection",
        partial(_seconds, counter="receive_window_limited_ns"), SHORTER,
    ),
    Metric(
        "send_buffer_limited_s", "s", "neither", "Send buffer limited",
        "Of it, held back by the send buffer.", "connection",
        partial(_seconds, counter="send_buffer_limited_ns"), SHORTER,
    ),
    Metric(
        "plain_tcp_connections", "count", "neither", "Connections that are plain TCP",
        "Of MPTCP: connections that fell back, as they do where the first segments are lost or come"
        " late (RFC 8684, section 3.7); all transfers of the run.",
        "connection", _plain_tcp_connections, head="plain TCP", in_report=True,
    ),
)  # fmt: skip

CPU_METRICS = (
    *(
        entry
        for side in SIDES
        for entry in (
            Metric(
                f"cpu_{side}_s", "s", "lower", f"CPU time, {side}",
                f"CPU time of the {side}'s process, {_CPU}.", "usage", partial(_cpu_s, side=side),
            ),
            Metric(
                f"cpu_per_byte_{side}_ns", "ns", "lower", f"CPU time per byte, {side}",
                f"CPU time of the {side}'s process, {_CPU}, for each content byte.", "usage",
                partial(_cpu_per_byte_ns, sides=(side,)), in_report=True,
            ),
        )
    ),
    Metric(
        "cpu_per_byte_ns", "ns", "lower", "CPU time per byte, both sides",
        f"CPU time of both processes, {_CPU}, for each content byte.", "usage",
        partial(_cpu_per_byte_ns, sides=SIDES),
    ),
)  # fmt: skip
