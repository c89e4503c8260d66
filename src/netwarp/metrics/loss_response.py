"""How a sender responds to loss, measured at the bottleneck: what the first overflow of a queue
cost, and how far the rate falls after a single loss.

Both follow from samples of the bottleneck, not from the sender's reports on its window, and so
exist for every implementation of a transport.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import pairwise

from netwarp.measure.metric import Metric
from netwarp.measure.queueing import Delays, queue_samples, rtts_under_load, sent_bytes_at
from netwarp.measure.run_records import RunRecords
from netwarp.wire import QueueSamples

BEFORE_RTTS = (0.5, 1.5)
"""Begin and end, in round-trip times after a loss, of the window in which the bottleneck sends what
the sender had sent before it could know of the loss. The counter is behind the delay line, so it
counts what was sent half a round-trip time before."""
AFTER_RTTS = (3.0, 4.0)
"""Begin and end, in round-trip times after a loss, of the window in which the bottleneck sends what
the sender sent after it had repaired the loss: the sender learns of it after one round-trip time,
and has reduced its window after another."""
LEAST_SAMPLES = 2
"""Least number of samples within a window that tell what was sent in it."""


def _samples(run: RunRecords) -> QueueSamples | None:
    """Return the samples of the first path in the content's direction; None if there are fewer than
    two.
    """
    samples = queue_samples(run.records, run.job.direction)
    return samples if samples is not None and len(samples.at_ns) > 1 else None


def _drops(samples: QueueSamples) -> list[tuple[int, int]]:
    """Return the drops of packets: the time in ns of the last sample before each, and the number of
    packets dropped by then.

    Packets that the bottleneck sent after that time may have been sent before the drop, but those
    before it were not sent after the drop.
    """
    counted = zip(samples.at_ns, samples.dropped_packets, strict=True)
    steps = pairwise([(0, 0), *counted])
    return [(earlier, now) for (earlier, before), (_, now) in steps if now > before]


def _rtt_ns(rtts: Delays, at_ns: int) -> float:
    """Return the round-trip time under load at a time in ns, as the next sample has it."""
    place = min(bisect_left(rtts.at_ns, at_ns), len(rtts.at_ns) - 1)
    return rtts.delay_ns[place]


def _samples_within(samples: QueueSamples, since_ns: float, until_ns: float) -> int:
    return bisect_right(samples.at_ns, until_ns) - bisect_left(samples.at_ns, since_ns)


def _overshoot(run: RunRecords) -> float | None:
    samples = _samples(run)
    asked = any(getattr(each, run.job.direction).loss.kind != "none" for each in run.job.paths)
    lost = sum(each.lost_packets or 0 for each in run.calibration(run.job.direction))
    if samples is None or asked or lost or run.job.network is not None:
        return None
    drops, rtts = _drops(samples), rtts_under_load(run.job, run.records)
    if not drops:
        return 0.0
    last_ns, dropped = drops[0]
    for at_ns, now in drops[1:]:
        if at_ns - last_ns > _rtt_ns(rtts, last_ns):
            break
        last_ns, dropped = at_ns, now
    return float(dropped)


def _response(run: RunRecords) -> float | None:
    samples = _samples(run)
    drops = _drops(samples) if samples is not None else []
    if samples is None or not drops or run.job.network is not None:
        return None
    lost_ns, now = drops[-1]
    rtt_ns = _rtt_ns(rtts_under_load(run.job, run.records), lost_ns)
    earlier_ns, before = drops[-2] if len(drops) > 1 else (0, 0)
    is_alone = now - before == 1 and lost_ns - earlier_ns > AFTER_RTTS[1] * rtt_ns
    if not is_alone or lost_ns + AFTER_RTTS[1] * rtt_ns > run.whole_span_ns[1]:
        return None
    windows = [
        (lost_ns + begin * rtt_ns, lost_ns + end * rtt_ns)
        for begin, end in (BEFORE_RTTS, AFTER_RTTS)
    ]
    if any(_samples_within(samples, *window) < LEAST_SAMPLES for window in windows):
        return None
    full, reduced = (
        sent_bytes_at(samples, until_ns) - sent_bytes_at(samples, since_ns)
        for since_ns, until_ns in windows
    )
    return reduced / full if full else None


LOSS_RESPONSE_METRICS = (
    Metric(
        "slow_start_overshoot_packets", "packets", "lower", "Overshoot of slow start",
        "Packets that the first overflow of the queue cost: those dropped from the first one on,"
        " until a round-trip time under load passes without another. 0 where the queue never"
        " overflows; missing where the path is asked to lose packets, as those are not told apart.",
        "queue_samples", _overshoot,
    ),
    Metric(
        "loss_response_ratio", "ratio", "neither", "Rate after a loss",
        "What is sent in a round-trip time once the run's last loss is repaired, over what is sent"
        " in one before the sender can know of it: the multiplicative decrease. Missing unless that"
        " loss is a single packet with four round-trip times without another before it and of"
        " content after it, and both times have two samples or more.",
        "queue_samples", _response,
    ),
)  # fmt: skip
