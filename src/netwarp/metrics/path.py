"""What the paths carried and lost, over the whole run and all paths together."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from netwarp.measure.metric import SHORTER, Metric
from netwarp.measure.run_records import total
from netwarp.units import NS_PER_S

if TYPE_CHECKING:
    from netwarp.measure.run_records import RunRecords
    from netwarp.wire import Direction

_DIRECTIONS: tuple[Direction, Direction] = ("down", "up")
_WORDS = {"down": ("the server", "server to client"), "up": ("the client", "client to server")}


def _counted(run: RunRecords, direction: Direction, counter: str) -> int | None:
    return total(getattr(each, counter) for each in run.calibration(direction))


def _both_directions(run: RunRecords, counter: str) -> float | None:
    return total(_counted(run, direction, counter) for direction in _DIRECTIONS)


def _overflow(run: RunRecords, direction: Direction) -> float | None:
    dropped = _counted(run, direction, "dropped_packets")
    lost = _counted(run, direction, "lost_packets")
    return None if dropped is None or lost is None else dropped - lost


def _loss(run: RunRecords, direction: Direction) -> float | None:
    offered = _counted(run, direction, "offered_packets")
    lost = _counted(run, direction, "lost_packets")
    return lost / offered if offered and lost is not None else None


def _rate_bit_s(run: RunRecords, direction: Direction) -> float | None:
    start_ns, end_ns = run.whole_span_ns
    delivered_bytes = _counted(run, direction, "delivered_bytes")
    if delivered_bytes is None or end_ns == start_ns:
        return None
    return 8 * delivered_bytes * NS_PER_S / (end_ns - start_ns)


def _min_rtt_s(run: RunRecords) -> float | None:
    return min(run.probed_rtts_ns) / NS_PER_S if run.probed_rtts_ns else None


def _of_direction(direction: Direction) -> tuple[Metric, ...]:
    sender, way = _WORDS[direction]
    offered = partial(_counted, direction=direction, counter="offered_packets")
    return (
        Metric(
            f"wire_packets_{direction}", "packets", "lower", f"Packets on the wire, {way}",
            f"Packets {sender} put on the wire, before any loss.", "calibration", offered,
        ),
        Metric(
            f"wire_bytes_{direction}", "B", "lower", f"Bytes on the wire, {way}",
            f"Their bytes, Ethernet headers included, {way}.", "calibration",
            partial(_counted, direction=direction, counter="offered_bytes"),
        ),
        Metric(
            f"path_packets_{direction}", "packets", "neither", f"Packets offered, {way}",
            f"Offered to the path, {way}.", "calibration", offered,
        ),
        Metric(
            f"path_dropped_{direction}", "packets", "neither", f"Packets dropped, {way}",
            f"Packets the path dropped, at random or for a full queue, {way}.", "calibration",
            partial(_counted, direction=direction, counter="dropped_packets"),
        ),
        Metric(
            f"path_overflow_{direction}", "packets", "neither",
            f"Packets dropped by a full queue, {way}", f"Of them, for a full queue, {way}.",
            "calibration", partial(_overflow, direction=direction),
        ),
        Metric(
            f"path_loss_{direction}", "ratio", "neither", f"Loss of the path, {way}",
            f"Packets lost at random, the loss asked for, of those offered, {way}.", "calibration",
            partial(_loss, direction=direction),
        ),
        Metric(
            f"path_rate_{direction}_bit_s", "bit/s", "neither", f"Rate of the path, {way}",
            f"Delivered frames' bits per second, from connect until the last byte, {way}.",
            "calibration", partial(_rate_bit_s, direction=direction),
        ),
    )  # fmt: skip


PATH_METRICS = (
    *_of_direction("down"),
    *_of_direction("up"),
    Metric(
        "wire_packets_total", "packets", "lower", "Packets on the wire, both directions",
        "Packets both sides put on the wire, before any loss: the packet volume.", "calibration",
        partial(_both_directions, counter="offered_packets"),
    ),
    Metric(
        "wire_bytes_total", "B", "lower", "Bytes on the wire, both directions",
        "Their bytes, Ethernet headers included.", "calibration",
        partial(_both_directions, counter="offered_bytes"),
    ),
    Metric(
        "path_min_rtt_s", "s", "neither", "Smallest RTT of the path",
        "Smallest round-trip time of the idle path, probed after the workload.", "probe",
        _min_rtt_s, SHORTER,
    ),
)  # fmt: skip
