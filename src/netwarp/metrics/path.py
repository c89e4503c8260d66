"""Metrics of the packets that the paths delivered and lost, over the whole run and all paths
together.
"""

from functools import partial

from netwarp.fields import DIRECTIONS
from netwarp.measure.metric import SHORTER, Metric
from netwarp.measure.run_records import RunRecords, total
from netwarp.measure.select import SIDES
from netwarp.measure.two_hosts import clock_uncertainty_ns, disturbance
from netwarp.units import NS_PER_S, seconds
from netwarp.wire import Direction, PathMeasurement, Side

_WORDS = {"down": ("the server", "server to client"), "up": ("the client", "client to server")}


def _counted(run: RunRecords, direction: Direction, counter: str) -> int | None:
    return total(getattr(each, counter) for each in run.calibration(direction))


def _both_directions(run: RunRecords, counter: str) -> float | None:
    return total(_counted(run, direction, counter) for direction in DIRECTIONS)


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


def _mean_rtt_s(run: RunRecords, quantile: str) -> float | None:
    found = [getattr(each, f"{quantile}_rtt_ns") for each in run.path_measurements]
    known = [each for each in found if each is not None]
    return sum(known) / len(known) / NS_PER_S if known else None


def _busy(run: RunRecords, side: Side) -> float | None:
    found = [getattr(each, f"{side}_busy") for each in run.of_kind(PathMeasurement)]
    return max((each for each in found if each is not None), default=None)


def _probed_loss(run: RunRecords, direction: Direction) -> float | None:
    """Return the loss ratio in one direction over all measurements of a path between two hosts."""
    measured = run.path_measurements
    offered = sum(each.sent if direction == "up" else each.arrived for each in measured)
    came = sum(each.arrived if direction == "up" else each.received for each in measured)
    return 1 - came / offered if offered else None


def _probed_rate_bit_s(run: RunRecords, direction: Direction) -> float | None:
    found = [getattr(each, f"rate_{direction}_bit_s") for each in run.path_measurements]
    return max((each for each in found if each is not None), default=None)


def _disturbed(run: RunRecords) -> float | None:
    found = run.path_measurements
    return float(disturbance(*found) is not None) if len(found) == 2 else None


def _probed(direction: Direction) -> tuple[Metric, ...]:
    _, way = _WORDS[direction]
    return (
        Metric(
            f"probed_loss_{direction}", "ratio", "neither", f"Probes lost, {way}",
            f"Share of the datagrams around the run that were lost, {way}.", "path_measurement",
            partial(_probed_loss, direction=direction),
        ),
        Metric(
            f"probed_rate_{direction}_bit_s", "bit/s", "neither", f"Rate of probes, {way}",
            "Rate at which a train of full packets arrived before the run or after it, the larger:"
            f" the path's is at least about that, {way}.", "path_measurement",
            partial(_probed_rate_bit_s, direction=direction),
        ),
    )  # fmt: skip


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
            f"Packets the path dropped, at random or by its queue, {way}.", "calibration",
            partial(_counted, direction=direction, counter="dropped_packets"),
        ),
        Metric(
            f"path_overflow_{direction}", "packets", "neither",
            f"Packets dropped by the queue, {way}",
            f"Of them, by the queue: full, or early by a discipline such as CoDel, {way}.",
            "calibration", partial(_overflow, direction=direction),
        ),
        Metric(
            f"path_loss_{direction}", "ratio", "neither", f"Loss of the path, {way}",
            f"Packets lost at random or in an outage, of those offered, {way}.", "calibration",
            partial(_loss, direction=direction),
        ),
        Metric(
            f"path_rate_{direction}_bit_s", "bit/s", "neither", f"Rate of the path, {way}",
            f"Delivered frames' bits, those after the last byte too (of segments that a player no"
            f" longer wants, farewells), over the time from connect until that byte, {way}.",
            "calibration", partial(_rate_bit_s, direction=direction),
        ),
    )  # fmt: skip


PATH_MIN_RTT_S = Metric(
    "path_min_rtt_s", "s", "neither", "Smallest RTT of the path",
    "Smallest round-trip time of the idle path, probed after the workload; between two hosts before"
    " it, too.", "probe, path_measurement",
    lambda run: seconds(min(run.probed_rtts_ns, default=None)), SHORTER,
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
    PATH_MIN_RTT_S,
    Metric(
        "path_imposed_rtt_s", "s", "neither", "RTT that the hosts added",
        "Smallest round-trip time between two hosts with what they imposed, less the smallest"
        " without.", "path_measurement", lambda run: seconds(run.imposed_rtt_ns), SHORTER,
    ),
    Metric(
        "path_median_rtt_s", "s", "neither", "Median RTT of the path",
        "Median round-trip time of a path between two hosts, the mean of those before and after"
        " the run.", "path_measurement", partial(_mean_rtt_s, quantile="median"), SHORTER,
    ),
    Metric(
        "path_rtt_s_p90", "s", "neither", "RTT of the path, 90 %",
        "The round-trip time that nine of ten probes of a path between two hosts did not exceed,"
        " the mean of before and after the run.", "path_measurement",
        partial(_mean_rtt_s, quantile="p90"), SHORTER,
    ),
    *_probed("down"),
    *_probed("up"),
    *(
        Metric(
            f"{side}_busy_ratio", "ratio", "neither", f"CPUs in use at the {side}",
            f"Share of the CPU time of the {side}'s host that anybody used while the path was"
            " measured and the run went on, the larger of the two.", "path_measurement",
            partial(_busy, side=side),
        )
        for side in SIDES
    ),
    Metric(
        "clock_uncertainty_s", "s", "lower", "Uncertainty of the server's clock",
        "How far times that the server noted can be off, either way.", "path_measurement",
        lambda run: seconds(clock_uncertainty_ns(run.path_measurements)),
    ),
    Metric(
        "disturbed_ratio", "ratio", "lower", "Disturbed runs",
        "1 where the path was another one after the run than before it, by its round-trip time or"
        " losses; else 0.", "path_measurement", _disturbed,
    ),
)  # fmt: skip
