"""Metrics of requests and responses: latency and loss."""

from functools import partial

from netwarp.measure.metric import SHORTER, Metric
from netwarp.measure.run_records import RunRecords
from netwarp.units import NS_PER_S
from netwarp.wire import FlowSent, FlowStats


def _responses(run: RunRecords) -> FlowStats | None:
    found = [each for each in run.of_kind(FlowStats) if each.unit == "response"]
    return found[0] if found else None


def _latency_s_mean(run: RunRecords) -> float | None:
    found = _responses(run)
    return found.delay_sum_ns / found.received / NS_PER_S if found and found.received else None


def _latency_s(permille: int, run: RunRecords) -> float | None:
    found = _responses(run)
    return found.delay_quantiles_ns[permille] / NS_PER_S if found and found.received else None


def _lost(run: RunRecords) -> float | None:
    found = _responses(run)
    if found is None:
        return None
    (sent,) = run.of_kind(FlowSent)
    return sent.messages - found.received


def _loss_ratio(run: RunRecords) -> float | None:
    lost = _lost(run)
    if lost is None:
        return None
    (sent,) = run.of_kind(FlowSent)
    return lost / sent.messages


_SINCE = "from when a request was due to the last byte of its response"
_QUANTILES = (("p50", "50"), ("p95", "95"), ("p99", "99"), ("p999", "99.9"))

REQUEST_RESPONSE_METRICS = (
    Metric(
        "rr_latency_s_mean", "s", "lower", "Mean latency of requests",
        f"Mean time {_SINCE}, over the requests that were answered.", "flow_stats",
        _latency_s_mean, SHORTER,
        head="latency", in_report=True, beside=("rr_latency_s_p99", "response_loss_ratio"),
        delay_unit="response",
    ),
    *(
        Metric(
            f"rr_latency_s_{name}", "s", "lower", f"Latency of requests, {percent} %",
            f"The time {_SINCE} that {percent} % of those answered do not exceed.", "flow_stats",
            partial(_latency_s, round(10 * float(percent))), SHORTER, in_report=name != "p999",
            delay_unit="response", is_performance=name == "p95",
        )
        for name, percent in _QUANTILES
    ),
    Metric(
        "rr_latency_s_max", "s", "lower", "Longest latency of requests",
        f"The longest time {_SINCE}.", "flow_stats", partial(_latency_s, 1000), SHORTER,
        delay_unit="response",
    ),
    Metric(
        "lost_responses", "count", "lower", "Requests without a response",
        "Requests that were sent and whose response never arrived.", "flow_stats", _lost,
    ),
    Metric(
        "response_loss_ratio", "ratio", "lower", "Share of requests without a response",
        "Share of the requests sent whose response never arrived.", "flow_stats", _loss_ratio,
        in_report=True,
    ),
)  # fmt: skip
