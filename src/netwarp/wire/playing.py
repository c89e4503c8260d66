"""Records of what a player asked for, got and did."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from netwarp.wire.base import U32, U64, Meaning, Wire


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
    """Size of the segment in bytes."""
    requested_ns: U64
    """The player asked for it. It may have waited for a connection, or for a stream that was still
    busy with what a seek had made useless."""
    first_byte_ns: U64
    """When the first byte was received."""
    last_byte_ns: U64
    """When the last byte was received."""
    buffer_ns: U64
    """Play time ahead when it was asked for."""
    sha256: str | None
    """Hex SHA-256 as it arrived, if asked for."""


class Player(Wire):
    """Something the player did, in order of time."""

    record: Literal["player"]
    """Always `player`."""
    at_ns: U64
    """When the player did it."""
    action: Action
    """What the player did."""


class Play(Wire):
    """It plays: at first, after a stall, after a seek."""

    kind: Literal["play"]
    """Always `play`."""
    segment: U32
    """The segment from whose start it plays."""


class Stall(Wire):
    """Nothing is left to play."""

    kind: Literal["stall"]
    """Always `stall`."""


class Seek(Wire):
    """The viewer moves the play position."""

    kind: Literal["seek"]
    """Always `seek`."""
    segment: U32
    """The segment to whose start the viewer moves."""


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


Action = Annotated[
    Play | Stall | Seek | Switch | PlayEnd,
    Field(discriminator="kind"),
    Meaning("What a player does."),
]
