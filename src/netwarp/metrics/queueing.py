"""Metrics of queues: queueing delay, round-trip time under load, drops and ECN marks."""

from collections.abc import Callable
from functools import partial

from netwarp.measure.metric import SHORTER, Metric
from netwarp.measure.queueing import Delays, queue_delays, round_trip_delays, rtts_under_load
from netwarp.measure.run_records import RunRecords, total
from netwarp.units import seconds
from netwarp.wire import DisciplineInForce

_LATENCIES = (
    "rtt_under_load_s_p50",
    "rtt_under_load_s_p95",
    "rtt_under_load_s_p99",
    "rtt_over_idle_s_p95",
    "queue_delay_s_p95",
)
"""Metrics that are all printed if one of them is a main metric of the study."""
_WHOSE = (
    " Each sample stands for half the time to its neighbours; before the first and after the last"
    " one nothing counts. Everything that is queued counts, and all of the packet that is being"
    " transmitted. Behind a discipline with a queue for each flow (fq, fq_codel, cake) it is"
    " therefore that of the flows that fill the queue, and another flow waits less: a ping beside"
    " them (`rr`) measures how long."
)
_SHARES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


def _of_queue(run: RunRecords) -> Delays:
    return queue_delays(run.job, run.records, run.job.direction).within(run.whole_span_ns)


def _of_round_trip(run: RunRecords) -> Delays:
    return rtts_under_load(run.job, run.records).within(run.whole_span_ns)


def _over_idle(run: RunRecords) -> Delays:
    return round_trip_delays(run.job, run.records).within(run.whole_span_ns)


def _quantile_s(run: RunRecords, of: Callable[[RunRecords], Delays], share: float) -> float | None:
    """Return a quantile of queueing delays, in s."""
    return seconds(run.computed_once(of).quantile_ns(share))


def _marked(run: RunRecords) -> float | None:
    return total(
        each.marked_packets
        for each in run.of_kind(DisciplineInForce)
        if each.direction == run.job.direction
    )


def _percentile(name: str) -> str:
    return f"the {name.removeprefix('p')}th percentile" if name != "p50" else "the median"


QUEUEING_METRICS = (
    *(
        Metric(
            f"queue_delay_s_{name}", "s", "lower", f"Queueing delay, {name}",
            "Time that a packet of the content's direction had to queue at the bottleneck of the"
            f" first path: {_percentile(name)} over the time of the run.{_WHOSE}", "queue_samples",
            partial(_quantile_s, of=_of_queue, share=share), SHORTER, head=f"queue {name}",
        )
        for name, share in _SHARES.items()
    ),
    *(
        Metric(
            f"rtt_under_load_s_{name}", "s", "lower", f"RTT under load, {name}",
            "Round-trip time of the first path with the queues of both directions as they were:"
            f" {_percentile(name)} over the time of the run.{_WHOSE}", "queue_samples",
            partial(_quantile_s, of=_of_round_trip, share=share), SHORTER, head=f"RTT {name}",
            beside=tuple(each for each in _LATENCIES if each != f"rtt_under_load_s_{name}"),
        )
        for name, share in _SHARES.items()
    ),
    *(
        Metric(
            f"rtt_over_idle_s_{name}", "s", "lower", f"RTT over the idle one, {name}",
            "How much longer the round-trip time of the first path was than without a queue in"
            f" either direction: {_percentile(name)} over the time of the run.{_WHOSE}",
            "queue_samples",
            partial(_quantile_s, of=_over_idle, share=share), SHORTER, head=f"over idle {name}",
        )
        for name, share in _SHARES.items()
    ),
    Metric(
        "marked_packets", "packets", "neither", "Packets marked",
        "Packets of the content's direction that the queueing discipline marked as having met"
        " congestion (ECN).", "discipline", _marked,
    ),
)  # fmt: skip
