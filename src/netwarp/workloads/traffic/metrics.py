"""Metrics of many flows: completion times and slowdowns, of all and by size."""

from collections.abc import Callable, Sequence
from functools import partial
from statistics import fmean

from netwarp.measure.metric import SHORTER, Metric
from netwarp.measure.ranks import nearest_rank
from netwarp.measure.run_records import RunRecords
from netwarp.units import NS_PER_S
from netwarp.wire import FlowTable, Traffic
from netwarp.workloads.traffic.flows import (
    LARGE_BYTES,
    SMALL_BYTES,
    CompletedFlow,
    completed_flows,
)

Statistic = Callable[[Sequence[float]], float]
Chosen = Callable[[CompletedFlow], bool]


def _all(_: CompletedFlow) -> bool:
    return True


def _small(flow: CompletedFlow) -> bool:
    return flow.size_bytes <= SMALL_BYTES


def _large(flow: CompletedFlow) -> bool:
    return flow.size_bytes > LARGE_BYTES


def _time_s(chosen: Chosen, statistic: Statistic, run: RunRecords) -> float | None:
    times = [each.time_s for each in completed_flows(run) if chosen(each)]
    return statistic(times) if times else None


def _slowdown(chosen: Chosen, statistic: Statistic, run: RunRecords) -> float | None:
    found = [each.slowdown for each in completed_flows(run) if chosen(each)]
    known = [each for each in found if each is not None]
    return statistic(known) if known else None


_STATISTICS: Sequence[tuple[str, str, Statistic]] = (
    ("mean", "mean", fmean),
    ("p50", "50 %", partial(nearest_rank, 0.5)),
    ("p99", "99 %", partial(nearest_rank, 0.99)),
)
_GROUPS: Sequence[tuple[str, str, str, Chosen]] = (
    ("flow", "flows", "", _all),
    ("small_flow", "small flows", f" of those of at most {SMALL_BYTES // 1000} kB", _small),
    ("large_flow", "large flows", f" of those of more than {LARGE_BYTES // 10**6} MB", _large),
)
_SINCE = "from when a flow was due to the arrival of its last byte, the handshake included"
_BEST = (
    "the best possible one on an idle path: a round-trip time, and the content's bits at the lowest"
    " rate of the links in their direction, headers not counted"
)


def _metrics_of(group: tuple[str, str, str, Chosen]) -> tuple[Metric, ...]:
    prefix, words, which, chosen = group
    of_times = tuple(
        Metric(
            f"{prefix}_completion_time_s_{name}", "s", "lower",
            f"Completion time of {words}, {text}",
            f"Time {_SINCE}; {text}{which}.", "flow_table",
            partial(_time_s, chosen, statistic), SHORTER,
            head=f"{words}, {text}", in_report=prefix == "flow",
            beside=("flow_slowdown_index_p99",) if (prefix, name) == ("flow", "p99") else None,
            is_performance=(prefix, name) == ("flow", "p99"),
        )
        for name, text, statistic in _STATISTICS
    )  # fmt: skip
    of_slowdowns = tuple(
        Metric(
            f"{prefix}_slowdown_index_{name}", "index", "lower", f"Slowdown of {words}, {text}",
            f"Completion time divided by {_BEST}; {text}{which}. Missing where a rate or a delay"
            " changes, and where there are several paths.", "flow_table",
            partial(_slowdown, chosen, statistic), in_report=name == "p99",
        )
        for name, text, statistic in _STATISTICS
    )  # fmt: skip
    return (*of_times, *of_slowdowns)


def _offered_load_bit_s(run: RunRecords) -> float | None:
    table = next(iter(run.of_kind(FlowTable)), None)
    asked = run.job.only.workload
    if table is None or not isinstance(asked, Traffic) or len(table.due_ns) < asked.flows:
        return None
    between_ns = table.due_ns[-1] - table.due_ns[0]
    return 8 * NS_PER_S * sum(table.size_bytes[:-1]) / between_ns if between_ns else None


OFFERED_LOAD = Metric(
    "offered_load_bit_s", "bit/s", "neither", "Offered load",
    "Content of all flows but the last, divided by the time from when the first was due to when the"
    " last was. The sizes are drawn, so it differs from the load that the study asks for; missing"
    " where flows were not completed.", "flow_table", _offered_load_bit_s, head="offered load",
)  # fmt: skip

TRAFFIC_METRICS = (
    *(metric for group in _GROUPS for metric in _metrics_of(group)),
    OFFERED_LOAD,
)
