"""The records: what the endpoint gives back, one JSON object a line.

The Rust half of this definition is ``endpoint/src/record.rs``; both read the golden files in
``tests/golden``. Times are integer nanoseconds since the run's epoch (the path is built, nobody has
sent anything), read from one clock for both sides.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, ValidationError

from netwarp.errors import RecordError
from netwarp.wire.job import (
    FORMAT,
    U32,
    U64,
    Event,
    Heading,
    Resumption,
    TransportKind,
    Wire,
    first_error,
)

Side = Literal["client", "server"]


class Start(Wire):
    """First record: who writes."""

    record: Literal["start"]
    """Always `start`."""
    format: Literal[1]
    """Version of the wire format."""
    run: str
    """The job's name."""
    endpoint: str
    """Version of the endpoint."""
    kernel: str
    """`uname -sr` of the kernel that carried the packets."""
    clock: Literal["virtual", "real"]
    """Whether time is the guest's, which jumps when idle, or the wall's."""


class Connection(Wire):
    """One side of one connection, written when it is over."""

    record: Literal["connection"]
    """Always `connection`."""
    side: Side
    """Who speaks: the client dials, the server listens."""
    connection: U32
    """0 for the first."""
    transfer: U32
    """Which of the run's transfers it served, from 0."""
    abandoned: bool
    """Whether it was given up because the client moved to another path."""
    resumed: Resumption
    """What it used of an earlier connection, as the stack says when it is over: what was asked for
    is not always got."""
    start_ns: U64
    """Call of `connect` (client), acceptance (server)."""
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
    """Which protocol."""
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
    """Of it, held back by the peer's window."""
    send_buffer_limited_ns: U64 | None
    """Of it, held back by the send buffer."""


class Transfer(Wire):
    """One content moved over one stream, once for each end."""

    record: Literal["transfer"]
    """Always `transfer`."""
    side: Side
    """Who speaks."""
    connection: U32
    """Index of the connection."""
    stream: U32
    """Index of the stream on it."""
    transfer: U32
    """Which of the run's transfers, from 0."""
    chunk: U32
    """Which part of the content, from 0."""
    direction: Heading
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
    """Receiver, in a run with a timeline: longest time between two arrivals of new content. Of two
    ticks (20 ms) or less, TCP's and MPTCP's may go unseen."""
    longest_gap_at_ns: U64 | None
    """When it began: the last arrival before it."""


class Segment(Wire):
    """A segment of a medium at the player."""

    record: Literal["segment"]
    """Always `segment`."""
    request: U32
    """Counted in the order of requests, from 0."""
    segment: U32
    """Place in the medium, from 0."""
    quality: U32
    """Index of the quality."""
    connection: U32
    """Index of the connection that carried its last byte."""
    stream: U32
    """Index of the stream on it."""
    bytes: U64
    """Size."""
    requested_ns: U64
    """The player asked for it. It may have waited for a connection, or for a stream that was still
    busy with what a seek had made useless."""
    first_byte_ns: U64
    """First byte at hand."""
    last_byte_ns: U64
    """Last byte at hand."""
    buffer_ns: U64
    """Play time ahead when it was asked for."""
    sha256: str | None
    """Hex SHA-256 as it arrived, if asked for."""


class Player(Wire):
    """Something the player did, in order of time."""

    record: Literal["player"]
    """Always `player`."""
    at_ns: U64
    """When."""
    action: Action
    """What."""


class Play(Wire):
    """It plays: at first, after a stall, after a seek."""

    kind: Literal["play"]
    """Always `play`."""
    segment: U32
    """From the start of this segment."""


class Stall(Wire):
    """Nothing is left to play."""

    kind: Literal["stall"]
    """Always `stall`."""


class Seek(Wire):
    """The viewer moves the play position."""

    kind: Literal["seek"]
    """Always `seek`."""
    segment: U32
    """To the start of this segment."""


class Switch(Wire):
    """It asks for another quality than before."""

    kind: Literal["switch"]
    """Always `switch`."""
    quality: U32
    """Index of the quality."""


class PlayEnd(Wire):
    """The viewer has seen enough."""

    kind: Literal["end"]
    """Always `end`."""


Action = Annotated[Play | Stall | Seek | Switch | PlayEnd, Field(discriminator="kind")]


class Handover(Wire):
    """The client was told of its address on another path."""

    record: Literal["handover"]
    """Always `handover`."""
    at_ns: U64
    """When."""
    path: U32
    """Index of the path."""
    longest_gap_ns: U64 | None
    """Longest time without new content that ended between this and the next handover, or the
    end, and began before the move was over: a round trip after this, or after the path before was
    lost."""
    longest_gap_at_ns: U64 | None
    """When it began."""


class Goodput(Wire):
    """Content received over time, in a run with a timeline or a player."""

    record: Literal["goodput"]
    """Always `goodput`."""
    step_ns: U64
    """From the epoch on, the width of each count."""
    bytes: tuple[U64, ...] = Field(strict=False)
    """Content bytes that came in each step, up to the last that did."""


class Calibration(Wire):
    """What one direction of a path really did, counted on its links before the probes."""

    record: Literal["calibration"]
    """Always `calibration`."""
    path: U32
    """Index of the path."""
    direction: Heading
    """Which way."""
    interval_ns: U64
    """Counted from the epoch to here."""
    offered_packets: U64
    """Wire packets the sender's link carried to the router."""
    offered_bytes: U64
    """Their bytes, Ethernet headers included."""
    delivered_packets: U64
    """Wire packets the receiver's link carried from the router."""
    delivered_bytes: U64
    """Their bytes, Ethernet headers included."""
    dropped_packets: U64
    """Packets netem dropped: lost at random, or for a full queue."""
    lost_packets: U64 | None
    """Of them, those lost at random; null where the kernel does not tell."""
    left_packets: U64
    """Packets still in netem when counted."""


class Probe(Wire):
    """Idle-path probes after the workload: UDP packets of a few bytes, echoed."""

    record: Literal["probe"]
    """Always `probe`."""
    path: U32
    """Index of the path."""
    sent: U32
    """Probes sent."""
    received: U32
    """Probes that came back."""
    min_rtt_ns: U64 | None
    """Smallest time there and back, if any came back."""
    min_delay_down_ns: U64 | None
    """Smallest one-way time, server to client."""
    min_delay_up_ns: U64 | None
    """Smallest one-way time, client to server."""


class Happening(Wire):
    """Something of the timeline that happened."""

    record: Literal["event"]
    """Always `event`."""
    at_ns: U64
    """When it was done."""
    event: Event
    """What it was."""


class Usage(Wire):
    """CPU time of one side's process; in real time only, for in virtual time it is free."""

    record: Literal["usage"]
    """Always `usage`."""
    side: Side
    """Who."""
    user_ns: U64
    """In its own code."""
    system_ns: U64
    """In the kernel on its behalf."""


class End(Wire):
    """Last record: how it went. A run without it did not finish."""

    record: Literal["end"]
    """Always `end`."""
    virtual_ns: U64
    """The run's clock."""
    failure: Failure | None
    """Null when all that was asked happened."""


class Failure(Wire):
    """Why a run failed."""

    stage: str
    """What was being done: `setup`, `server`, `client`, `limit`, `verify`, `teardown`."""
    message: str
    """What went wrong, on what."""


Record = Annotated[
    Start
    | Connection
    | Transfer
    | Segment
    | Player
    | Handover
    | Goodput
    | Calibration
    | Probe
    | Happening
    | Usage
    | End,
    Field(discriminator="record"),
]
for _model in (Connection, Player, Happening, End):
    _model.model_rebuild()

_RECORD: TypeAdapter[Record] = TypeAdapter(Record)


def record_from_json(line: str, source: str = "record") -> Record:
    """Read one line of ``records.jsonl``.

    Raises:
        RecordError: not a record of this format; the message names ``source``.
    """
    try:
        return _RECORD.validate_json(line)
    except ValidationError as error:
        raise RecordError(
            f"{source}: not a record of format {FORMAT}: {first_error(error)}"
        ) from None


def record_to_json(record: Record) -> str:
    """Write one record as one line, without the newline, as the endpoint would."""
    return json.dumps(record.model_dump(mode="json"))


def read_records(path: Path) -> list[Record]:
    """Read a run's records.

    Raises:
        RecordError: unreadable, or a line is not a record; the message names file and line. A last
            line without newline is a write cut short.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RecordError(f"cannot read the records in {path}: {error}") from None
    if text and not text.endswith("\n"):
        raise RecordError(f"{path}: the last line was cut short: the run was stopped while writing")
    return [
        record_from_json(line, f"{path}:{number}")
        for number, line in enumerate(text.splitlines(), start=1)
    ]
