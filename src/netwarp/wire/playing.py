"""Records of the segments that a player requested and received, and of its actions."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from netwarp.wire.base import U32, U64, Meaning, Wire


class Segment(Wire):
    """A segment of a video, as the player received it."""

    record: Literal["segment"]
    """Always `segment`."""
    request: U32
    """Number of the request, in the order of sending, from 0."""
    segment: U32
    """Index of the segment in the video, from 0."""
    quality: U32
    """Index of the quality."""
    connection: U32
    """Index of the connection that carried the segment's last byte."""
    stream: U32
    """Index of the stream on that connection."""
    bytes: U64
    """Size of the segment in bytes."""
    requested_ns: U64
    """When the player wanted the segment. The request may have waited for a connection, or for a
    stream that was still receiving a segment that a seek had made useless."""
    first_byte_ns: U64
    """When the first byte was received."""
    last_byte_ns: U64
    """When the last byte was received."""
    buffer_ns: U64
    """Play time in the buffer when the player wanted the segment."""
    sha256: str | None
    """SHA-256 in hexadecimal digits of the received bytes; null if the job does not ask for it."""


class CutSegment(Wire):
    """A segment that the player wanted but did not receive, because the viewer sought or the
    session ended before it had arrived. Its loading delay would have been longer than from
    `requested_ns` to `cut_ns`.
    """

    record: Literal["cut_segment"]
    """Always `cut_segment`."""
    request: U32 | None
    """Number of the request, in the order of sending, from 0; null if none had been sent."""
    segment: U32
    """Index of the segment in the video, from 0."""
    quality: U32 | None
    """Index of the quality; null if no request had been sent."""
    requested_ns: U64
    """When the player wanted the segment."""
    cut_ns: U64
    """When the player abandoned the segment, because the viewer sought or the session ended."""
    cause: CutCause
    """Why the player abandoned the segment."""


CutCause = Annotated[
    Literal["seek", "end"],
    Meaning(
        "Why a player abandoned a segment.",
        {"seek": "The viewer moved the play position.", "end": "The viewer's session was over."},
    ),
]


class Player(Wire):
    """An action of the player. The records are in order of time."""

    record: Literal["player"]
    """Always `player`."""
    at_ns: U64
    """When the player did this, or when it happened."""
    action: Action
    """What the player did, such as playing or seeking, or what happened to it."""


class Play(Wire):
    """Playback begins, or resumes after a stall or a seek."""

    kind: Literal["play"]
    """Always `play`."""
    segment: U32
    """The segment from whose beginning the player plays."""


class Stall(Wire):
    """The buffer has run out."""

    kind: Literal["stall"]
    """Always `stall`."""


class Seek(Wire):
    """The viewer moves the play position."""

    kind: Literal["seek"]
    """Always `seek`."""
    segment: U32
    """The segment to whose beginning the viewer seeks."""


class Switch(Wire):
    """The player requests another quality than before."""

    kind: Literal["switch"]
    """Always `switch`."""
    quality: U32
    """Index of the quality."""


class PlayEnd(Wire):
    """The viewer's session ends."""

    kind: Literal["end"]
    """Always `end`."""


Action = Annotated[
    Play | Stall | Seek | Switch | PlayEnd,
    Field(discriminator="kind"),
    Meaning("An action of a player."),
]
