"""Measures the path between two hosts with datagrams that the client sends and the server
answers.
"""

from __future__ import annotations

import contextlib
import secrets
import select
import socket
import struct
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netwarp.backends.remote.datagrams import (
    ECHO,
    TRAIN,
    TRAIN_WANTED,
    ClockOffset,
    Datagram,
    Echo,
    clock_offset,
    decode,
    matched,
    train_rate_bit_s,
)
from netwarp.backends.remote.messages import CloseProbe, OpenProbe, Probed, Probing

if TYPE_CHECKING:
    from netwarp.backends.remote.channel import Channel

ECHOES = 50
ECHOES_APART_S = 0.002
TRAIN_PACKETS = 48
ANSWER_TIMEOUT_S = 15.0
MOST_DATAGRAMS = 1000
"""Maximum number of datagrams that a server answers in one probe."""
DATAGRAMS_AT_ONCE = 2 * (ECHOES + TRAIN_PACKETS + 1)
"""Maximum number of datagrams that are received before messages of the client are handled: more
than a probe has."""
LONGEST_PROBE_S = 20.0
LONGEST_WAIT_S = 2.0
"""Maximum time in s to wait for echoes and trains; those that arrive later count as lost."""
TIMESTAMP_ROOM = 64
SO_TIMESTAMPNS = getattr(socket, "SO_TIMESTAMPNS", 35)


@dataclass(frozen=True)
class Measured:
    """The result of one measurement of the path."""

    at_unix_ns: int
    sent: int
    arrived: int
    """Number of echoes that reached the server."""
    echoes: tuple[Echo, ...]
    """Echoes that came back."""
    rate_up_bit_s: int | None
    rate_down_bit_s: int | None
    server_busy: float | None

    @property
    def offset(self) -> ClockOffset | None:
        """Offset between the two clocks; None if no echo came back."""
        return clock_offset(self.echoes)

    @property
    def rtts_ns(self) -> list[int]:
        """Round-trip times of the echoes in ns."""
        return [each.rtt_ns for each in self.echoes]


def measure(channel: Channel, server: tuple[str, int]) -> Measured:
    """Measure the path to a server, which takes about half a second and a few round trips.

    Args:
        channel: the connection to the server, with no request under way.
        server: the address to which datagrams are sent.

    Raises:
        ChannelError: the connection to the server is lost.
    """
    token = secrets.token_bytes(16)
    at_unix_ns = time.time_ns()
    channel.send(OpenProbe(token=token.hex()))
    probing = channel.receive(Probing, ANSWER_TIMEOUT_S)
    with _datagram_socket(socket.getaddrinfo(*server)[0][0]) as mine:
        mine.connect(server)
        sent, answers = _exchange_echoes(mine, token)
        _send_train(mine, token)
        down_ns = _receive_train(mine, token, answers)
    channel.send(CloseProbe())
    probed = channel.receive(Probed, ANSWER_TIMEOUT_S)
    return Measured(
        at_unix_ns,
        len(sent),
        min(probed.echoes, len(sent)),
        tuple(matched(sent, answers)),
        train_rate_bit_s(probed.train_ns),
        train_rate_bit_s(down_ns),
        probing.busy,
    )


def _exchange_echoes(
    mine: socket.socket, token: bytes
) -> tuple[dict[int, int], list[tuple[Datagram, int]]]:
    """Send echoes at even intervals, and receive answers at the same time; then wait for
    outstanding answers. Return the time at which each echo was sent, by its number, and the answers
    with their arrival times.
    """
    sent: dict[int, int] = {}
    answers: list[tuple[Datagram, int]] = []
    for number in range(ECHOES):
        sent[number] = time.monotonic_ns()
        # Nobody listens, or the buffer is full: the datagram counts as lost.
        with contextlib.suppress(OSError):
            mine.send(Datagram(token, ECHO, number, sent[number]).encode())
        answers += _echo_replies(mine, token, time.monotonic() + ECHOES_APART_S)
    until_s = time.monotonic() + LONGEST_WAIT_S
    while len({answer.number for answer, _ in answers}) < ECHOES and time.monotonic() < until_s:
        if answers:
            # Wait four times the slowest round trip so far, so that lost echoes do not cost the
            # whole two seconds.
            slowest_ns = max(each.rtt_ns for each in matched(sent, answers))
            last_ns = max(sent.values()) + 4 * slowest_ns + 50_000_000
            until_s = min(until_s, last_ns / 1e9)
        answers += _echo_replies(mine, token, min(until_s, time.monotonic() + 0.01))
    return sent, answers


def _echo_replies(
    mine: socket.socket, token: bytes, until_s: float
) -> Iterator[tuple[Datagram, int]]:
    """Yield the server's answers to echoes, with their arrival times, until a deadline."""
    while (left_s := until_s - time.monotonic()) > 0:
        if not select.select([mine], [], [], left_s)[0]:
            return
        with contextlib.suppress(OSError):
            data = mine.recv(2048)
            at_ns = time.monotonic_ns()
            datagram = decode(data, token)
            if datagram is not None:
                yield datagram, at_ns


def _send_train(mine: socket.socket, token: bytes) -> None:
    packets = [Datagram(token, TRAIN, number).encode() for number in range(TRAIN_PACKETS)]
    for packet in packets:
        with contextlib.suppress(OSError):
            mine.send(packet)


def _receive_train(
    mine: socket.socket, token: bytes, answers: Sequence[tuple[Datagram, int]]
) -> list[int]:
    """Ask the server for a train of packets, and return their arrival times in ns."""
    if not answers:
        return []  # no datagram comes back on this path
    with contextlib.suppress(OSError):
        mine.send(Datagram(token, TRAIN_WANTED, TRAIN_PACKETS).encode())
    arrivals: dict[int, int] = {}
    until_s = time.monotonic() + LONGEST_WAIT_S
    while len(arrivals) < TRAIN_PACKETS and (left_s := until_s - time.monotonic()) > 0:
        # Once the train arrives, packets that are still missing after a pause count as lost.
        if not select.select([mine], [], [], min(left_s, 0.25) if arrivals else left_s)[0]:
            break
        with contextlib.suppress(OSError):
            data, at_ns, _ = _receive_stamped(mine)
            datagram = decode(data, token)
            if datagram is not None and datagram.kind == TRAIN:
                arrivals[datagram.number] = at_ns
    return list(arrivals.values())


class Responder:
    """The server's end of a probe: answers datagrams from one host that contain the token.

    Args:
        address: the address at which it listens.
        peer: the host whose datagrams it answers.
        token: the token that they contain.
    """

    def __init__(self, address: tuple[str, int], peer: str, token: bytes) -> None:
        self.peer = peer
        self.token = token
        self.until_s = time.monotonic() + LONGEST_PROBE_S
        self.socket = _datagram_socket(socket.getaddrinfo(*address)[0][0])
        try:
            self.socket.bind(address)
        except OSError:
            self.socket.close()
            raise
        self._left = MOST_DATAGRAMS
        self._echoes: set[int] = set()
        self._train: dict[int, int] = {}

    def respond(self) -> None:
        """Answer the datagrams that have arrived, up to a number, so that a peer that never stops
        sending does not block the server.
        """
        with contextlib.suppress(BlockingIOError):
            for _ in range(DATAGRAMS_AT_ONCE):
                data, stamped_ns, sender = _receive_stamped(self.socket)
                arrived_ns = time.monotonic_ns()
                self._left -= 1
                datagram = decode(data, self.token)
                if sender[0] == self.peer and datagram is not None and self._left > 0:
                    self._answer(datagram, arrived_ns, stamped_ns, sender)

    def probed(self) -> Probed:
        """Return the message on which datagrams of the probe have arrived."""
        first_ns = min(self._train.values(), default=0)
        train_ns = sorted(at_ns - first_ns for at_ns in self._train.values())
        return Probed(echoes=len(self._echoes), train_ns=train_ns)

    def close(self) -> None:
        """Close the socket."""
        self.socket.close()

    def _answer(
        self, datagram: Datagram, arrived_ns: int, stamped_ns: int, sender: tuple[str, int]
    ) -> None:
        """Answer one datagram of the client: echo it, record its arrival, or send a train of
        packets.
        """
        if datagram.kind == ECHO and datagram.number < ECHOES:
            self._echoes.add(datagram.number)
            times = (datagram.sent_ns, arrived_ns, time.monotonic_ns())
            self._send(Datagram(self.token, ECHO, datagram.number, *times), sender)
        elif datagram.kind == TRAIN and datagram.number < TRAIN_PACKETS:
            self._train.setdefault(datagram.number, stamped_ns)
        elif datagram.kind == TRAIN_WANTED:
            for number in range(TRAIN_PACKETS):
                self._left -= 1
                if self._left > 0:
                    self._send(Datagram(self.token, TRAIN, number), sender)

    def _send(self, datagram: Datagram, sender: tuple[str, int]) -> None:
        with contextlib.suppress(OSError):  # it counts as lost
            self.socket.sendto(datagram.encode(), sender)


def _datagram_socket(family: int) -> socket.socket:
    mine = socket.socket(family, socket.SOCK_DGRAM)
    mine.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    mine.setblocking(False)
    return mine


def _receive_stamped(mine: socket.socket) -> tuple[bytes, int, tuple[str, int]]:
    """Receive a datagram; return its bytes, the time at which the kernel received it
    (SO_TIMESTAMPNS, socket(7)), and its sender.
    """
    data, ancillary, _, sender = mine.recvmsg(2048, TIMESTAMP_ROOM)
    for level, kind, content in ancillary:
        if level == socket.SOL_SOCKET and kind == SO_TIMESTAMPNS and len(content) >= 16:
            seconds, nanoseconds = struct.unpack_from("@ll", content)
            return data, seconds * 1_000_000_000 + nanoseconds, sender
    return data, time.time_ns(), sender
