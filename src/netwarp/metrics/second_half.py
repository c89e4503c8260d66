"""Metrics over the second half of a run, in which effects of its start no longer count.

Models and most publications are about steady state. Whether half of a run is long enough for the
start depends on the study: on how many losses, or round-trip times, a run has in all.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

from netwarp.measure.metric import Metric
from netwarp.measure.queueing import queue_samples, rtts_under_load, sent_bytes_at, value_at
from netwarp.measure.run_records import RunRecords
from netwarp.measure.select import connections, sampled_together, sender
from netwarp.measure.sharing import Arrived
from netwarp.units import NS_PER_S
from netwarp.wire import ConnectionSamples, Goodput


def mean_between(
    at_ns: Sequence[int], values: Sequence[float], since_ns: int, until_ns: int
) -> float | None:
    """Return the mean, between two times, of a value that is sampled and linear in between.

    Before the first sample and after the last one it is not known, and that time does not count;
    None if nothing else is left.
    """
    if not at_ns:
        return None
    since_ns, until_ns = max(since_ns, at_ns[0]), min(until_ns, at_ns[-1])
    if since_ns >= until_ns:
        return None
    inside = [
        (at, value) for at, value in zip(at_ns, values, strict=True) if since_ns < at < until_ns
    ]
    first, last = ((at, value_at(at_ns, values, at)) for at in (since_ns, until_ns))
    points = [first, *inside, last]
    area = sum((b - a) * (x + y) / 2 for (a, x), (b, y) in pairwise(points))
    return area / (until_ns - since_ns)


def mean_delivery_rate_bit_s(run: RunRecords, since_ns: int, until_ns: int) -> float | None:
    """Return the mean of TCP's estimates of its delivery rate that were sampled between two times,
    in bit/s, without those that are 0; of connections sampled together their sum. None if none
    reports an estimate.
    """
    side = sender(run.job)
    samples = [each for each in run.of_kind(ConnectionSamples) if each.side == side]
    sums = [
        sum(rates)
        for at_ns, rates in sampled_together(samples, "delivery_rate_bit_s").items()
        if since_ns <= at_ns <= until_ns
    ]
    known = [rate_bit_s for rate_bit_s in sums if rate_bit_s]
    return sum(known) / len(known) if known else None


def _second_half_ns(run: RunRecords) -> tuple[int, int]:
    start_ns, end_ns = run.span_ns
    return (start_ns + end_ns) // 2, end_ns


def _cwnd_packets(run: RunRecords) -> float | None:
    side = sender(run.job)
    sizes = [each.settings.mss_bytes for each in connections(run.measured, side)]
    if not sizes or not sizes[0]:
        return None
    since_ns, until_ns = _second_half_ns(run)
    means = [
        mean_between(each.at_ns, each.cwnd_bytes, since_ns, until_ns)
        for each in run.of_kind(ConnectionSamples)
        if each.side == side
    ]
    known = [mean for mean in means if mean is not None]
    return sum(known) / len(known) / sizes[0] if known else None


def _goodput_bit_s(run: RunRecords) -> float | None:
    since_ns, until_ns = _second_half_ns(run)
    came = sum(Arrived.of(each).between(since_ns, until_ns) for each in run.of_kind(Goodput))
    is_known = came and until_ns > since_ns
    return 8 * came * NS_PER_S / (until_ns - since_ns) if is_known else None


def _delivery_rate_bit_s(run: RunRecords) -> float | None:
    return mean_delivery_rate_bit_s(run, *_second_half_ns(run))


def _flight_packets(run: RunRecords) -> float | None:
    since_ns, until_ns = _second_half_ns(run)
    samples = queue_samples(run.records, run.job.direction)
    counts = [each for each in run.calibration(run.job.direction) if each.path == 0]
    rtts = rtts_under_load(run.job, run.records)
    rtt_ns = mean_between(rtts.at_ns, rtts.delay_ns, since_ns, until_ns)
    if samples is None or rtt_ns is None or not counts or not counts[0].delivered_packets:
        return None
    # What is sent after the last sample is in none of them.
    since_ns, until_ns = max(since_ns, samples.at_ns[0]), min(until_ns, samples.at_ns[-1])
    packet_bytes = counts[0].delivered_bytes / counts[0].delivered_packets
    sent_bytes = sent_bytes_at(samples, until_ns) - sent_bytes_at(samples, since_ns)
    first, last = (bisect_right(samples.at_ns, at_ns) - 1 for at_ns in (since_ns, until_ns))
    dropped = samples.dropped_packets[last] - samples.dropped_packets[first]
    return (sent_bytes / packet_bytes + dropped) * rtt_ns / (until_ns - since_ns)


SECOND_HALF_METRICS = (
    Metric(
        "cwnd_packets_second_half", "packets", "neither", "Congestion window, second half",
        "Mean over time of a connection's congestion window at the sender, in full-size packets,"
        " from the middle of the run to its end; of several connections their mean. The window is"
        " sampled (`sampling`), and taken as linear in between.",
        "connection_samples", _cwnd_packets, is_mean=True,
    ),
    Metric(
        "flight_packets_second_half", "packets", "neither", "Flight size, second half",
        "Packets of the mean size that pass the first path's bottleneck towards the receiver in a"
        " round-trip time, or are dropped there, from the middle of the run to its end, or to the"
        " last sample where that is earlier, of all connections together: the mean congestion"
        " window of a sender that nothing else limits, also of one that does not report it. Missing"
        " in a network of several hosts.",
        "queue_samples", _flight_packets, is_mean=True,
    ),
    Metric(
        "goodput_bit_s_second_half", "bit/s", "higher", "Goodput, second half",
        "Content bits that arrived from the middle of the run to its end, over that time; of runs"
        " that record content over time, as those of several workloads do.",
        "goodput", _goodput_bit_s,
    ),
    Metric(
        "delivery_rate_bit_s_second_half", "bit/s", "higher", "Delivery rate, second half",
        "Mean of the samples (`sampling`) of TCP's own estimate of its delivery rate"
        " (`tcpi_delivery_rate` of `TCP_INFO`) from the middle of the run to its end, without those"
        " that are 0; of connections at the same time their sum. An estimate is of the longer of"
        " the times in which packets were sent and acknowledged, so the mean is mostly below the"
        " goodput; it is what `ss` and flent show. Missing for SCTP and QUIC, which report none.",
        "connection_samples", _delivery_rate_bit_s,
    ),
)  # fmt: skip
