"""Metrics on where the time of a transfer went: a share for each cause. The shares add up to 1."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from netwarp.measure.metric import Metric
from netwarp.measure.run_records import RunRecords
from netwarp.metrics.causes import CAUSES, Cause, attribution
from netwarp.metrics.shares import share


@dataclass(frozen=True)
class CauseText:
    """The texts and the colour with which a cause is shown."""

    name: str
    meaning: str
    """What happened in this time, as a clause that follows "in which"."""
    colour: str


CAUSE_TEXTS: Mapping[Cause, CauseText] = {
    "connecting": CauseText("connecting", "TCP or SCTP connected", "#332288"),
    "handshake": CauseText("handshake", "TLS or QUIC set up a secure connection", "#AA4499"),
    "application": CauseText(
        "the application", "the sender had nothing to send, or the other end had not asked yet",
        "#999999",
    ),
    "rwnd": CauseText("the receive window", "the peer's window held the sender back", "#E69F00"),
    "sndbuf": CauseText(
        "the send buffer", "all that fits into the send buffer had been sent", "#F0E442"
    ),
    "slow_start": CauseText(
        "slow start", "the congestion window was full, below the slow start threshold", "#88CCEE"
    ),
    "avoidance": CauseText(
        "congestion avoidance", "the congestion window was full, above the threshold", "#0072B2",
    ),
    "recovery": CauseText("recovery", "TCP recovered from a loss", "#882255"),
    "pacing": CauseText(
        "pacing", "the congestion window had room, and packets were spaced", "#CC6677"
    ),
    "timeout": CauseText(
        "time-outs", "a retransmission timer ran, or TCP repeated what it found lost", "#D55E00",
    ),
    "link": CauseText("the link's rate", "the bottleneck sent its packets", "#009E73"),
    "queue": CauseText(
        "queueing", "the handshake waited in queues", "#DDCC77"
    ),
    "propagation": CauseText(
        "propagation", "request and first byte were on their way", "#BBCCBB"
    ),
    "not_told": CauseText(
        "not told", "the stack does not tell what held the sender back, as SCTP's and QUIC's do not"
        " while they repair losses", "#EEEEEE",
    ),
}  # fmt: skip
"""Names, meanings and colours of all causes, in the order in which they are shown."""


def _shares(run: RunRecords) -> Mapping[Cause, float] | None:
    found = attribution(run)
    return None if found is None else found.shares


def cause_metric(cause: Cause) -> str:
    """Return the name of the metric for a cause's share of the time."""
    return f"time_in_{cause}_ratio"


ATTRIBUTION_METRICS = tuple(
    Metric(
        cause_metric(cause), "ratio", "neither", f"Time in {CAUSE_TEXTS[cause].name}",
        f"Share of the time from the first connect to the last byte in which"
        f" {CAUSE_TEXTS[cause].meaning}.",
        "queue_samples", partial(share, shares=_shares, key=cause),
    )
    for cause in CAUSES
)  # fmt: skip
