"""What a viewer saw: loading, waiting, quality."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from netwarp.metrics.playback import Piece, Span, pieces, spans
from netwarp.metrics.select import content_bytes, of_kind, ready_ns, span_ns
from netwarp.units import NS_PER_S
from netwarp.wire import Player, Segment, Stream, Switch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netwarp.wire import Job, Record

PERCENTILES = (50, 95, 99)


def stream_metrics(job: Job, records: Sequence[Record]) -> dict[str, float]:
    """Compute a player's metrics.

    A session is as long as its viewer watches, waits included: it has no completion time.
    """
    workload = job.workload
    if not isinstance(workload, Stream):
        raise TypeError(f"{job.run} is not a stream")
    start_ns, end_ns = span_ns(job, records)
    segments = of_kind(records, Segment)
    session = spans(records, start_ns)
    played = list(pieces(session, segments, workload))
    switches = sum(isinstance(each.action, Switch) for each in of_kind(records, Player))
    first_byte_ns = min(segment.first_byte_ns for segment in segments)
    content_bits = 8 * content_bytes(job, records)
    return {
        "connect_time_s": (ready_ns(records) - start_ns) / NS_PER_S,
        "first_byte_s": (first_byte_ns - start_ns) / NS_PER_S,
        "goodput_bit_s": content_bits * NS_PER_S / (end_ns - start_ns),
        **_loading(segments),
        **_waiting(session),
        "switches": switches,
        **(_quality(workload, played) if played else {}),
    }


def _loading(segments: Sequence[Segment]) -> dict[str, float]:
    delays_s = sorted((each.last_byte_ns - each.requested_ns) / NS_PER_S for each in segments)
    found = {"loading_delay_s": math.fsum(delays_s) / len(delays_s)}
    for percent in PERCENTILES:
        found[f"loading_delay_s_p{percent}"] = _quantile(delays_s, percent / 100)
    return found


def _waiting(session: Sequence[Span]) -> dict[str, float]:
    stalls = [span for span in session if span.state == "stalled"]
    seeks = [span for span in session if span.state == "seeking"]
    found = {
        "stalls": len(stalls),
        "stall_s": sum(span.length_ns for span in stalls) / NS_PER_S,
        "seeks": len(seeks),
    }
    start = session[0]
    if not start.cut_short:
        found["startup_delay_s"] = start.length_ns / NS_PER_S
    waits_ns = [span.length_ns for span in seeks if not span.cut_short]
    if waits_ns:
        found["seek_to_play_s"] = sum(waits_ns) / len(waits_ns) / NS_PER_S
    return found


def _quality(workload: Stream, played: Sequence[Piece]) -> dict[str, float]:
    """Weigh qualities by how long they were played."""
    lengths_ns = [0] * len(workload.qualities)
    for piece in played:
        lengths_ns[piece.segment.quality] += piece.end_ns - piece.start_ns
    total_ns = sum(lengths_ns)
    shares = [length_ns / total_ns for length_ns in lengths_ns]
    rates_bit_s = [8 * q.segment_bytes * NS_PER_S / workload.segment_ns for q in workload.qualities]
    return {
        "quality_share_lowest": shares[0],
        "quality_share_highest": shares[-1],
        "quality_mean": sum(index * share for index, share in enumerate(shares)),
        "media_rate_bit_s": sum(s * rate for s, rate in zip(shares, rates_bit_s, strict=True)),
    }


def _quantile(ascending: Sequence[float], share: float) -> float:
    """Interpolate between order statistics (type 7 of Hyndman and Fan 1996)."""
    place = share * (len(ascending) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ascending) - 1)
    return ascending[below] + (place - below) * (ascending[above] - ascending[below])
