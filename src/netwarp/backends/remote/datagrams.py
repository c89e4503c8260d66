"""The datagrams that measure a path, and the estimates from their arrival times. Pure.

An echo goes to the server and comes back with two times of the server's clock. A train is a number
of full-size packets sent back to back. The slowest link spaces them by its transmission time, so
the gaps between their arrivals bound the path's rate from below.
"""

from __future__ import annotations

import hmac
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from netwarp.units import NS_PER_S

_HEADER = struct.Struct("!16sBIQQQ")
"""Header of a datagram: token, kind, number, and three times in nanoseconds: when it was sent, when
it arrived at the server, and when it was sent back.
"""
ECHO, TRAIN, TRAIN_WANTED = 1, 2, 3
Kind = Literal[1, 2, 3]
ECHO_BYTES = 64
"""Length in bytes of an echo. Request and answer are equally long, so that a server amplifies no
traffic.
"""
TRAIN_BYTES = 1200
HEADERS_BYTES = 14 + 20 + 8
"""Bytes of headers around a datagram on the wire: Ethernet, IPv4, UDP."""


@dataclass(frozen=True)
class Datagram:
    """One datagram of a probe."""

    token: bytes
    kind: int
    number: int
    sent_ns: int = 0
    arrived_ns: int = 0
    returned_ns: int = 0

    def encode(self) -> bytes:
        """Return the datagram as the payload of a UDP datagram."""
        length = TRAIN_BYTES if self.kind == TRAIN else ECHO_BYTES
        times = (self.sent_ns, self.arrived_ns, self.returned_ns)
        return _HEADER.pack(self.token, self.kind, self.number, *times).ljust(length, b"\0")


def decode(data: bytes, token: bytes) -> Datagram | None:
    """Decode the payload of a datagram; None if it does not belong to this probe."""
    if len(data) not in (ECHO_BYTES, TRAIN_BYTES):
        return None
    datagram = Datagram(*_HEADER.unpack_from(data))
    if not hmac.compare_digest(datagram.token, token):
        return None
    fits = (datagram.kind == TRAIN) == (len(data) == TRAIN_BYTES)
    return datagram if fits and datagram.kind in (ECHO, TRAIN, TRAIN_WANTED) else None


@dataclass(frozen=True)
class Echo:
    """An echo that came back. Each of its times is by the clock of the host where it was taken."""

    sent_ns: int
    arrived_ns: int
    returned_ns: int
    received_ns: int

    @property
    def rtt_ns(self) -> int:
        """Round-trip time in ns, without the time that the server took."""
        return max(0, self.received_ns - self.sent_ns - (self.returned_ns - self.arrived_ns))


@dataclass(frozen=True)
class ClockOffset:
    """Bounds of the offset between the clocks in ns: the server's time minus the client's."""

    least_ns: int
    most_ns: int

    @property
    def middle_ns(self) -> int:
        """The middle between the two bounds."""
        return (self.least_ns + self.most_ns) // 2

    @property
    def uncertainty_ns(self) -> int:
        """Half the distance between the bounds: the true offset is at most this far from the
        middle.
        """
        return (self.most_ns - self.least_ns + 1) // 2

    def spanning(self, other: ClockOffset) -> ClockOffset:
        """Return bounds that contain those of both measurements, for a run between them."""
        return ClockOffset(min(self.least_ns, other.least_ns), max(self.most_ns, other.most_ns))


def clock_offset(echoes: Sequence[Echo]) -> ClockOffset | None:
    """Return bounds of the offset between two clocks, from a two-way exchange (as in NTP, RFC 5905,
    section 8).

    No datagram arrives before it was sent. So the server's clock is ahead by at most `arrived -
    sent`, and by at least `returned - received`. Each echo gives both bounds, and the quickest ones
    give the narrowest. If the clocks drift apart during the exchange, there may be no offset that
    satisfies all echoes; then the quickest echo alone determines it.
    """
    if not echoes:
        return None
    least_ns = max(each.returned_ns - each.received_ns for each in echoes)
    most_ns = min(each.arrived_ns - each.sent_ns for each in echoes)
    if least_ns > most_ns:
        best = min(echoes, key=lambda each: each.rtt_ns)
        least_ns = best.returned_ns - best.received_ns
        most_ns = best.arrived_ns - best.sent_ns
    return ClockOffset(least_ns, most_ns)


def train_rate_bit_s(arrivals_ns: Sequence[int]) -> int | None:
    """Estimate the path's rate in bit/s from the arrival times of a train's packets; None if they
    do not determine it.

    Time counts from the first packet, whose bytes are not counted. A lost packet leaves a gap, so
    only the bytes that arrived are counted.
    """
    if len(arrivals_ns) < 3:
        return None
    span_ns = max(arrivals_ns) - min(arrivals_ns)
    if span_ns <= 0:
        return None
    bits = 8 * (TRAIN_BYTES + HEADERS_BYTES) * (len(arrivals_ns) - 1)
    return bits * NS_PER_S // span_ns


def matched(sent: Mapping[int, int], received: Sequence[tuple[Datagram, int]]) -> list[Echo]:
    """Match the server's answers to the echoes that were sent; a second answer to the same echo is
    ignored. Send times are taken from the client's own record, not from the answer.

    Args:
        sent: the time at which each echo was sent, by its number.
        received: the answers, with their arrival times.
    """
    echoes: dict[int, Echo] = {}
    for answer, at_ns in received:
        if answer.kind == ECHO and answer.number in sent and answer.number not in echoes:
            echoes[answer.number] = Echo(
                sent[answer.number], answer.arrived_ns, answer.returned_ns, at_ns
            )
    return list(echoes.values())
