"""Converts a job to a request to the ns-3 simulation, and its answer to records. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from netwarp import wire
from netwarp.backends.abilities import beyond
from netwarp.backends.ns3 import links
from netwarp.study.sections.transport import settings_of_hosts
from netwarp.transports import IP_HEADER_BYTES, TCP_HEADER_BYTES, TRANSPORTS
from netwarp.units import NS_PER_S
from netwarp.wire import Job, Record
from netwarp.wire.asked import SEVERAL_WORKLOADS, asked
from netwarp.workloads import workload_of
from netwarp.workloads.base import Simulated

CONGESTION = {"cubic": "ns3::TcpCubic", "reno": "ns3::TcpNewReno", "bbr": "ns3::TcpBbr"}
CAN = frozenset(
    {"delay_ns", "rate_bit_s", "loss.random", "neighbours.cold", "network", SEVERAL_WORKLOADS}
)
"""Features that ns-3's links and queues support, some of them only in one model or in one
direction."""
TIMESTAMPS_BYTES = 12
SEEDS = 2**31 - 1
FIRST_PORT = 4433
"""Port of the first workload's server; each further workload has the next one."""
DEFAULT_SEGMENT_BYTES = 536
"""The default payload of a segment of ns-3's TCP (`TcpSocket::SegmentSize`)."""


def refusal(job: Job) -> str | None:
    """Return the reason why ns-3 cannot carry out a job; None if it can."""
    found = (_workload_refusal(alone) for alone in job.each_alone)
    reason = next(filter(None, found), None)
    return reason or _path_refusal(job) or links.refusal(job) or _sharing_refusal(job)


def _workload_refusal(job: Job) -> str | None:
    """Return the reason why ns-3 cannot carry out a workload by itself; None if it can."""
    traits = TRANSPORTS[job.only.transport.kind]
    if not traits.is_in_ns3:
        return f"ns-3 has no {traits.name}: choose another transport, or model = kernel"
    workload = workload_of(job)
    if workload.simulated is None:
        return f"no application of ns-3 does a {workload.name}: choose another workload"
    path = job.paths[0]
    if path.up.rate_bit_s is None or path.down.rate_bit_s is None:
        return "ns-3's links have a rate: give path.rate"
    return workload.simulated.refusal(job, workload.of(job)) or _options_refusal(job)


def _path_refusal(job: Job) -> str | None:
    path, model = job.paths[0], job.workloads[0].transport.model
    is_alone = len(job.workloads) == 1 and job.network is None
    if (job.network is None and len(job.paths) > 1) or not job.timeline.is_empty or job.capture:
        return "its model of ns-3 has paths that stay as they are, and no capture"
    reason = beyond(asked(job), CAN, "its model of ns-3")
    if reason is not None:
        return reason
    if any(each.down.loss.kind != "none" for each in job.paths):
        return "its model of ns-3 loses packets of the flow's direction alone: use path.loss_up"
    if model == "ns3default":
        if not is_alone:
            return "its CSMA link has two hosts and one workload: choose model = ns3"
        if path.up.loss.kind != "none":
            return "its CSMA link loses nothing: choose model = ns3"
        if path.up.rate_bit_s != path.down.rate_bit_s or path.up.delay_ns != path.down.delay_ns:
            return "a CSMA link is the same both ways: give path.rate and path.delay"
    elif path.neighbours == "cold":
        return "ns-3's point-to-point links have no ARP: choose model = ns3default for a CSMA link"
    return None


def _sharing_refusal(job: Job) -> str | None:
    """Return the reason why workloads cannot share a simulation, whose settings of TCP are the same
    for all; None if they can.
    """
    settings = [_tcp_settings(alone) for alone in job.each_alone if _is_stream(alone)]
    if any(each != settings[0] for each in settings):
        return "its model of ns-3 has one TCP for all hosts: give all the same transport"
    return None


def _options_refusal(job: Job) -> str | None:
    transport = job.only.transport
    is_tcp = TRANSPORTS[transport.kind].runs_over_tcp
    if not is_tcp:
        return None
    if transport.congestion not in CONGESTION:
        return f"its model of ns-3 has no congestion control {transport.congestion!r}"
    for key in settings_of_hosts(transport.tcp):
        return f"transport.{key} is of the kernel's TCP, not of ns-3's: leave it out"
    if transport.model == "ns3default":
        return None
    if not transport.tcp.timestamps or not transport.tcp.window_scaling:
        return "ns-3's TCP is set up with timestamps and window scaling"
    if transport.tcp.recovery != "rack" or transport.resume != "none":
        return "ns-3's loss recovery is its own, and it has no Fast Open"
    return None


def request(job: Job) -> dict[str, Any]:
    """Convert a job to the object that the simulation program reads."""
    path = job.paths[0]
    alone = job.each_alone
    tcp = [each for each in alone if _is_stream(each)]
    is_default = alone[0].only.transport.model == "ns3default"
    buffers_bytes = [each.only.transport.buffer_bytes for each in tcp]
    return {
        "defaults": is_default,
        "seed": job.seed % SEEDS + 1,
        "limit_s": job.limits.virtual_ns / NS_PER_S,
        "rate_bit_s": path.up.rate_bit_s,
        "delay_ns": path.up.delay_ns,
        "mtu_bytes": path.mtu_bytes,
        "neighbours": path.neighbours,
        "buffer_bytes": None if is_default else max(buffers_bytes, default=None),
        "tcp": _tcp_settings(tcp[0]) if tcp else None,
        "request_jitter": True,
        "nodes": links.nodes(job),
        "links": [] if is_default else links.links(job),
        "flows": [_flow(each, number) for number, each in enumerate(alone)],
    }


def _is_stream(job: Job) -> bool:
    return TRANSPORTS[job.only.transport.kind].runs_over_tcp


def _tcp_settings(job: Job) -> dict[str, Any]:
    """Return all settings of ns-3's TCP except the sizes of its buffers."""
    transport = job.only.transport
    payload_bytes = segment_bytes(job)
    size = {} if payload_bytes is None else {"ns3::TcpSocket::SegmentSize": payload_bytes}
    window = {} if transport.model == "ns3default" else {
        "ns3::TcpSocket::InitialCwnd": transport.initial_window_packets,
    }  # fmt: skip
    return {
        "congestion": CONGESTION[transport.congestion],
        "sack": transport.tcp.sack,
        "numbers": size | window,
    }


def _flow(job: Job, number: int) -> dict[str, Any]:
    """Return what the simulation program needs to know about a workload."""
    ends = job.only.ends
    hosts = links.HOSTS if ends is None else (ends.client, ends.server)
    return {
        "port": FIRST_PORT + number,
        "client": hosts[0],
        "server": hosts[1],
        "start_s": job.only.start_ns / NS_PER_S,
        "is_stream": _is_stream(job),
    } | _simulated(job).traffic(job, workload_of(job).of(job))


def _simulated(job: Job) -> Simulated[Any]:
    """Return the functions that convert this workload to and from ns-3, for a job that was not
    refused.
    """
    simulated = workload_of(job).simulated
    if simulated is None:
        raise TypeError(f"ns-3 was asked for {job.run}, which it refuses")
    return simulated


def segment_bytes(job: Job) -> int | None:
    """Return the payload of ns-3's TCP segments in bytes; None if ns-3's default applies."""
    path, transport = job.paths[0], job.only.transport
    if transport.model == "ns3default" and transport.mss_bytes is None:
        return None
    mss_bytes = transport.mss_bytes or path.mtu_bytes - IP_HEADER_BYTES - TCP_HEADER_BYTES
    # The kernel's MSS includes the timestamp option, ns-3's does not.
    return mss_bytes - TIMESTAMPS_BYTES


def records(job: Job, answer: Sequence[Mapping[str, Any]], version: str) -> list[Record]:
    """Convert an answer of the simulation, which has an object for each workload, to the records of
    a run.
    """
    name = f"ns-3 {version}"
    start = wire.Start(
        record="start", format=1, run=job.run, endpoint=name, kernel=name, clock="virtual"
    )
    made: list[Record] = []
    unfinished = 0
    for alone, found in zip(job.each_alone, answer, strict=True):
        own = _simulated(alone).records(alone, workload_of(alone).of(alone), found)
        unfinished += not own
        workload = alone.only.name
        made += own if workload is None else [
            wire.OfWorkload(record="of_workload", workload=workload, line=each) for each in own
        ]  # fmt: skip
    failure = None
    if unfinished:
        failure = wire.Failure(stage="limit", message="ns-3 did not deliver all of it in time")
    ends_ns = (max(each["last_received_ns"], each["last_sent_ns"], 0) for each in answer)
    end = wire.End(record="end", virtual_ns=max(ends_ns), failure=failure)
    return [start, *made, end]
