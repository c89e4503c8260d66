"""The workload `stream`: adaptive streaming of a video in segments, to a player with a buffer."""

from collections.abc import Mapping, Sequence

from netwarp import wire
from netwarp.fields import KeyValueError, Section
from netwarp.measure.select import connections, of_kind
from netwarp.wire import CutSegment, Job, PlayEnd, Player, Record, Segment
from netwarp.workloads.activity import Activity, Phase, Tone
from netwarp.workloads.base import Workload
from netwarp.workloads.stream import verdict
from netwarp.workloads.stream.metrics import STREAM_METRICS
from netwarp.workloads.stream.playback import buffer_levels, pieces, spans
from netwarp.workloads.stream.section import OF_RULES, StreamSection

WAITS = {"waiting": "start-up", "stalled": "stalled", "seeking": "seek"}
"""Labels in charts for the states in which a player waits."""
TONES: Mapping[str, Tone] = {"start-up": "start", "stalled": "stopped", "seek": "moving"}


class StreamWorkload(Workload[wire.Stream]):
    """Adaptive streaming; metrics are those of the whole session."""

    section = StreamSection
    wire_type = wire.Stream
    metrics = STREAM_METRICS
    content_records = ("segment",)

    def refuse_unused(self, given: Mapping[str, object], sections: Sequence[Section]) -> None:
        """Refuse keys of a rule for choosing a quality if no cell uses that rule."""
        used = {each.rule for each in sections if isinstance(each, StreamSection)}
        for key, rules in OF_RULES.items():
            if given.get(key) is not None and used.isdisjoint(rules):
                reason = f"no rule of the study uses it ({', '.join(sorted(used))})"
                remedy = f'drop it, or choose rule = "{rules[-1]}"'
                raise KeyValueError(key, given[key], reason, remedy)

    def content_bytes(self, job: Job) -> int:
        """Return the content in bytes of a session that plays the best quality throughout."""
        stream = self.of(job)
        return stream.qualities[-1].segment_bytes * stream.watch_ns // stream.segment_ns

    def server_refusal(self, job: Job) -> None:
        """Return None: a server does not refuse the workload, because all content is generated from
        seeds.
        """

    def real_path_refusal(self, job: Job) -> str | None:
        """Return the reason why the workload cannot run over a real path: the player needs to know
        the link's delay. None if it can.
        """
        if isinstance(self.of(job).rule, wire.LinkDelayRule):
            return (
                "its player is told the link's delay, which nobody knows of a real path: choose"
                ' rule = "delay", by which the player measures it'
            )
        return None

    def most_content_bytes(self, job: Job) -> int:
        """Return the most bytes that a session can transfer: segments of the best quality, for all
        that is watched and buffered.
        """
        stream = self.of(job)
        largest_bytes = max(quality.segment_bytes for quality in stream.qualities)
        watched = -(-stream.watch_ns // max(1, stream.segment_ns)) + 1
        return largest_bytes * (watched + stream.segments)

    def may_end_unconnected(self, job: Job) -> bool:
        """Return whether a session can end before its connection is established, as is possible if
        the viewer's clock is wall time.
        """
        return self.of(job).viewer_clock == "wall"

    def start_ns(self, records: Sequence[Record]) -> int:
        """Return when the client first called connect. For a player that was never connected, it is
        the time at which it requested its first segment.
        """
        if connections(records, "client"):
            return super().start_ns(records)
        return min((each.requested_ns for each in of_kind(records, CutSegment)), default=0)

    def arrivals(self, job: Job, records: Sequence[Record]) -> Sequence[Segment]:
        """Return the segments that the player received."""
        return of_kind(records, Segment)

    def end_ns(self, job: Job, records: Sequence[Record]) -> int:
        """Return when the viewer's session ended, in ns of the run's clock."""
        return max(_ends_ns(records))

    def difference(self, job: Job, records: Sequence[Record]) -> str | None:
        """Return how the player's records contradict each other or the job; None if they do not."""
        return verdict.difference(self.of(job), records)

    def chart_end_ns(self, records: Sequence[Record]) -> int | None:
        """Return when the viewer's session ended."""
        return max(_ends_ns(records), default=None)

    def activity(self, job: Job, records: Sequence[Record]) -> Activity:
        """Return the qualities played, the waits, and the level of the buffer over time."""
        stream = self.of(job)
        session = spans(records, self.start_ns(records))
        phases = [
            Phase(span.start_ns, span.end_ns, WAITS[span.state])
            for span in session
            if span.state != "playing"
        ]
        phases += [
            Phase(piece.start_ns, piece.end_ns, stream.qualities[piece.segment.quality].name)
            for piece in pieces(session, of_kind(records, Segment), stream)
        ]
        grades: dict[str, Tone] = {quality.name: "grade" for quality in stream.qualities}
        return Activity(
            title="The player",
            tones={**grades, **TONES},
            phases=sorted(phases, key=lambda phase: phase.start_ns),
            buffered_ns=buffer_levels(records, stream),
            jumps=[
                (span.start_ns, f"to segment {span.segment}")
                for span in session
                if span.state == "seeking"
            ],
        )


def _ends_ns(records: Sequence[Record]) -> list[int]:
    return [each.at_ns for each in of_kind(records, Player) if isinstance(each.action, PlayEnd)]
