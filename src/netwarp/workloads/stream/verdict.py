"""Checks that a player received valid segments, and that its session ran to its end."""

from collections.abc import Sequence

from netwarp.measure.select import of_kind
from netwarp.wire import CutSegment, PlayEnd, Player, Record, Segment, Stream


def difference(stream: Stream, records: Sequence[Record]) -> str | None:
    """Return how the player's records contradict each other or the job; None if they do not."""
    segments = of_kind(records, Segment)
    if not segments and stream.viewer_clock == "play":
        return "the player got no segment"
    for each in segments:
        if difference := _segment_difference(stream, each):
            return f"segment {each.segment} (request {each.request}) {difference}"
    for cut in of_kind(records, CutSegment):
        if difference := _cut_difference(stream, cut):
            return f"segment {cut.segment}, which was cut off, {difference}"
    actions = [player.action for player in of_kind(records, Player)]
    ends = sum(isinstance(action, PlayEnd) for action in actions)
    if ends != 1 or not isinstance(actions[-1], PlayEnd):
        return "the player did not say, as its last word, that the viewer had seen enough"
    return None


def _cut_difference(stream: Stream, cut: CutSegment) -> str | None:
    if cut.segment >= stream.segments:
        return f"is not in the medium of {stream.segments}"
    if cut.quality is not None and cut.quality >= len(stream.qualities):
        return f"has quality {cut.quality} of {len(stream.qualities)}"
    if cut.cut_ns < cut.requested_ns:
        return f"was cut off at {cut.cut_ns} ns, before it was wanted at {cut.requested_ns} ns"
    return None


def _segment_difference(stream: Stream, segment: Segment) -> str | None:
    if segment.segment >= stream.segments:
        return f"is not in the medium of {stream.segments}"
    if segment.quality >= len(stream.qualities):
        return f"has quality {segment.quality} of {len(stream.qualities)}"
    wanted_bytes = stream.qualities[segment.quality].segment_bytes
    if segment.bytes != wanted_bytes:
        return f"has {segment.bytes} of {wanted_bytes} bytes"
    if stream.verify and segment.sha256 is None:
        return "was not hashed, and was to be"
    return None
