"""What a viewer saw: loading, waiting, quality."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

from netwarp.metrics.metric import FASTER, SHORTER, Metric
from netwarp.units import NS_PER_S
from netwarp.wire import Switch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netwarp.metrics.playback import Span
    from netwarp.metrics.run_records import RunRecords

_LOAD = "From a segment's request to its last byte, waiting and transfer"
_SHARE = "Share of the play time in the"


def _loading_delay_s(run: RunRecords) -> float | None:
    delays_s = _delays_s(run)
    return math.fsum(delays_s) / len(delays_s) if delays_s else None


def _loading_delay_quantile_s(run: RunRecords, share: float) -> float | None:
    delays_s = _delays_s(run)
    return _quantile(delays_s, share) if delays_s else None


def _startup_delay_s(run: RunRecords) -> float | None:
    if not run.session or run.session[0].cut_short:
        return None
    return run.session[0].length_ns / NS_PER_S


def _stalls(run: RunRecords) -> float | None:
    return _of_player(run, len(_in_state(run, "stalled")))


def _stall_s(run: RunRecords) -> float | None:
    return _of_player(run, sum(span.length_ns for span in _in_state(run, "stalled")) / NS_PER_S)


def _seeks(run: RunRecords) -> float | None:
    return _of_player(run, len(_in_state(run, "seeking")))


def _seek_to_play_s(run: RunRecords) -> float | None:
    waits_ns = [span.length_ns for span in _in_state(run, "seeking") if not span.cut_short]
    return sum(waits_ns) / len(waits_ns) / NS_PER_S if waits_ns else None


def _switches(run: RunRecords) -> float | None:
    return _of_player(run, sum(isinstance(each.action, Switch) for each in run.player_actions))


def _quality_share(run: RunRecords, quality: int) -> float | None:
    shares = _quality_shares(run)
    return shares[quality] if shares else None


def _quality_mean(run: RunRecords) -> float | None:
    shares = _quality_shares(run)
    return sum(index * share for index, share in enumerate(shares)) if shares else None


def _media_rate_bit_s(run: RunRecords) -> float | None:
    shares = _quality_shares(run)
    if not shares or run.player is None:
        return None
    sizes_bits = (8 * quality.segment_bytes for quality in run.player.qualities)
    mean_bits = sum(share * bits for share, bits in zip(shares, sizes_bits, strict=True))
    return mean_bits * NS_PER_S / run.player.segment_ns


def _delays_s(run: RunRecords) -> list[float]:
    return sorted((each.last_byte_ns - each.requested_ns) / NS_PER_S for each in run.segments)


def _in_state(run: RunRecords, state: str) -> list[Span]:
    return [span for span in run.session if span.state == state]


def _of_player(run: RunRecords, value: float) -> float | None:
    return None if run.player is None else value


def _quality_shares(run: RunRecords) -> list[float]:
    """Weigh qualities by how long they were played; nothing where nothing was."""
    if run.player is None or not run.played:
        return []
    lengths_ns = [0] * len(run.player.qualities)
    for piece in run.played:
        lengths_ns[piece.segment.quality] += piece.end_ns - piece.start_ns
    return [length_ns / sum(lengths_ns) for length_ns in lengths_ns]


def _quantile(ascending: Sequence[float], share: float) -> float:
    """Interpolate between order statistics (type 7 of Hyndman and Fan 1996)."""
    place = share * (len(ascending) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ascending) - 1)
    return ascending[below] + (place - below) * (ascending[above] - ascending[below])


STREAM_METRICS = (
    Metric(
        "loading_delay_s", "s", "lower", "Loading delay", f"{_LOAD}; mean over the segments.",
        "segment", _loading_delay_s, FASTER, head="loading",
        beside=("startup_delay_s", "stall_s", "media_rate_bit_s"),
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
        "player", _stalls, in_report=True,
    ),
    Metric(
        "stall_s", "s", "lower", "Time stalled",
        "Time in which nothing was left to play; until it plays again, or the viewer moves or"
        " leaves; all stalls together.",
        "player", _stall_s, SHORTER, head="stalled", in_report=True,
    ),
    Metric(
        "seeks", "count", "neither", "Seeks", "How often the viewer moved the play position.",
        "player", _seeks,
    ),
    Metric(
        "seek_to_play_s", "s", "lower", "From seek to play",
        "From a seek until the player plays again; mean. This wait is not a stall.",
        "player", _seek_to_play_s, FASTER, in_report=True,
    ),
    Metric(
        "switches", "count", "lower", "Quality switches",
        "How often the player asked for another quality than before.",
        "player", _switches, in_report=True,
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
