"""Metrics on what limited the sender: for each limit, the share of the time of its connections."""

from collections.abc import Mapping
from functools import partial

from netwarp.measure.limits import LIMITS, Limit, limited_shares
from netwarp.measure.metric import Metric
from netwarp.measure.run_records import RunRecords
from netwarp.metrics.shares import share

_WORDS: Mapping[Limit, tuple[str, str]] = {
    "application": ("the application", "it had sent all that it was given"),
    "rwnd": ("the receive window", "its peer's window held it back"),
    "sndbuf": ("the send buffer", "its send buffer had no more to send"),
    "link": ("the link", "it sent what it could, and packets queued at the bottleneck"),
    "pacing": ("pacing", "it paced its packets, its window had room, and none queued"),
    "cwnd": ("the congestion window", "its window was full, and no packet queued"),
}


def _shares(run: RunRecords) -> Mapping[Limit, float] | None:
    return limited_shares(run.job, run.records, run.whole_span_ns[1])


def limit_metric(limit: Limit) -> str:
    """Return the name of the metric for a limit's share of the time."""
    return f"limited_by_{limit}_ratio"


LIMIT_METRICS = tuple(
    Metric(
        limit_metric(limit), "ratio", "neither", f"Limited by {_WORDS[limit][0]}",
        f"Share of the time of the sender's connections in which {_WORDS[limit][1]}.",
        "connection_samples", partial(share, shares=_shares, key=limit),
    )
    for limit in LIMITS
)  # fmt: skip
