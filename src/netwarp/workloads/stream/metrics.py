"""Metrics of a streaming session: loading delay, stalls, quality."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from netwarp.measure.metric import FASTER, SHORTER, Metric
from netwarp.measure.ranks import nearest_rank
from netwarp.measure.run_records import RunRecords
from netwarp.units import NS_PER_S
from netwarp.wire import CutSegment, Player, Segment, Stream, Switch
from netwarp.workloads.stream.censoring import kaplan_meier_mean
from netwarp.workloads.stream.playback import Piece, Span, pieces, spans

_LOAD = "From a segment's request to its last byte, waiting and transfer"
_SHARE = "Share of the play time in the"


@dataclass(frozen=True)
class _Session:
    """A player's session, from which all its metrics are computed."""

    stream: Stream
    spans: Sequence[Span]
    played: Sequence[Piece]
    switches: int
    loading_s: Sequence[float]
    """Loading delays in s, ascending."""
    cut_s: Sequence[float] | None
    """For each segment that was cut off, the time in s from when the player wanted it; its loading
    delay would have been longer. None if the record was written by a version of netwarp that did
    not record this."""

    def of_state(self, state: str) -> list[Span]:
        """Return the spans in one state, in order of time."""
        return [span for span in self.spans if span.state == state]

    @property
    def quality_shares(self) -> list[float]:
        """Share of the play time in each quality; empty if nothing was played."""
        lengths_ns = [0] * len(self.stream.qualities)
        for piece in self.played:
            lengths_ns[piece.segment.quality] += piece.end_ns - piece.start_ns
        return [length_ns / sum(lengths_ns) for length_ns in lengths_ns] if self.played else []


def _session_of(run: RunRecords) -> _Session:
    stream = run.job.only.workload
    if not isinstance(stream, Stream):
        raise TypeError(f"{run.job.run} has no player")
    segments = run.of_kind(Segment)
    session = spans(run.records, run.span_ns[0])
    return _Session(
        stream,
        session,
        list(pieces(session, segments, stream)),
        sum(isinstance(each.action, Switch) for each in run.of_kind(Player)),
        sorted((each.last_byte_ns - each.requested_ns) / NS_PER_S for each in segments),
        _cut_s(segments, run.of_kind(CutSegment)),
    )


def _cut_s(segments: Sequence[Segment], cut: Sequence[CutSegment]) -> list[float] | None:
    requests = {each.request for each in segments}
    requests |= {each.request for each in cut if each.request is not None}
    if requests and max(requests) >= len(requests):
        return None
    return [(each.cut_ns - each.requested_ns) / NS_PER_S for each in cut]


def _loading_delay_s(run: RunRecords) -> float | None:
    loading_s = run.computed_once(_session_of).loading_s
    return math.fsum(loading_s) / len(loading_s) if loading_s else None


def _loading_delay_with_cut_s(run: RunRecords) -> float | None:
    session = run.computed_once(_session_of)
    if session.cut_s is None:
        return None
    return kaplan_meier_mean(session.loading_s, session.cut_s)


def _loading_delay_quantile_s(run: RunRecords, share: float) -> float | None:
    loading_s = run.computed_once(_session_of).loading_s
    return nearest_rank(share, loading_s) if loading_s else None


def _cut_ratio(run: RunRecords) -> float | None:
    session = run.computed_once(_session_of)
    if session.cut_s is None:
        return None
    wanted = len(session.loading_s) + len(session.cut_s)
    return len(session.cut_s) / wanted if wanted else None


def _startup_delay_s(run: RunRecords) -> float | None:
    session = run.computed_once(_session_of).spans
    return session[0].length_ns / NS_PER_S if session and not session[0].cut_short else None


def _count(run: RunRecords, state: str) -> float:
    return len(run.computed_once(_session_of).of_state(state))


def _stall_s(run: RunRecords) -> float:
    return (
        sum(span.length_ns for span in run.computed_once(_session_of).of_state("stalled"))
        / NS_PER_S
    )


def _seek_to_play_s(run: RunRecords) -> float | None:
    seeks = run.computed_once(_session_of).of_state("seeking")
    waits_ns = [span.length_ns for span in seeks if not span.cut_short]
    return sum(waits_ns) / len(waits_ns) / NS_PER_S if waits_ns else None


def _quality_share(run: RunRecords, quality: int) -> float | None:
    shares = run.computed_once(_session_of).quality_shares
    return shares[quality] if shares else None


def _quality_mean(run: RunRecords) -> float | None:
    shares = run.computed_once(_session_of).quality_shares
    return sum(index * share for index, share in enumerate(shares)) if shares else None


def _media_rate_bit_s(run: RunRecords) -> float | None:
    session = run.computed_once(_session_of)
    if not session.played:
        return None
    sizes_bits = (8 * quality.segment_bytes for quality in session.stream.qualities)
    shares = session.quality_shares
    mean_bits = sum(share * bits for share, bits in zip(shares, sizes_bits, strict=True))
    return mean_bits * NS_PER_S / session.stream.segment_ns


STREAM_METRICS = (
    Metric(
        "loading_delay_s", "s", "lower", "Loading delay",
        f"{_LOAD}; mean over the segments that arrived. Those that the viewer cut off have none.",
        "segment", _loading_delay_s, FASTER, head="loading",
        beside=("startup_delay_s", "stall_s", "media_rate_bit_s"),
    ),
    Metric(
        "loading_delay_with_cut_s", "s", "lower", "Loading delay, cut segments included",
        f"{_LOAD}; mean over the segments wanted, by Kaplan and Meier's estimator: of a segment"
        " that the viewer cut off it is known that it would have taken longer than until then"
        " (right-censored). Where the longest of all was cut off, a lower bound.",
        "segment, cut_segment", _loading_delay_with_cut_s, FASTER,
        beside=("loading_delay_s", "cut_segments", "media_rate_bit_s"),
    ),
    *(
        Metric(
            f"loading_delay_s_p{percent}", "s", "lower", f"Loading delay, {name}",
            f"{_LOAD}; {name}.", "segment",
            partial(_loading_delay_quantile_s, share=percent / 100), FASTER,
        )
        for percent, name in ((50, "median"), (95, "95th percentile"), (99, "99th percentile"))
    ),
    Metric(
        "startup_delay_s", "s", "lower", "Start-up delay",
        "From the client's first connect until the player plays for the first time.",
        "player", _startup_delay_s, FASTER, head="start-up", in_report=True,
    ),
    Metric(
        "stalls", "count", "lower", "Stalls", "How often nothing was left to play.",
        "player", partial(_count, state="stalled"), in_report=True,
    ),
    Metric(
        "stall_s", "s", "lower", "Time stalled",
        "Time in which nothing was left to play; until it plays again, or the viewer moves or"
        " leaves; all stalls together.",
        "player", _stall_s, SHORTER, head="stalled", in_report=True,
    ),
    Metric(
        "seeks", "count", "neither", "Seeks", "How often the viewer moved the play position.",
        "player", partial(_count, state="seeking"),
    ),
    Metric(
        "seek_to_play_s", "s", "lower", "From seek to play",
        "From a seek until the player plays again; mean over the seeks after which it did before"
        " the next one. This wait is not a stall.",
        "player", _seek_to_play_s, FASTER, in_report=True,
    ),
    Metric(
        "cut_segments", "count", "lower", "Segments cut off",
        "Segments that the player wanted and that had not arrived when the viewer moved or left.",
        "player, cut_segment",
        lambda run: None if (cut_s := run.computed_once(_session_of).cut_s) is None else len(cut_s),
        in_report=True,
    ),
    Metric(
        "cut_ratio", "ratio", "lower", "Share of segments cut off",
        "Segments cut off, as a share of those wanted.",
        "segment, cut_segment", _cut_ratio,
    ),
    Metric(
        "switches", "count", "lower", "Quality switches",
        "How often the player asked for another quality than before.",
        "player", lambda run: run.computed_once(_session_of).switches, in_report=True,
    ),
    Metric(
        "quality_share_lowest", "ratio", "lower", "Play time in the lowest quality",
        f"{_SHARE} lowest quality.", "player, segment", partial(_quality_share, quality=0),
    ),
    Metric(
        "quality_share_highest", "ratio", "higher", "Play time in the highest quality",
        f"{_SHARE} highest quality.", "player, segment", partial(_quality_share, quality=-1),
    ),
    Metric(
        "quality_mean", "index", "higher", "Mean quality, 0 the lowest",
        "Mean index of the quality over the play time, 0 for the lowest.",
        "player, segment", _quality_mean,
    ),
    Metric(
        "media_rate_bit_s", "bit/s", "higher", "Bit rate played",
        "Bit rate of the medium in the qualities played, mean over the play time.",
        "player, segment", _media_rate_bit_s, head="played", in_report=True,
    ),
)  # fmt: skip
