"""The limits of a transfer that can be removed (lifted): how the job changes, and which jobs have
them.

The job's seeds stay the same, so that runs with and without a limit are pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from netwarp.metrics.causes import Cause
from netwarp.transports import TRANSPORTS
from netwarp.wire import Attach, Detach, Impairments, Job, NoLoss, Outage, Restore

LARGE_BUFFER_BYTES = 64 << 20
STANDARD_WINDOW_PACKETS = 10
"""The largest initial window, in packets, that RFC 6928 allows."""
LARGE_WINDOW_PACKETS = 100
DEEPER_QUEUE = 64
LARGE_BUCKET_BYTES = 1 << 30
FASTER = 10
LEAST_RTO_MIN_NS = 10_000_000

Change = Callable[[Job], Job | None]
"""A function that returns a job without a limit; None if the job does not have the limit."""


@dataclass(frozen=True)
class Lift:
    """A limit of a transfer, and how it is removed (lifted) from a job."""

    name: str
    """Short name of the limit, unique in the table."""
    limit: str
    """The limit as text that follows "it is", such as "the receive window"."""
    keys: str
    """The study keys that removing the limit changes, with their new values."""
    causes: frozenset[Cause]
    """Causes of lost time (`netwarp.metrics.causes`) that removing the limit can reduce."""
    change: Change
    is_yardstick: bool = False
    """Whether the limit is a property of the network, what the study asks for, or set by a
    standard. Such a limit is a yardstick: it is not named as an explanation if the removal of
    another limit gains."""
    is_substitute: bool = False
    """Whether no limit is removed, but a part of the sender, such as its congestion control, is
    replaced by another one (a substitute). A sender that copes with a limit is a remedy and not the
    cause, so a substitute is named before a limit only if it is shown to gain more than the limit's
    removal."""


def _with_transport(job: Job, **changed: Any) -> Job:
    return job.with_only(transport=job.only.transport.model_copy(update=changed))


def _with_impairments(job: Job, change: Callable[[Impairments], Mapping[str, Any]]) -> Job | None:
    """Return a job with both directions of all paths changed; None if nothing differs."""
    paths = tuple(
        path.model_copy(
            update={
                way: of_way.model_copy(update=change(of_way))
                for way, of_way in (("down", path.down), ("up", path.up))
            }
        )
        for path in job.paths
    )
    return None if paths == job.paths else job.model_copy(update={"paths": paths})


def _window(job: Job) -> Job | None:
    transport = job.only.transport
    if transport.buffer_bytes >= LARGE_BUFFER_BYTES:
        return None
    send = max(transport.send_buffer_bytes, LARGE_BUFFER_BYTES)
    return _with_transport(job, buffer_bytes=LARGE_BUFFER_BYTES, send_buffer_bytes=send)


def _loss(job: Job) -> Job | None:
    unharmed = {"loss": NoLoss(kind="none"), "corrupt_ratio": 0.0}
    return _with_impairments(job, lambda _: unharmed)


def _queue(job: Job) -> Job | None:
    """Return a job with a longer queue. Where one netem has the queue and the delay line, the
    packets of both count.
    """

    def deeper(of_way: Impairments) -> Mapping[str, Any]:
        if of_way.policer_bytes is not None:
            return {}
        if not of_way.rate_bit_s and of_way.shaper_queue_bytes is None:
            return {}
        return _deeper_queue(of_way)

    return _with_impairments(job, deeper)


def _deeper_queue(of_way: Impairments) -> dict[str, int]:
    """Return the limits of a direction's queue, each several times as large."""
    limits = {
        "limit_packets": of_way.limit_packets,
        "queue_packets": of_way.queue_packets,
        "shaper_queue_bytes": of_way.shaper_queue_bytes,
    }
    return {
        name: min(DEEPER_QUEUE * limit, 2**31)
        for name, limit in limits.items()
        if limit is not None
    }


def _initial_window(packets: int) -> Change:
    def change(job: Job) -> Job | None:
        transport = job.only.transport
        fixed = TRANSPORTS[transport.kind].fixed_initial_window is not None
        if fixed or transport.stacks or transport.initial_window_packets >= packets:
            return None
        return _with_transport(job, initial_window_packets=packets)

    return change


def _controller(name: str) -> Change:
    def change(job: Job) -> Job | None:
        transport = job.only.transport
        known = TRANSPORTS[transport.kind].congestion_controls
        if transport.stacks or name not in known or transport.congestion == name:
            return None
        return _with_transport(job, congestion=name)

    return change


def _rto_min(job: Job) -> Job | None:
    transport = job.only.transport
    if TRANSPORTS[transport.kind].first_timer_ns is not None:
        return None
    if transport.sctp.rto_min_ns <= LEAST_RTO_MIN_NS:
        return None
    sctp = transport.sctp.model_copy(update={"rto_min_ns": LEAST_RTO_MIN_NS})
    return _with_transport(job, sctp=sctp)


def _tcp_rto_min(job: Job) -> Job | None:
    transport = job.only.transport
    asked_ns = transport.tcp.tcp_rto_min_ns
    if not TRANSPORTS[transport.kind].runs_over_tcp or transport.stacks:
        return None
    if asked_ns is not None and asked_ns <= LEAST_RTO_MIN_NS:
        return None
    tcp = transport.tcp.model_copy(update={"tcp_rto_min_ns": LEAST_RTO_MIN_NS})
    return _with_transport(job, tcp=tcp)


def _hystart(job: Job) -> Job | None:
    transport = job.only.transport
    is_cubic = TRANSPORTS[transport.kind].runs_over_tcp and transport.congestion == "cubic"
    if not is_cubic or transport.stacks or transport.tcp.hystart is False:
        return None
    tcp = transport.tcp.model_copy(update={"hystart": False})
    return _with_transport(job, tcp=tcp)


def _nagle(job: Job) -> Job | None:
    return None if job.only.transport.nodelay else _with_transport(job, nodelay=True)


def _generation(job: Job) -> Job | None:
    tcp = job.only.transport.tcp
    modern = {"recovery": "rack", "sack": True, "timestamps": True, "window_scaling": True}
    newer = tcp.model_copy(update=modern)
    is_tcp = TRANSPORTS[job.only.transport.kind].runs_over_tcp
    return _with_transport(job, tcp=newer) if is_tcp and newer != tcp else None


def _dial(job: Job) -> Job | None:
    workload = job.only.workload
    if getattr(workload, "dial", None) != "sequential" or getattr(workload, "chunks", 1) < 2:
        return None
    if TRANSPORTS[job.only.transport.kind].multiplexes == "always":
        return None
    return job.with_only(workload=workload.model_copy(update={"dial": "parallel"}))


def _parts(job: Job) -> Job | None:
    workload = job.only.workload
    if getattr(workload, "chunks", 1) < 2 or getattr(workload, "merge", False):
        return None
    return job.with_only(workload=workload.model_copy(update={"chunks": 1}))


def _outages(job: Job) -> Job | None:
    kept = tuple(
        each for each in job.timeline.events if not isinstance(each.change, Outage | Restore)
    )
    return _with_timeline(job, events=kept)


def _handovers(job: Job) -> Job | None:
    kept = tuple(
        each for each in job.timeline.events if not isinstance(each.change, Attach | Detach)
    )
    return _with_timeline(job, events=kept)


def _redraws(job: Job) -> Job | None:
    return _with_timeline(job, redraws=())


def _with_timeline(job: Job, **changed: Any) -> Job | None:
    timeline = job.timeline.model_copy(update=changed)
    return None if timeline == job.timeline else job.model_copy(update={"timeline": timeline})


def _order(job: Job) -> Job | None:
    def in_order(of_way: Impairments) -> Mapping[str, Any]:
        none = of_way.reorder.model_copy(update={"ratio": 0.0, "correlation": 0.0, "gap": 0})
        return {"jitter_ns": 0, "jitter_correlation": 0.0, "reorder": none, "in_order": False}

    return _with_impairments(job, in_order)


def _link_loss(job: Job) -> Job | None:
    return _with_impairments(
        job, lambda _: {"link_loss_ratio": 0.0, "link_repair_ns": 0, "in_order": False}
    )


def _policer(job: Job) -> Job | None:
    """Return a job whose policer has more tokens than any transfer has bytes."""

    def deeper(of_way: Impairments) -> Mapping[str, Any]:
        return {} if of_way.policer_bytes is None else {"policer_bytes": LARGE_BUCKET_BYTES}

    return _with_impairments(job, deeper)


def _rate(job: Job) -> Job | None:
    def faster(of_way: Impairments) -> Mapping[str, Any]:
        if not of_way.rate_bit_s or of_way.shaper_queue_bytes is not None:
            return {}
        return {"rate_bit_s": FASTER * of_way.rate_bit_s, **_deeper_queue(of_way)}

    return _with_impairments(job, faster)


def _rtt(job: Job) -> Job | None:
    return _with_impairments(job, lambda of_way: {"delay_ns": of_way.delay_ns // 2})


_REPAIR: frozenset[Cause] = frozenset(
    {"avoidance", "recovery", "timeout", "slow_start", "not_told", "pacing", "rwnd", "sndbuf"}
)
_DIALLING: frozenset[Cause] = frozenset(
    {"connecting", "handshake", "application", "propagation", "slow_start"}
)
_SENDING: frozenset[Cause] = frozenset(
    {"avoidance", "slow_start", "recovery", "pacing", "not_told", "timeout", "link"}
)
_FIRST_FLIGHT: frozenset[Cause] = frozenset({"slow_start", "pacing", "not_told"})

LIFTS: tuple[Lift, ...] = (
    Lift("window", "the receive window or the send buffer", "transport.buffer = 64 MiB",
         frozenset({"rwnd", "sndbuf", "not_told", "application"}), _window),
    Lift("loss", "packets lost on the path", "path.loss = 0 %", _REPAIR | {"link"}, _loss),
    Lift("queue", "a bottleneck queue that overflows", "path.queue × 64", _REPAIR | {"link"},
         _queue),
    Lift("outages", "outages", "path.outages = none",
         _REPAIR | _DIALLING, _outages),
    Lift("handovers", "the client's moves", "path.handovers = none",
         _REPAIR | _DIALLING, _handovers),
    Lift("redraws", "a delay that varies", "path.redraw = none", _REPAIR | _DIALLING, _redraws),
    Lift("order", "packets that overtake one another, and jitter",
         "path.jitter = 0, path.reorder = 0", _REPAIR, _order),
    Lift("link-loss", "what the link lost and repeated", "path.link_loss = 0 %",
         _REPAIR | {"propagation"}, _link_loss),
    Lift("policer", "a policer", "path.policer = 1 GiB", _REPAIR | {"link"}, _policer),
    Lift("rto-min", "the shortest retransmission time-out", "transport.sctp.rto_min = 10 ms",
         _REPAIR, _rto_min),
    Lift("tcp-rto-min", "the shortest retransmission time-out", "transport.tcp_rto_min = 10 ms",
         frozenset({"timeout"}), _tcp_rto_min),
    Lift("tcp-options", "an old TCP's repair and options", "transport.tcp: SACK, timestamps,"
         " window scaling, RACK", _REPAIR, _generation),
    Lift("hystart", "the end of slow start by HyStart", "transport.hystart = false",
         frozenset({"avoidance", "recovery", "link"}), _hystart),
    Lift("nodelay", "Nagle's algorithm", "transport.nodelay = true",
         frozenset({"not_told", "application", "slow_start", "avoidance"}), _nagle),
    Lift("dial", "connections opened one after the other", "workload.dial = parallel",
         _DIALLING | _SENDING, _dial),
    Lift("parts", "the number of parts", "workload.chunks = 1", _DIALLING | _SENDING, _parts,
         is_yardstick=True),
    Lift("first-flight", "an initial window below that of RFC 6928",
         f"transport.initial_window = {STANDARD_WINDOW_PACKETS}", _FIRST_FLIGHT,
         _initial_window(STANDARD_WINDOW_PACKETS)),
    Lift("larger-first-flight", "the initial window",
         f"transport.initial_window = {LARGE_WINDOW_PACKETS}", _FIRST_FLIGHT,
         _initial_window(LARGE_WINDOW_PACKETS), is_yardstick=True),
    Lift("reno", "the congestion control", "transport.congestion = reno", _SENDING,
         _controller("reno"), is_substitute=True),
    Lift("bbr", "the congestion control", "transport.congestion = bbr", _SENDING,
         _controller("bbr"), is_substitute=True),
    Lift("rate", "the link's rate", "path.rate × 10", frozenset({"link", "queue"}), _rate,
         is_yardstick=True),
    Lift("rtt", "the round-trip time", "path.rtt ÷ 2",
         frozenset({"connecting", "handshake", "propagation", "slow_start", "avoidance", "rwnd",
                    "recovery", "not_told"}), _rtt, is_yardstick=True),
)  # fmt: skip
"""All limits that can be removed. Limits of endpoints and impairments of packets can be
explanations; those of the network, of what the study asks for and of standards are yardsticks."""

LEAST_SHARE = 0.02
"""Minimum share of time for which the causes of a limit must account; otherwise its removal is not
run."""


def applicable(job: Job, shares: Mapping[Cause, float] | None) -> list[tuple[Lift, Job]]:
    """Return the limits that a job has, each with the job without it. If shares of the time are
    known, limits whose causes have negligible shares are left out.
    """
    found = []
    for lift in LIFTS:
        touched = 1.0 if shares is None else sum(shares[cause] for cause in lift.causes)
        changed = lift.change(job) if touched >= LEAST_SHARE else None
        if changed is not None:
            found.append((lift, changed))
    return found
