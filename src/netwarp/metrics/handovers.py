"""Metrics of the client's handovers between access points."""

from netwarp.measure.metric import SHORTER, Metric
from netwarp.measure.run_records import RunRecords
from netwarp.units import NS_PER_S, seconds

_GAP = "Longest time without new content that a handover made"


def _reconnections(run: RunRecords) -> float | None:
    return run.given_up if run.job.timeline.has_handovers else None


def _handover_gap_s(run: RunRecords) -> float | None:
    gaps_ns = run.handover_gaps_ns
    return sum(gaps_ns) / len(gaps_ns) / NS_PER_S if gaps_ns else None


HANDOVER_METRICS = (
    Metric(
        "reconnections", "count", "neither", "Reconnections",
        "Connections given up because the client moved, and dialled anew.",
        "connection", _reconnections, in_report=True,
    ),
    Metric(
        "handover_gap_s", "s", "lower", "Gap at a handover", f"{_GAP}; mean over the handovers.",
        "handover", _handover_gap_s, SHORTER, in_report=True,
    ),
    Metric(
        "handover_gap_s_max", "s", "lower", "Longest gap at a handover",
        f"{_GAP}; the longest of all.", "handover",
        lambda run: seconds(max(run.handover_gaps_ns, default=None)), SHORTER,
    ),
)  # fmt: skip
