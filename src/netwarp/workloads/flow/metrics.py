"""Metrics of the packets and messages of a flow: delay, jitter, loss, throughput. Mean delay and
mean jitter are computed as by ns-3's FlowMonitor.
"""

from collections.abc import Callable
from functools import partial

from netwarp.measure.metric import SHORTER, Metric
from netwarp.measure.run_records import RunRecords
from netwarp.measure.two_hosts import is_known
from netwarp.units import NS_PER_S, seconds
from netwarp.wire import FlowSent, FlowStats
from netwarp.wire.flow import FlowUnit

Quantity = Callable[[FlowStats], float | None]


def _stats(run: RunRecords, unit: FlowUnit) -> FlowStats | None:
    found = [each for each in run.of_kind(FlowStats) if each.unit == unit]
    return found[0] if found else None


def _of(run: RunRecords, unit: FlowUnit, quantity: Quantity) -> float | None:
    stats = _stats(run, unit)
    return None if stats is None or stats.received == 0 else quantity(stats)


def _delay_of(run: RunRecords, unit: FlowUnit, quantity: Quantity) -> float | None:
    """Return a delay in s; None if it is between two hosts' clocks whose offset is not known
    precisely enough.
    """
    delay_s = _of(run, unit, quantity)
    if delay_s is None or not is_known(delay_s * NS_PER_S, run.records):
        return None
    return delay_s


def throughput_bit_s(stats: FlowStats) -> float | None:
    """Return the throughput in bit/s from the first reception to the last; None if only one packet
    or message was received.
    """
    if stats.first_received_ns is None or stats.last_received_ns is None:
        return None
    span_ns = stats.last_received_ns - stats.first_received_ns
    return 8 * stats.received_bytes * NS_PER_S / span_ns if span_ns > 0 else None


def mean_delay_s(stats: FlowStats) -> float:
    """Return the mean one-way delay in s: FlowMonitor's delaySum / rxPackets."""
    return stats.delay_sum_ns / stats.received / NS_PER_S


def mean_jitter_s(stats: FlowStats) -> float:
    """Return the mean jitter in s: FlowMonitor's jitterSum / rxPackets, although there are only
    rxPackets - 1 differences.
    """
    return stats.jitter_sum_ns / stats.received / NS_PER_S


def _delay_quantile_s(permille: int, stats: FlowStats) -> float | None:
    quantiles_ns = stats.delay_quantiles_ns
    return quantiles_ns[permille] / NS_PER_S if quantiles_ns else None


def _sent(run: RunRecords, unit: FlowUnit) -> int | None:
    stats = _stats(run, unit)
    if stats is None:
        return None
    sent = run.of_kind(FlowSent)
    if not sent:
        return None  # not even the request for the flow has arrived
    return sent[0].messages if stats.sent is None else stats.sent


def _lost(run: RunRecords, unit: FlowUnit) -> float | None:
    stats, sent = _stats(run, unit), _sent(run, unit)
    return None if stats is None or sent is None else sent - stats.received


def _loss_ratio(run: RunRecords, unit: FlowUnit) -> float | None:
    lost, sent = _lost(run, unit), _sent(run, unit)
    return lost / sent if sent and lost is not None else None


def _lateness_s_max(run: RunRecords) -> float | None:
    (sent,) = run.of_kind(FlowSent)
    return seconds(sent.late_ns_max)


def _metrics_of(unit: FlowUnit, prefix: str, what: str, since: str) -> tuple[Metric, ...]:
    """Return the metrics that packets and messages have in common.

    Args:
        unit: packets or messages.
        prefix: prefix of the metrics' names.
        what: the unit's name in the plural, for titles.
        since: the event from which a delay is counted.
    """

    def of(quantity: Quantity) -> Callable[[RunRecords], float | None]:
        return partial(_of, unit=unit, quantity=quantity)

    def delay_of(quantity: Quantity) -> Callable[[RunRecords], float | None]:
        return partial(_delay_of, unit=unit, quantity=quantity)

    is_packet = unit == "packet"
    delay = "one-way delay" if is_packet else "message delay"
    about = f"of {what} in the flow's direction, {since}"
    quantiles = tuple(
        Metric(
            f"{prefix}delay_s_{name}", "s", "lower", f"{delay.capitalize()}, {percent} %",
            f"The {delay} that {percent} % {about} do not exceed.", "flow_stats",
            delay_of(partial(_delay_quantile_s, permille)), SHORTER, delay_unit=unit,
        )
        for name, percent, permille in
        (("p50", "50", 500), ("p95", "95", 950), ("p99", "99", 990), ("p999", "99.9", 999))
    )  # fmt: skip
    return (
        Metric(
            f"{prefix}delay_mean_s", "s", "lower", f"Mean {delay}",
            f"Mean {delay} {about}: FlowMonitor's delaySum / rxPackets.", "flow_stats",
            delay_of(mean_delay_s), SHORTER, head=delay, in_report=True,
        ),
        Metric(
            f"{prefix}jitter_mean_s", "s", "lower", f"Mean jitter of {what}",
            "Mean difference in delay between two that arrive one after the other (RFC 3393),"
            f" {about}: FlowMonitor's jitterSum / rxPackets, in which the first counts as 0.",
            "flow_stats",
            of(mean_jitter_s), SHORTER, in_report=is_packet,
        ),
        Metric(
            f"{prefix}jitter_rfc3550_s", "s", "lower", f"Jitter of {what}, RFC 3550",
            f"The running estimate of RFC 3550, section 6.4.1, after the last {about}.",
            "flow_stats", of(lambda stats: seconds(stats.rfc3550_jitter_ns)),
            SHORTER,
        ),
        *quantiles,
        Metric(
            f"{prefix}delay_s_max", "s", "lower", f"Longest {delay}",
            f"The longest {delay} {about}.", "flow_stats",
            delay_of(partial(_delay_quantile_s, 1000)), SHORTER, delay_unit=unit,
        ),
        Metric(
            f"lost_{what}", "packets" if is_packet else "count", "lower", f"Lost {what}",
            f"{what.capitalize()} that were sent and never arrived.", "flow_stats",
            partial(_lost, unit=unit), in_report=is_packet,
        ),
        Metric(
            "loss_ratio" if is_packet else "message_loss_ratio", "ratio", "lower",
            f"Loss of {what}", f"Share of the {what} sent that never arrived.", "flow_stats",
            partial(_loss_ratio, unit=unit), in_report=is_packet,
        ),
        Metric(
            f"reordered_{what}", "packets" if is_packet else "count", "lower",
            f"Reordered {what}", f"{what.capitalize()} that arrived after one that was sent later"
            " (RFC 4737, section 3.3).", "flow_stats", of(lambda stats: stats.reordered),
        ),
        Metric(
            f"reordered_{what}_ratio", "ratio", "lower", f"Share of reordered {what}",
            "The same as a share of those received (RFC 4737, section 3.4).", "flow_stats",
            of(lambda stats: None if stats.reordered is None else stats.reordered / stats.received),
        ),
        Metric(
            f"duplicate_{what}", "packets" if is_packet else "count", "lower",
            f"Duplicate {what}", f"Further copies of {what} that had arrived before.", "flow_stats",
            of(lambda stats: stats.duplicates),
        ),
    )  # fmt: skip


FLOW_METRICS = (
    Metric(
        "throughput_bit_s", "bit/s", "higher", "Throughput",
        "Bits of the IP packets received in the flow's direction, headers included, over the time"
        " from the first to the last.", "flow_stats",
        partial(_of, unit="packet", quantity=throughput_bit_s), head="throughput", in_report=True,
        beside=("delay_mean_s", "jitter_mean_s", "loss_ratio"),
    ),
    *_metrics_of("packet", "", "packets", "from when each was sent"),
    Metric(
        "message_throughput_bit_s", "bit/s", "higher", "Throughput of messages",
        "Bits of the messages received over the time from the first to the last.", "flow_stats",
        partial(_of, unit="message", quantity=throughput_bit_s), head="throughput",
        beside=("message_delay_mean_s", "message_jitter_mean_s", "message_loss_ratio"),
        is_performance=True,
    ),
    *_metrics_of("message", "message_", "messages", "from when each was due"),
    Metric(
        "lateness_s_max", "s", "lower", "Longest time behind schedule",
        "The most that a message was handed to the transport after it was due: 0 where the sender"
        " keeps its pace, large where a full send buffer holds it back.", "flow_sent",
        _lateness_s_max, SHORTER,
    ),
)  # fmt: skip
