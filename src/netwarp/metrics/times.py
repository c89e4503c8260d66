"""Metrics of time (connection setup, first byte, completion) and goodput."""

from collections.abc import Callable

from netwarp.measure.metric import FASTER, SHORTER, Metric
from netwarp.measure.run_records import RunRecords
from netwarp.measure.select import connections
from netwarp.units import NS_PER_S, seconds
from netwarp.wire import Download, GaveUp

_START = "From the client's first connect until"


def _connect_time_s(run: RunRecords) -> float | None:
    if not connections(run.measured, "client"):
        return None
    return (run.ready_ns - run.span_ns[0]) / NS_PER_S


def _first_byte_s(run: RunRecords) -> float | None:
    at_ns = run.first_byte_ns
    return None if at_ns is None else (at_ns - run.span_ns[0]) / NS_PER_S


def _completion_time_s(run: RunRecords) -> float | None:
    if run.reader.breaks_off(run.job):
        return None
    start_ns, end_ns = run.span_ns
    has_end = bool(run.received) or bool(run.of_kind(Download))
    return (end_ns - start_ns) / NS_PER_S if has_end else None


def _goodput_bit_s(run: RunRecords) -> float | None:
    is_nothing = not run.content_bits and not run.received
    if is_nothing and not run.reader.breaks_off(run.job):
        return None  # a flow has no content that must arrive completely
    start_ns, end_ns = run.span_ns
    if start_ns == end_ns:
        return None
    return run.content_bits * NS_PER_S / (end_ns - start_ns)


def _transfer_goodput_bit_s(run: RunRecords) -> float | None:
    if not connections(run.measured, "client"):
        return None
    transfer_ns = run.span_ns[1] - run.ready_ns
    return run.content_bits * NS_PER_S / transfer_ns if run.received and transfer_ns > 0 else None


def _completion_s(value: Callable[[str], float | None]) -> float | None:
    """Return the time in s over which goodput is computed: until all content has arrived, or the
    page is loaded.
    """
    completion_s = value("completion_time_s")
    return value("page_load_time_s") if completion_s is None else completion_s


def _transfer_s(value: Callable[[str], float | None]) -> float | None:
    """Return the time in s of the transfer alone: from when all connections are ready until all
    content has arrived.
    """
    completion_s, connect_s = value("completion_time_s"), value("connect_time_s")
    if completion_s is None or connect_s is None:
        return None
    return completion_s - connect_s


def _longest_gap_s(run: RunRecords) -> float | None:
    gaps_ns = (each.longest_gap_ns for each in run.received if each.longest_gap_ns is not None)
    return seconds(max(gaps_ns, default=None))


COMPLETION_TIME_S = Metric(
    "completion_time_s", "s", "lower", "Completion time",
    f"{_START} the receiver has the last one, reconnections included; of programs by the"
    " interop runner's contract, from the start of the client's to its end; a stream, a page"
    " and what has a duration have none.",
    "connection, transfer, download", _completion_time_s, FASTER, head="completion",
    beside=("goodput_bit_s", "retransmitted_packets", "connect_time_s"),
)  # fmt: skip
GAVE_UP = Metric(
    "gave_up_s", "s", "higher", "Time to giving up",
    "From the run's begin until a transport gave up, since the peer did not answer any more; such a"
    " run, or that of several workloads, has no other metric of its own.",
    "gave_up", lambda run: run.of_kind(GaveUp)[0].at_ns / NS_PER_S,
)  # fmt: skip

TIME_METRICS = (
    Metric(
        "connect_time_s", "s", "lower", "Connection time",
        f"{_START} all its connections are ready for application data, for the first time.",
        "connection", _connect_time_s, FASTER, head="connect", in_report=True,
    ),
    Metric(
        "first_byte_s", "s", "lower", "Time to first byte",
        f"{_START} the receiver has the first content byte.",
        "transfer, segment, resource", _first_byte_s, FASTER,
    ),
    COMPLETION_TIME_S,
    Metric(
        "goodput_bit_s", "bit/s", "higher", "Goodput",
        "Content bits over the completion time; of a stream, whole segments over the session; of a"
        " page, over the page load time.",
        "connection, transfer, segment, resource, download", _goodput_bit_s, head="goodput",
        in_report=True, over=_completion_s, is_performance=True,
    ),
    Metric(
        "transfer_goodput_bit_s", "bit/s", "higher", "Goodput after connecting",
        "Content bits over the time from when all connections are ready until the last byte: the"
        " goodput without the handshakes; a stream has none.",
        "connection, transfer", _transfer_goodput_bit_s, over=_transfer_s,
    ),
    Metric(
        "longest_gap_s", "s", "lower", "Longest time without new content",
        "Longest time without new content at the receiver, in a run with outages, moves or traces:"
        " after an outage, the fail-over.",
        "transfer", _longest_gap_s, SHORTER,
    ),
    GAVE_UP,
)  # fmt: skip
