"""Metrics of loading a page: load time, and the times of its phases."""

import math
from functools import partial

from netwarp.measure.metric import FASTER, SHORTER, Metric
from netwarp.measure.run_records import RunRecords
from netwarp.units import NS_PER_S, seconds
from netwarp.wire import Page, PageLoad, Resource

_START = "From the client's first connect until"


def _page_of(run: RunRecords) -> Page:
    if not isinstance(run.job.only.workload, Page):
        raise TypeError(f"{run.job.run} loads no page")
    return run.job.only.workload


def _page_load_time_s(run: RunRecords) -> float:
    start_ns, end_ns = run.span_ns
    return (end_ns - start_ns) / NS_PER_S


def _first_render_s(run: RunRecords) -> float:
    blocking = [each.render_blocking for each in _page_of(run).resources]
    needed_ns = (each.response_end_ns for each in run.of_kind(Resource) if blocking[each.resource])
    return (max(needed_ns) - run.span_ns[0]) / NS_PER_S


def _painted_s(run: RunRecords, moment: str) -> float | None:
    painted_ns = [getattr(each, moment) for each in run.of_kind(PageLoad)]
    if not painted_ns or painted_ns[0] is None:
        return None
    return seconds(painted_ns[0] - run.span_ns[0])


def _http3_ratio(run: RunRecords) -> float:
    versions = [each.http for each in run.of_kind(Resource)]
    return versions.count("h3") / len(versions)


def _mean_s(run: RunRecords, since: str, until: str) -> float:
    times_ns = [getattr(each, until) - getattr(each, since) for each in run.of_kind(Resource)]
    return math.fsum(times_ns) / len(times_ns) / NS_PER_S


PAGE_METRICS = (
    Metric(
        "page_load_time_s", "s", "lower", "Page load time",
        f"{_START} all resources of the page have arrived. A browser's: from when it is told to"
        " load the page until its load event (`loadEventStart`), which what scripts fetch does not"
        " put off.",
        "connection, resource, page_load", _page_load_time_s, FASTER, head="page load",
        beside=("first_byte_s", "first_render_s", "retransmitted_packets"), is_performance=True,
    ),
    Metric(
        "first_render_s", "s", "lower", "Time to first render",
        f"{_START} the document has arrived, and the stylesheets and scripts that block what is"
        " shown: before that, no browser shows anything.",
        "connection, resource", _first_render_s, FASTER, head="render", in_report=True,
    ),
    Metric(
        "first_contentful_paint_s", "s", "lower", "First contentful paint",
        "From when a browser is told to load the page until it shows the first text or image"
        " (W3C's Paint Timing); netwarp's own client shows nothing.",
        "page_load", partial(_painted_s, moment="first_contentful_paint_ns"), FASTER,
    ),
    Metric(
        "largest_contentful_paint_s", "s", "lower", "Largest contentful paint",
        "From when a browser is told to load the page until it shows the largest text or image"
        " (W3C's Largest Contentful Paint); netwarp's own client shows nothing.",
        "page_load", partial(_painted_s, moment="largest_contentful_paint_ns"), FASTER,
    ),
    Metric(
        "http3_ratio", "ratio", "neither", "Share over HTTP/3",
        "Share of the resources that came over HTTP/3: of a client that has to discover it, less"
        " than all.",
        "resource", _http3_ratio,
    ),
    Metric(
        "resource_load_time_s", "s", "lower", "Time to load a resource",
        "From when the page wants a resource (`fetchStart`) until it has arrived (`responseEnd`);"
        " mean over the resources.",
        "resource", partial(_mean_s, since="fetch_start_ns", until="response_end_ns"), FASTER,
    ),
    Metric(
        "blocked_s", "s", "lower", "Time blocked",
        "From when the page wants a resource until a connection takes its request (HAR's"
        " `blocked`, with connecting); mean over the resources.",
        "resource", partial(_mean_s, since="fetch_start_ns", until="request_start_ns"), SHORTER,
        in_report=True,
    ),
    Metric(
        "wait_s", "s", "lower", "Time to a response",
        "From a request until the head of its response has arrived (HAR's `wait`); mean over the"
        " resources.",
        "resource", partial(_mean_s, since="request_start_ns", until="response_start_ns"), SHORTER,
    ),
)  # fmt: skip
