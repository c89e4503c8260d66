"""Follows the window of an MPTCP connection, and when its paths stand still, through the packets
that were seen before and behind both queues.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from mptcp_packets import Packet

HALF = 1 << 31
_LOW = (1 << 32) - 1
SHORTEST_STAND_S = 0.002
"""A path that sends nothing for longer, beside what its rate needs for a packet, stands still."""
BEGIN_S = 0.3
"""Until then paths are being opened, and the data-ack stands still in every run."""


@dataclass(frozen=True)
class Paths:
    """The two paths, as the script lays them."""

    names: Mapping[str, str]
    """By the receiver's address."""
    rates_bit_s: Mapping[str, float]
    sender: str
    towards_sender: int
    """Index of the interface in the middle that leads to the sender."""


@dataclass
class Followed:
    """What was seen of a connection."""

    lines: list[tuple[float, str]] = field(default_factory=list)
    """Events of the window's edge and of data beyond it, with their times in s."""
    beyond: int = 0
    """Packets of data that end beyond the edge."""
    stands: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    """By path: when it began to stand still, and for how long, in s."""
    data_ack_stood: tuple[float, float] = (0.0, 0.0)
    """The longest time in s in which the data-ack stood still, and when that began."""


def followed(seen: Iterable[Packet], paths: Paths) -> Followed:
    """Follow a connection.

    Bytes count from the first data. The edge is the largest sum of data-ack and window that has
    passed the middle on either path.
    """
    found = Followed(stands={name: [] for name in paths.names.values()})
    scales: dict[str, int] = {}
    last_sent: dict[str, float] = {}
    first = edge = data_ack = 0
    data_ack_since = 0.0
    for each in seen:
        if each.is_syn and each.scale is not None:
            scales[each.source] = each.scale
        if each.source == paths.sender and each.payload_bytes:
            name = paths.names[each.destination]
            if each.interface != paths.towards_sender:
                if each.is_outgoing:
                    _note_stand(found, paths, name, each, last_sent)
            elif each.data_sequence is not None:
                first = first or each.data_sequence
                end = ((each.data_sequence - first) & _LOW) + each.payload_bytes
                if edge < end < HALF and edge:
                    found.beyond += 1
                    text = f"{name}: data to {end}, {end - edge} beyond the edge"
                    found.lines.append((each.time_s, text))
        elif (
            each.destination == paths.sender and each.interface == paths.towards_sender
            and each.is_outgoing and first and each.data_ack is not None
        ):  # fmt: skip
            acked = (each.data_ack - first) & _LOW
            window = each.window << scales.get(each.source, 0)
            if edge < acked + window < HALF:
                edge = acked + window
                text = f"{paths.names[each.source]}: edge {edge} = data-ack {acked} + {window}"
                found.lines.append((each.time_s, text))
            if data_ack < acked < HALF:
                stood_s = each.time_s - data_ack_since
                if data_ack_since >= BEGIN_S and stood_s > found.data_ack_stood[0]:
                    found.data_ack_stood = (stood_s, data_ack_since)
                data_ack, data_ack_since = acked, each.time_s
    return found


def _note_stand(
    found: Followed, paths: Paths, name: str, packet: Packet, last_sent: dict[str, float]
) -> None:
    if name in last_sent:
        needs_s = packet.wire_bytes * 8 / paths.rates_bit_s[name]
        stood_s = packet.time_s - last_sent[name] - needs_s
        if stood_s > SHORTEST_STAND_S:
            found.stands[name].append((last_sent[name], stood_s))
    last_sent[name] = packet.time_s


def stood_ms(stands: Sequence[tuple[float, float]], until_s: float = float("inf")) -> float:
    """Return for how long a path stood still, in ms, before a time."""
    return sum(stood_s for since, stood_s in stands if since + stood_s < until_s) * 1e3
