"""Records of transfers, and of the connections over which content was transferred."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from netwarp.wire.base import U32, U64, Direction, Meaning, Wire
from netwarp.wire.transport import Resume, TransportKind

Side = Annotated[
    Literal["client", "server"],
    Meaning(
        "One end of a path.",
        {"client": "The side that connects.", "server": "The side that listens."},
    ),
]


class Connection(Wire):
    """One side of one connection, written when it has ended."""

    record: Literal["connection"]
    """Always `connection`."""
    side: Side
    """The side that recorded the connection: the client connects, the server listens."""
    connection: U32
    """Number of the connection in the run, 0 for the first."""
    transfer: U32
    """Index, from 0, of the transfer for which the connection was used."""
    abandoned: bool
    """Whether the client abandoned the connection because it moved to another path."""
    resumed: Resume
    """Whether and how the connection resumed an earlier session, as the stack reports it at the
    end. The job may allow more than that."""
    start_ns: U64
    """When the client called `connect`, for the first time if it moved before the handshake was
    complete and began again; for a server, when it accepted the connection."""
    connected_ns: U64
    """When the connection was ready for application data. With early data that is before the peer
    has answered: at once (`tcp`, `quic`), or when TCP is connected (`tls`)."""
    settings: Settings
    """The settings that the stack used for the connection."""
    stats: Stats
    """The stack's counters for the connection."""


class Settings(Wire):
    """The settings that a stack used, read back where possible."""

    transport: TransportKind
    """The protocol that was used; `tcp` for MPTCP that fell back."""
    congestion: str
    """Congestion control by its name in the stack."""
    initial_window_bytes: U64
    """Initial congestion window in bytes of payload, as configured."""
    mss_bytes: U32
    """Largest payload of one packet at the end of the connection."""
    send_buffer_bytes: U64
    """Size of the send buffer, or limit of the send window."""
    receive_buffer_bytes: U64
    """Size of the receive buffer, or limit of the flow-control window."""
    paced: bool
    """Whether the stack paces its packets."""


class Stats(Wire):
    """A stack's counters for one connection; null for what it does not count."""

    retransmitted_packets: U64 | None
    """TCP: `tcpi_total_retrans`; SCTP: `sas_rtxchunks`; QUIC: packets declared lost."""
    smoothed_rtt_ns: U64 | None
    """Smoothed RTT at the end."""
    min_rtt_ns: U64 | None
    """Smallest RTT that the stack measured."""
    congestion_window_bytes: U64 | None
    """Congestion window at the end."""
    busy_ns: U64 | None
    """Time in which there was data to send."""
    receive_window_limited_ns: U64 | None
    """Part of `busy_ns` in which the peer's receive window limited sending."""
    send_buffer_limited_ns: U64 | None
    """Part of `busy_ns` in which the send buffer limited sending."""


class Merged(Wire):
    """The file into which the receiver merged the chunks of a transfer."""

    record: Literal["merged"]
    """Always `merged`."""
    transfer: U32
    """Index of the run's transfer, from 0."""
    chunks: U32
    """How many chunk files were merged."""
    merged_ns: U64
    """When the file was complete. Neither computing nor writing takes virtual time."""
    bytes: U64
    """Size of the file."""
    sha256: str
    """SHA-256 in hexadecimal digits of the file, read back from the disk."""


class Transfer(Wire):
    """The transfer of a content, or of a chunk of one, over one stream; each end writes a record of
    it.
    """

    record: Literal["transfer"]
    """Always `transfer`."""
    side: Side
    """The side that recorded the transfer."""
    connection: U32
    """Index of the connection."""
    stream: U32
    """Index of the stream on that connection."""
    transfer: U32
    """Index of the run's transfer, from 0."""
    chunk: U32
    """Index of the chunk in the content, from 0."""
    direction: Direction
    """The direction of the content."""
    bytes: U64
    """Bytes of content that were sent or received."""
    resumed_at_bytes: U64
    """At the sender: how many bytes of the chunk were transferred over earlier connections, which
    were abandoned."""
    first_byte_ns: U64
    """At the receiver: when the first content byte was received. At the sender: when the first byte
    was passed to the transport."""
    last_byte_ns: U64
    """At the receiver: when the last content byte was received or, if the job's `done` is
    `transfer`, the end of the stream. At the sender: when it learned that everything had arrived.
    """
    sha256: str | None
    """SHA-256 in hexadecimal digits of the content as this end sent or received it; null if the job
    does not ask for it."""
    longest_gap_ns: U64 | None
    """At the receiver, in a run with outages, handovers or rate traces: longest time between two
    arrivals of new content. Gaps of TCP and MPTCP of two ticks (20 ms) or less may not be
    noticed."""
    longest_gap_at_ns: U64 | None
    """When the longest gap began: the time of the last arrival before it."""


class Handover(Wire):
    """The client was notified of its address on another path."""

    record: Literal["handover"]
    """Always `handover`."""
    at_ns: U64
    """When the client was notified."""
    path: U32
    """Index of the path."""
    longest_gap_ns: U64 | None
    """Longest time without new content that ended before the next handover, or the end, and began
    before the move was over: a round trip after the client was notified, or after the path before
    was lost. Counted from when the client was notified, or had lost every other path."""
    longest_gap_at_ns: U64 | None
    """When the longest gap began; at the earliest, the time from which `longest_gap_ns` is
    counted."""


class Goodput(Wire):
    """The content that was received over time, in a run with a timeline or a player."""

    record: Literal["goodput"]
    """Always `goodput`."""
    step_ns: U64
    """Width of each time bin; the first one begins at the run's epoch."""
    bytes: tuple[U64, ...] = Field(strict=False)
    """Bytes of content received in each time bin, up to the last bin with any."""
