"""The metrics: name, unit, which way is better, and what exactly each one is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from netwarp.wire import Direction, Side

Unit = Literal["s", "ns", "bit/s", "packets", "B", "ratio", "count", "index"]


@dataclass(frozen=True)
class Metric:
    """A number every run has, if its transport can say it."""

    name: str
    """Stable; ends in its unit, or in the direction it was counted in, or in the statistic that it
    is of a unit before (`_max`, `_p95`)."""
    unit: Unit
    better: Literal["lower", "higher", "neither"]
    description: str


_WAYS = {"down": ("the server", "server to client"), "up": ("the client", "client to server")}


def _run_metrics() -> Iterator[Metric]:
    start = "From the client's first connect until"
    ready = "all its connections are ready for application data, for the first time"
    yield Metric("connect_time_s", "s", "lower", f"{start} {ready}.")
    yield Metric("first_byte_s", "s", "lower", f"{start} the receiver has the first content byte.")
    whole = "the receiver has the last one, reconnections included; a stream has none"
    yield Metric("completion_time_s", "s", "lower", f"{start} {whole}.")
    bits = "Content bits over the completion time; of a stream, whole segments over the session"
    yield Metric("goodput_bit_s", "bit/s", "higher", f"{bits}.")
    yield Metric("retransmitted_packets", "packets", "lower", "As the sender's stack counts them.")
    gap = "Longest time without new content at the receiver, in a run with outages, moves or traces"
    yield Metric("longest_gap_s", "s", "lower", f"{gap}: after an outage, the fail-over.")


def _roaming_metrics() -> Iterator[Metric]:
    given_up = "Connections given up because the client moved, and dialled anew"
    yield Metric("reconnections", "count", "neither", f"{given_up}.")
    gap = "Longest time without new content that a handover made"
    yield Metric("handover_gap_s", "s", "lower", f"{gap}; mean over the handovers.")
    yield Metric("handover_gap_s_max", "s", "lower", f"{gap}; the longest of all.")


def _stream_metrics() -> Iterator[Metric]:
    load = "From a segment's request to its last byte, waiting and transfer"
    yield Metric("loading_delay_s", "s", "lower", f"{load}; mean over the segments.")
    for percent, name in ((50, "median"), (95, "95th percentile"), (99, "99th percentile")):
        yield Metric(f"loading_delay_s_p{percent}", "s", "lower", f"{load}; {name}.")
    start = "From the client's first connect until the player plays for the first time."
    yield Metric("startup_delay_s", "s", "lower", start)
    stall = "nothing was left to play; until it plays again, or the viewer moves or leaves"
    yield Metric("stalls", "count", "lower", "How often nothing was left to play.")
    yield Metric("stall_s", "s", "lower", f"Time in which {stall}; all stalls together.")
    yield Metric("seeks", "count", "neither", "How often the viewer moved the play position.")
    wait = "From a seek until the player plays again; mean. This wait is not a stall."
    yield Metric("seek_to_play_s", "s", "lower", wait)
    switches = "How often the player asked for another quality than before."
    yield Metric("switches", "count", "lower", switches)
    share = "Share of the play time in the"
    yield Metric("quality_share_lowest", "ratio", "lower", f"{share} lowest quality.")
    yield Metric("quality_share_highest", "ratio", "higher", f"{share} highest quality.")
    mean = "Mean index of the quality over the play time, 0 for the lowest."
    yield Metric("quality_mean", "index", "higher", mean)
    rate = "Bit rate of the medium in the qualities played, mean over the play time."
    yield Metric("media_rate_bit_s", "bit/s", "higher", rate)


def _path_metrics(direction: Direction) -> Iterator[Metric]:
    sender, way = _WAYS[direction]
    sent = f"Packets {sender} put on the wire, before any loss."
    frames = f"Their bytes, Ethernet headers included, {way}."
    dropped = f"Packets the path dropped, at random or for a full queue, {way}."
    lost = f"Packets lost at random, the loss asked for, of those offered, {way}."
    delivered = f"Delivered frames' bits per second, from connect until the last byte, {way}."
    yield Metric(f"wire_packets_{direction}", "packets", "lower", sent)
    yield Metric(f"wire_bytes_{direction}", "B", "lower", frames)
    yield Metric(f"path_packets_{direction}", "packets", "neither", f"Offered to the path, {way}.")
    yield Metric(f"path_dropped_{direction}", "packets", "neither", dropped)
    yield Metric(
        f"path_overflow_{direction}", "packets", "neither", f"Of them, for a full queue, {way}."
    )
    yield Metric(f"path_loss_{direction}", "ratio", "neither", lost)
    yield Metric(f"path_rate_{direction}_bit_s", "bit/s", "neither", delivered)


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
        *_roaming_metrics(),
        *_stream_metrics(),
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
