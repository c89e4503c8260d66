"""How long a page took to load, and what it waited for."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from netwarp.measure.metric import FASTER, SHORTER, Metric
from netwarp.units import NS_PER_S
from netwarp.wire import Page, Resource

if TYPE_CHECKING:
    from netwarp.measure.run_records import RunRecords

_START = "From the client's first connect until"


def _page_of(run: RunRecords) -> Page:
    if not isinstance(run.job.workload, Page):
        raise TypeError(f"{run.job.run} loads no page")
    return run.job.workload


def _page_load_time_s(run: RunRecords) -> float:
    start_ns, end_ns = run.span_ns
    return (end_ns - start_ns) / NS_PER_S


def _first_render_s(run: RunRecords) -> float:
    blocking = [each.render_blocking for each in _page_of(run).resources]
    needed_ns = (each.response_end_ns for each in run.of_kind(Resource) if blocking[each.resource])
    return (max(needed_ns) - run.span_ns[0]) / NS_PER_S


def _resource_load_time_s(run: RunRecords) -> float:
    return _mean_s([each.response_end_ns - each.fetch_start_ns for each in run.of_kind(Resource)])


def _blocked_s(run: RunRecords) -> float:
    return _mean_s([each.request_start_ns - each.fetch_start_ns for each in run.of_kind(Resource)])


def _wait_s(run: RunRecords) -> float:
    waits_ns = [each.response_start_ns - each.request_start_ns for each in run.of_kind(Resource)]
    return _mean_s(waits_ns)


def _mean_s(times_ns: list[int]) -> float:
    return math.fsum(times_ns) / len(times_ns) / NS_PER_S


PAGE_METRICS = (
    Metric(
        "page_load_time_s", "s", "lower", "Page load time",
        f"{_START} all resources of the page have arrived (`loadEventStart`).",
        "connection, resource", _page_load_time_s, FASTER, head="page load",
        beside=("first_byte_s", "first_render_s", "retransmitted_packets"),
    ),
    Metric(
        "first_render_s", "s", "lower", "Time to first render",
        f"{_START} the document has arrived, and the stylesheets and scripts that block what is"
        " shown: before that, no browser shows anything.",
        "connection, resource", _first_render_s, FASTER, head="render", in_report=True,
    ),
    Metric(
        "resource_load_time_s", "s", "lower", "Time to load a resource",
        "From when the page wants a resource (`fetchStart`) until it has arrived (`responseEnd`);"
        " mean over the resources.",
        "resource", _resource_load_time_s, FASTER,
    ),
    Metric(
        "blocked_s", "s", "lower", "Time blocked",
        "From when the page wants a resource until a connection takes its request (HAR's"
        " `blocked`, with connecting); mean over the resources.",
        "resource", _blocked_s, SHORTER, in_report=True,
    ),
    Metric(
        "wait_s", "s", "lower", "Time to a response",
        "From a request until the head of its response has arrived (HAR's `wait`); mean over the"
        " resources.",
        "resource", _wait_s, SHORTER,
    ),
)  # fmt: skip
