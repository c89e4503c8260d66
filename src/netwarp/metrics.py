"""What is measured: the metrics' names, and how each is computed from a run's records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from netwarp.job import Bulk, Heading, Job
from netwarp.record import (
    Calibration,
    Connection,
    End,
    Failure,
    Probe,
    Record,
    Side,
    Stats,
    Transfer,
    Usage,
)
from netwarp.units import NS_PER_S

Unit = Literal["s", "ns", "bit/s", "packets", "B", "ratio"]


@dataclass(frozen=True)
class Metric:
    """A number every run has, if its transport can say it."""

    name: str
    """Stable; ends in its unit, or in the direction it was counted in."""
    unit: Unit
    better: Literal["lower", "higher", "neither"]
    description: str


_WAYS = {"down": ("the server", "server to client"), "up": ("the client", "client to server")}


def _run_metrics() -> Iterator[Metric]:
    start = "From the client's first connect until"
    ready = "all its connections are ready for application data"
    yield Metric("connect_time_s", "s", "lower", f"{start} {ready}.")
    yield Metric("first_byte_s", "s", "lower", f"{start} the receiver has the first content byte.")
    yield Metric("completion_time_s", "s", "lower", f"{start} the receiver has the last one.")
    yield Metric("goodput_bit_s", "bit/s", "higher", "Content bits over the completion time.")
    yield Metric("retransmitted_packets", "packets", "lower", "As the sender's stack counts them.")
    gap = "Longest time without new content at the receiver, in a run with a timeline"
    yield Metric("longest_gap_s", "s", "lower", f"{gap}: after an outage, the fail-over.")


def _path_metrics(heading: Heading) -> Iterator[Metric]:
    sender, way = _WAYS[heading]
    sent = f"Packets {sender} put on the wire, before any loss."
    frames = f"Their bytes, Ethernet headers included, {way}."
    dropped = f"Packets the path dropped, at random or for a full queue, {way}."
    lost = f"Packets lost at random, the loss asked for, of those offered, {way}."
    delivered = f"Delivered frames' bits per second, from connect until the last byte, {way}."
    yield Metric(f"wire_packets_{heading}", "packets", "lower", sent)
    yield Metric(f"wire_bytes_{heading}", "B", "lower", frames)
    yield Metric(f"path_packets_{heading}", "packets", "neither", f"Offered to the path, {way}.")
    yield Metric(f"path_dropped_{heading}", "packets", "neither", dropped)
    yield Metric(
        f"path_overflow_{heading}", "packets", "neither", f"Of them, for a full queue, {way}."
    )
    yield Metric(f"path_loss_{heading}", "ratio", "neither", lost)
    yield Metric(f"path_rate_{heading}_bit_s", "bit/s", "neither", delivered)


def _volume_metrics() -> Iterator[Metric]:
    sent = "Packets both sides put on the wire, before any loss: the packet volume."
    yield Metric("wire_packets_total", "packets", "lower", sent)
    frames = "Their bytes, Ethernet headers included."
    yield Metric("wire_bytes_total", "B", "lower", frames)


def _limit_metrics() -> Iterator[Metric]:
    rtt = "Smallest round-trip time of the idle path, probed after the workload."
    yield Metric("path_min_rtt_s", "s", "neither", rtt)
    yield Metric("busy_s", "s", "neither", "Time in which the sender had something to send.")
    yield Metric(
        "receive_window_limited_s", "s", "neither", "Of it, held back by the peer's window."
    )
    yield Metric("send_buffer_limited_s", "s", "neither", "Of it, held back by the send buffer.")


def _cpu_metrics(side: Side) -> Iterator[Metric]:
    cpu = f"CPU time of the {side}'s process, in its own code and in the kernel's; real time only"
    yield Metric(f"cpu_{side}_s", "s", "lower", f"{cpu}.")
    yield Metric(f"cpu_per_byte_{side}_ns", "ns", "lower", f"{cpu}, for each content byte.")


METRICS: Mapping[str, Metric] = {
    metric.name: metric
    for metric in (
        *_run_metrics(),
        *_path_metrics("down"),
        *_path_metrics("up"),
        *_volume_metrics(),
        *_limit_metrics(),
        *_cpu_metrics("client"),
        *_cpu_metrics("server"),
    )
}
"""All metrics by name. Times and the stacks' counters are those of the run's last transfer; the
path's counters are those of the whole run. What records cannot say is missing, never 0."""


def failure_from_records(job: Job, records: Sequence[Record]) -> Failure | None:
    """Say why a run failed, or None when all that was asked happened.

    What the records claim is checked against the job: both ends moved all bytes, and the same ones.
    """
    end = records[-1] if records else None
    if not isinstance(end, End):
        return Failure(stage="endpoint", message="the records stop before the run's end")
    if end.failure is not None:
        return end.failure
    if not isinstance(job.workload, Bulk):
        return Failure(stage="verify", message="no one knows yet what a stream should give")
    wanted_bytes = job.workload.content.size_bytes * job.workload.transfers
    hashes = set()
    for side in ("client", "server"):
        moved = [transfer for transfer in _transfers(records) if transfer.side == side]
        moved.sort(key=lambda transfer: (transfer.transfer, transfer.chunk))
        moved_bytes = sum(transfer.bytes for transfer in moved)
        if moved_bytes != wanted_bytes:
            message = f"the {side} recorded {moved_bytes} of {wanted_bytes} bytes"
            return Failure(stage="verify", message=message)
        hashes.add(tuple(transfer.sha256 for transfer in moved))
    if job.workload.verify and (len(hashes) != 1 or any(None in of_side for of_side in hashes)):
        return Failure(stage="verify", message="what was received is not what was sent (SHA-256)")
    if not any(isinstance(record, Connection) and record.side == "client" for record in records):
        return Failure(stage="client", message="the client recorded no connection")
    return None


def metrics_from_records(job: Job, records: Sequence[Record]) -> dict[str, float]:
    """Compute a run's metrics.

    Args:
        job: what was asked.
        records: of a run that succeeded, see :func:`failure_from_records`.

    Returns:
        Values by name, a subset of :data:`METRICS` in its order.

    Raises:
        ValueError: the run failed; a failed run has no metrics.
    """
    failure = failure_from_records(job, records)
    if failure is not None:
        raise ValueError(f"{job.run} failed: {failure.stage}: {failure.message}")
    found = {
        **_times(job, records),
        **_sender_counters(job, records),
        **_path_counters(job, records),
        **_cpu(job, records),
    }
    return {name: float(found[name]) for name in METRICS if name in found}


def _times(job: Job, records: Sequence[Record]) -> dict[str, float]:
    last = _of_last_transfer(job, records)
    clients = list(_connections(last, "client"))
    start_ns, end_ns = _span_ns(job, last)
    connected_ns = max(connection.connected_ns for connection in clients)
    received = [transfer for transfer in _transfers(last) if transfer.side == _receiver(job)]
    gaps_ns = [each.longest_gap_ns for each in received if each.longest_gap_ns is not None]
    found = {"longest_gap_s": max(gaps_ns) / NS_PER_S} if gaps_ns else {}
    first_byte_ns = min(transfer.first_byte_ns for transfer in received) - start_ns
    completion_ns = end_ns - start_ns
    content_bits = 8 * sum(transfer.bytes for transfer in received)
    return found | {
        "connect_time_s": (connected_ns - start_ns) / NS_PER_S,
        "first_byte_s": first_byte_ns / NS_PER_S,
        "completion_time_s": completion_ns / NS_PER_S,
        "goodput_bit_s": content_bits * NS_PER_S / completion_ns,
    }


def _span_ns(job: Job, records: Sequence[Record]) -> tuple[int, int]:
    """From the client's first connect to the receiver's last byte: closing is not counted."""
    start_ns = min(connection.start_ns for connection in _connections(records, "client"))
    received = (each for each in _transfers(records) if each.side == _receiver(job))
    return start_ns, max(transfer.last_byte_ns for transfer in received)


def _sender_counters(job: Job, records: Sequence[Record]) -> dict[str, float]:
    sender: Side = "server" if _receiver(job) == "client" else "client"
    last = _of_last_transfer(job, records)
    stats = [connection.stats for connection in _connections(last, sender)]
    counters = {
        "retransmitted_packets": _sum(each.retransmitted_packets for each in stats),
        "busy_s": _seconds(stats, "busy_ns"),
        "receive_window_limited_s": _seconds(stats, "receive_window_limited_ns"),
        "send_buffer_limited_s": _seconds(stats, "send_buffer_limited_ns"),
    }
    return {name: value for name, value in counters.items() if value is not None}


def _path_counters(job: Job, records: Sequence[Record]) -> dict[str, float]:
    start_ns, end_ns = _span_ns(job, records)
    found: dict[str, float] = {}
    headings: tuple[Heading, ...] = ("down", "up")
    for heading in headings:
        counted = [
            record
            for record in records
            if isinstance(record, Calibration) and record.direction == heading
        ]
        if counted:
            found |= _direction_counters(heading, counted, end_ns - start_ns)
    for unit in ("packets", "bytes"):
        ways = [found.get(f"wire_{unit}_{heading}") for heading in headings]
        if None not in ways:
            found[f"wire_{unit}_total"] = sum(way for way in ways if way is not None)
    rtts_ns = [
        record.min_rtt_ns
        for record in records
        if isinstance(record, Probe) and record.min_rtt_ns is not None
    ]
    if rtts_ns:
        found["path_min_rtt_s"] = min(rtts_ns) / NS_PER_S
    return found


def _direction_counters(
    heading: Heading, counted: Sequence[Calibration], span_ns: int
) -> dict[str, float]:
    offered_packets = sum(each.offered_packets for each in counted)
    dropped_packets = sum(each.dropped_packets for each in counted)
    lost_packets = _sum(each.lost_packets for each in counted)
    delivered_bits = 8 * sum(each.delivered_bytes for each in counted)
    found: dict[str, float] = {
        f"wire_packets_{heading}": offered_packets,
        f"wire_bytes_{heading}": sum(each.offered_bytes for each in counted),
        f"path_packets_{heading}": offered_packets,
        f"path_dropped_{heading}": dropped_packets,
    }
    if lost_packets is not None:
        found[f"path_overflow_{heading}"] = dropped_packets - lost_packets
        if offered_packets:
            found[f"path_loss_{heading}"] = lost_packets / offered_packets
    if span_ns:
        found[f"path_rate_{heading}_bit_s"] = delivered_bits * NS_PER_S / span_ns
    return found


def _of_last_transfer(job: Job, records: Iterable[Record]) -> list[Record]:
    last = job.workload.transfers - 1 if isinstance(job.workload, Bulk) else 0
    return [
        record
        for record in records
        if isinstance(record, Connection | Transfer) and record.transfer == last
    ]


def _cpu(job: Job, records: Sequence[Record]) -> dict[str, float]:
    received = (each for each in _transfers(records) if each.side == _receiver(job))
    content_bytes = sum(transfer.bytes for transfer in received)
    found: dict[str, float] = {}
    for usage in records:
        if isinstance(usage, Usage):
            cpu_ns = usage.user_ns + usage.system_ns
            found[f"cpu_{usage.side}_s"] = cpu_ns / NS_PER_S
            found[f"cpu_per_byte_{usage.side}_ns"] = cpu_ns / content_bytes
    return found


def _receiver(job: Job) -> Side:
    return "client" if job.heading == "down" else "server"


def _transfers(records: Iterable[Record]) -> Iterator[Transfer]:
    return (record for record in records if isinstance(record, Transfer))


def _connections(records: Iterable[Record], side: Side) -> Iterator[Connection]:
    return (record for record in records if isinstance(record, Connection) and record.side == side)


def _sum(values: Iterable[int | None]) -> int | None:
    """Add up; None when nothing was counted, or one connection cannot say."""
    counted = list(values)
    if not counted or None in counted:
        return None
    return sum(value for value in counted if value is not None)


def _seconds(stats: Sequence[Stats], name: str) -> float | None:
    total_ns = _sum(getattr(each, name) for each in stats)
    return None if total_ns is None else total_ns / NS_PER_S
