"""Reconstructs a player's session as spans of time: waiting, playing, stalled, seeking.

A session is: connect, wait, play; then stalls (nothing left to play, until it plays again) and
seeks (the viewer moves, until it plays again), and an end. A seek ends a stall: the viewer waits
for the seek from then on.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from netwarp.wire import Play, PlayEnd, Player, Record, Seek, Segment, Stall, Stream

State = Literal["waiting", "playing", "stalled", "seeking"]


@dataclass(frozen=True)
class Span:
    """A span of time from `start_ns` to `end_ns` in which the player was in one state."""

    state: State
    start_ns: int
    end_ns: int
    segment: int | None
    """Number of the first segment that is played in the span; for a seek, of the segment to which
    the viewer moves."""
    cut_short: bool
    """Whether the wait ended without playing (by a seek or the session's end), so that its full
    length is unknown."""

    @property
    def length_ns(self) -> int:
        """Length of the span, in ns."""
        return self.end_ns - self.start_ns


@dataclass(frozen=True)
class Piece:
    """A part of the play time that lies within one received segment."""

    start_ns: int
    end_ns: int
    segment: Segment


def spans(records: Iterable[Record], start_ns: int) -> list[Span]:
    """Divide a session, from the client's first connect to its end, into spans by state."""
    found: list[Span] = []
    state: State = "waiting"
    since_ns, segment = start_ns, None
    for record in records:
        if not isinstance(record, Player):
            continue
        action, at_ns = record.action, record.at_ns
        new_state: State
        new_segment: int | None = None
        match action:
            case Play():
                new_state, new_segment = "playing", action.segment
            case Stall():
                new_state = "stalled"
            case Seek():
                new_state, new_segment = "seeking", action.segment
            case PlayEnd():
                new_state = "waiting"
            case _:
                continue
        cut_short = not isinstance(action, Play)
        found.append(Span(state, since_ns, at_ns, segment, cut_short))
        state, since_ns, segment = new_state, at_ns, new_segment
    return found


def pieces(
    session: Sequence[Span], segments: Sequence[Segment], workload: Stream
) -> Iterator[Piece]:
    """Divide play time by the received segments that were played, in order of time.

    A segment may be received several times, in different qualities: the one that was requested
    last, of those received by its play time, is played. Time for which no segment was received is
    in no piece. The video's last segment is followed by its first.
    """
    by_place: dict[int, list[Segment]] = {}
    for each in segments:
        by_place.setdefault(each.segment, []).append(each)
    for span in session:
        if span.state != "playing" or span.segment is None:
            continue
        start_ns, place = span.start_ns, span.segment
        while start_ns < span.end_ns:
            there = [each for each in by_place.get(place, []) if each.last_byte_ns <= start_ns]
            end_ns = min(start_ns + workload.segment_ns, span.end_ns)
            if there:
                yield Piece(start_ns, end_ns, max(there, key=lambda each: each.request))
            start_ns, place = end_ns, (place + 1) % workload.segments


def buffer_levels(records: Iterable[Record], workload: Stream) -> list[tuple[int, int]]:
    """Return the buffer level over time as the vertices of a line: time and play time, both in ns.

    It rises with each segment that arrives, falls while playing, and is 0 after a seek; a segment
    that was requested before the last seek no longer counts.
    """
    events: list[tuple[int, int, Segment | Player]] = [
        # A segment that arrives exactly when the buffer runs out is in time.
        (each.last_byte_ns, 0, each) if isinstance(each, Segment) else (each.at_ns, 1, each)
        for each in records
        if isinstance(each, Segment | Player)
    ]
    corners = [(0, 0)]
    level_ns, playing, wanted_since_ns = 0, False, 0
    for at_ns, _, each in sorted(events, key=lambda event: event[:2]):
        if playing:
            level_ns = max(0, level_ns - (at_ns - corners[-1][0]))
        corners.append((at_ns, level_ns))
        if isinstance(each, Segment):
            level_ns += workload.segment_ns if each.requested_ns >= wanted_since_ns else 0
        elif isinstance(each.action, Seek):
            level_ns, playing, wanted_since_ns = 0, False, at_ns
        elif isinstance(each.action, Play):
            playing = True
        elif isinstance(each.action, Stall | PlayEnd):
            playing = False
        if corners[-1][1] != level_ns:
            corners.append((at_ns, level_ns))
    return corners
