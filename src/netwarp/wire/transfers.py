"""Records of what was transferred, and over which connections."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from netwarp.wire.base import U32, U64, Direction, Meaning, Wire
from netwarp.wire.transport import Resume, TransportKind

Side = Annotated[
    Literal["client", "server"],
    Meaning(
        "One end of a path.", {"client": "The side that dials.", "server": "The side that listens."}
    ),
]


class Connection(Wire):
    """One side of one connection, written when it is over."""

    record: Literal["connection"]
    """Always `connection`."""
    side: Side
    """The end that recorded it: the client dials, the server listens."""
    connection: U32
    """Number of the connection in the run, 0 for the first."""
    transfer: U32
    """Which of the run's transfers it served, from 0."""
    abandoned: bool
    """Whether it was given up because the client moved to another path."""
    resumed: Resume
    """What it used of an earlier connection, as the stack says when it is over: what was asked for
    is not always got."""
    start_ns: U64
    """Call of `connect` (client): the first, where the client moved before the handshake was over
    and began it again. Acceptance (server)."""
    connected_ns: U64
    """Ready for application data. With early data that is before the peer has answered: at once
    (`tcp`, `quic`), or when TCP is connected (`tls`)."""
    settings: Settings
    """What the stack really used."""
    stats: Stats
    """What the stack counted."""


class Settings(Wire):
    """What a stack really used, read back where it can be."""

    transport: TransportKind
    """The protocol that was used; of MPTCP that fell back, `tcp`."""
    congestion: str
    """Congestion control by its name in the stack."""
    initial_window_bytes: U64
    """First flight in bytes of payload, as configured."""
    mss_bytes: U32
    """Largest payload of one packet in use at the end."""
    send_buffer_bytes: U64
    """Send buffer or send window limit."""
    receive_buffer_bytes: U64
    """Receive buffer or flow-control window limit."""
    paced: bool
    """Whether the stack spaces its packets out."""


class Stats(Wire):
    """What a stack counted on one connection; null where it cannot say."""

    retransmitted_packets: U64 | None
    """TCP: `tcpi_total_retrans`; SCTP: `sas_rtxchunks`; QUIC: packets declared lost."""
    smoothed_rtt_ns: U64 | None
    """Smoothed RTT at the end."""
    min_rtt_ns: U64 | None
    """Smallest RTT the stack saw."""
    congestion_window_bytes: U64 | None
    """Congestion window at the end."""
    busy_ns: U64 | None
    """Time with something to send."""
    receive_window_limited_ns: U64 | None
    """Part of `busy_ns` in which the peer's window held it back."""
    send_buffer_limited_ns: U64 | None
    """Part of `busy_ns` in which the send buffer held it back."""


class Transfer(Wire):
    """One content moved over one stream, once for each end."""

    record: Literal["transfer"]
    """Always `transfer`."""
    side: Side
    """The side that recorded it."""
    connection: U32
    """Index of the connection."""
    stream: U32
    """Index of the stream on it."""
    transfer: U32
    """Which of the run's transfers, from 0."""
    chunk: U32
    """Which part of the content, from 0."""
    direction: Direction
    """Which way the content went."""
    bytes: U64
    """Content bytes sent or received."""
    resumed_at_bytes: U64
    """Sender: bytes of the chunk before these, which connections that were given up had carried."""
    first_byte_ns: U64
    """Receiver: first content byte at hand. Sender: first byte handed to the transport."""
    last_byte_ns: U64
    """Receiver: last content byte at hand. Sender: the receiver's confirmation at hand."""
    sha256: str | None
    """Hex SHA-256 of the content as this end saw it, if asked for."""
    longest_gap_ns: U64 | None
    """Receiver, in a run with outages, handovers or rate traces: longest time between two arrivals
    of new content. Of two ticks (20 ms) or less, TCP's and MPTCP's may go unseen."""
    longest_gap_at_ns: U64 | None
    """When it began: the last arrival before it."""


class Handover(Wire):
    """The client was told of its address on another path."""

    record: Literal["handover"]
    """Always `handover`."""
    at_ns: U64
    """When the client was told."""
    path: U32
    """Index of the path."""
    longest_gap_ns: U64 | None
    """Longest time without new content that ended between this and the next handover, or the
    end, and began before the move was over: a round trip after this, or after the path before was
    lost. Counted from the move on: this, or when the client had lost every other path."""
    longest_gap_at_ns: U64 | None
    """When it began, or the handover did."""


class Goodput(Wire):
    """Content received over time, in a run with a timeline or a player."""

    record: Literal["goodput"]
    """Always `goodput`."""
    step_ns: U64
    """From the epoch on, the width of each count."""
    bytes: tuple[U64, ...] = Field(strict=False)
    """Content bytes that came in each step, up to the last that did."""
