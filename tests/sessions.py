"""A player's session written down by hand, for the tests of what is made of it."""

from __future__ import annotations

from pathlib import Path

from netwarp.wire import (
    Action,
    CutSegment,
    Play,
    PlayEnd,
    Player,
    Record,
    Seek,
    Segment,
    Stall,
    job_from_json,
    read_records,
)

GOLDEN = Path(__file__).parent / "golden"
MS = 1_000_000
STREAM_JOB = job_from_json((GOLDEN / "job-stream-handovers.json").read_text())
SIZES_BYTES = (4_000_000, 4_500_000, 5_000_000)
STALL = Stall(kind="stall")
END = PlayEnd(kind="end")


def play(segment: int) -> Play:
    return Play(kind="play", segment=segment)


def seek(segment: int) -> Seek:
    return Seek(kind="seek", segment=segment)


def segment(request: int, place: int, quality: int, asked_ms: int, there_ms: int) -> Segment:
    """Make the record of a segment; all sizes are those of the golden job's medium."""
    return Segment(
        record="segment", request=request, segment=place, quality=quality, connection=0, stream=0,
        bytes=SIZES_BYTES[quality], requested_ns=asked_ms * MS, first_byte_ns=(asked_ms + 1) * MS,
        last_byte_ns=there_ms * MS, buffer_ns=0, sha256="ab" * 32,
    )  # fmt: skip


def cut(request: int | None, place: int, asked_ms: int, cut_ms: int) -> CutSegment:
    """Make the record of a segment that a seek cut off; in the lowest quality, if requested."""
    return CutSegment(
        record="cut_segment", request=request, segment=place,
        quality=None if request is None else 0, requested_ns=asked_ms * MS, cut_ns=cut_ms * MS,
        cause="seek",
    )  # fmt: skip


def player(at_ms: float, action: Action) -> Player:
    return Player(record="player", at_ns=round(at_ms * MS), action=action)


def golden_records() -> list[Record]:
    return read_records(GOLDEN / "records-stream.jsonl")


def session(*middle: Record) -> list[Record]:
    """Put segments and actions in place of those of the golden run, which connects at 1 µs."""
    kept = [
        each for each in golden_records() if not isinstance(each, Segment | CutSegment | Player)
    ]
    return [*kept[:-1], *middle, kept[-1]]
