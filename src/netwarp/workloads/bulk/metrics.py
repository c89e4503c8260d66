"""Metrics of transfers by programs that implement the interface of the QUIC interop runner."""

from netwarp.measure.metric import FASTER, Metric
from netwarp.measure.run_records import RunRecords
from netwarp.units import NS_PER_S
from netwarp.wire import Download


def _wire_time_s(run: RunRecords) -> float:
    (left,) = run.of_kind(Download)
    return (left.last_packet_ns - left.first_packet_ns) / NS_PER_S


BULK_METRICS = (
    Metric(
        "wire_time_s", "s", "lower", "Time on the wire",
        "From the client's first packet until the last one that reached its host before its program"
        " ended; of programs by the interop runner's contract.",
        "download", _wire_time_s, FASTER,
    ),
)  # fmt: skip
