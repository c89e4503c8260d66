"""Metrics of the running time of programs."""

from netwarp.measure.metric import FASTER, Metric
from netwarp.measure.run_records import RunRecords
from netwarp.units import NS_PER_S
from netwarp.wire import Program, Side


def _program(run: RunRecords, side: Side) -> Program:
    (found,) = (each for each in run.of_kind(Program) if each.side == side)
    return found


def _run_time_s(run: RunRecords) -> float:
    client = _program(run, "client")
    return (client.ended_ns - client.started_ns) / NS_PER_S


def _ready_time_s(run: RunRecords) -> float | None:
    server = _program(run, "server")
    return None if server.ready_ns is None else (server.ready_ns - server.started_ns) / NS_PER_S


COMMAND_METRICS = (
    Metric(
        "run_time_s", "s", "lower", "Run time",
        "From the start of the client's program until it has ended.",
        "program", _run_time_s, FASTER, head="run time", in_report=True,
        beside=("wire_bytes_down", "wire_bytes_up", "path_dropped_down"),
    ),
    Metric(
        "ready_time_s", "s", "lower", "Time to readiness",
        "From the start of the server's program until it was ready for the client's.",
        "program", _ready_time_s, FASTER,
    ),
)  # fmt: skip
