"""Metrics of the running time of programs."""

from netwarp.measure.metric import FASTER, Metric
from netwarp.measure.run_records import RunRecords
from netwarp.units import NS_PER_S
from netwarp.workloads.command.printed import program_of


def _run_time_s(run: RunRecords) -> float | None:
    client = program_of(run.job, run.records, "client")
    return None if client is None else (client.ended_ns - client.started_ns) / NS_PER_S


def _ready_time_s(run: RunRecords) -> float | None:
    server = program_of(run.job, run.records, "server")
    if server is None or server.ready_ns is None:
        return None
    return (server.ready_ns - server.started_ns) / NS_PER_S


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
