"""Converts a job to a request to the ns-3 simulation, and its answer to records. Pure."""

from math import ceil
from typing import Any

from netwarp import wire
from netwarp.backends.abilities import beyond
from netwarp.study.sections.transport import settings_of_hosts
from netwarp.transports import IP_HEADER_BYTES, TCP_HEADER_BYTES, TRANSPORTS
from netwarp.units import NS_PER_S
from netwarp.wire import Impairments, Job, Record
from netwarp.wire.asked import asked
from netwarp.workloads import workload_of
from netwarp.workloads.base import Simulated

CONGESTION = {"cubic": "ns3::TcpCubic", "reno": "ns3::TcpNewReno", "bbr": "ns3::TcpBbr"}
CAN = frozenset({"delay_ns", "rate_bit_s", "loss.random", "neighbours.cold"})
"""What ns-3's links and queues can do to packets, some of it only for one transport's model or in
one direction.
"""
TIMESTAMPS_BYTES = 12
SEEDS = 2**31 - 1
DEFAULT_SEGMENT_BYTES = 536
"""The default payload of a segment of ns-3's TCP (`TcpSocket::SegmentSize`)."""


def refusal(job: Job) -> str | None:
    """Return the reason why ns-3 cannot carry out the job, or None when it can."""
    if len(job.workloads) > 1:
        return "its applications run alone here: choose model = kernel"
    traits = TRANSPORTS[job.only.transport.kind]
    if not traits.is_in_ns3:
        return f"ns-3 has no {traits.name}: choose another transport, or model = kernel"
    workload = workload_of(job)
    if workload.simulated is None:
        return f"no application of ns-3 does a {workload.name}: choose another workload"
    reason = workload.simulated.refusal(job, workload.of(job))
    return reason or _path_refusal(job) or _options_refusal(job)


def _path_refusal(job: Job) -> str | None:
    path, model = job.paths[0], job.only.transport.model
    if len(job.paths) > 1 or not job.timeline.is_empty or job.capture:
        return "its model of ns-3 has one path that stays as it is, and no capture"
    reason = beyond(asked(job), CAN, "its model of ns-3")
    if reason is not None:
        return reason
    if path.up.rate_bit_s is None or path.down.rate_bit_s is None:
        return "ns-3's links have a rate: give path.rate"
    if path.down.loss.kind != "none":
        return "its model of ns-3 loses packets of the flow's direction alone: use path.loss_up"
    if model == "ns3default":
        if path.up.loss.kind != "none":
            return "its CSMA link loses nothing: choose model = ns3"
        if path.up.rate_bit_s != path.down.rate_bit_s or path.up.delay_ns != path.down.delay_ns:
            return "a CSMA link is the same both ways: give path.rate and path.delay"
    elif path.neighbours == "cold":
        return "ns-3's point-to-point links have no ARP: choose model = ns3default for a CSMA link"
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
    path, transport = job.paths[0], job.only.transport
    is_default = transport.model == "ns3default"
    payload_bytes = segment_bytes(job)
    size = {} if payload_bytes is None else {"ns3::TcpSocket::SegmentSize": payload_bytes}
    window = {} if is_default else {
        "ns3::TcpSocket::InitialCwnd": transport.initial_window_packets,
    }  # fmt: skip
    parameters = {
        "is_stream": TRANSPORTS[transport.kind].runs_over_tcp,
        "defaults": is_default,
        "seed": job.seed % SEEDS + 1,
        "limit_s": job.limits.virtual_ns / NS_PER_S,
        "rate_bit_s": path.up.rate_bit_s,
        "delay_up_ns": path.up.delay_ns,
        "channel_delay_ns": (path.up.delay_ns + path.down.delay_ns) // 4,
        "mtu_bytes": path.mtu_bytes,
        "neighbours": path.neighbours,
        "queue_packets_up": _queue_packets(path.mtu_bytes, path.up),
        "queue_packets_down": _queue_packets(path.mtu_bytes, path.down),
        "loss_up": path.up.loss.ratio if isinstance(path.up.loss, wire.RandomLoss) else 0,
        "buffer_bytes": None if is_default else transport.buffer_bytes,
        "congestion": CONGESTION.get(transport.congestion),
        "sack": transport.tcp.sack,
        "tcp_numbers": size | window,
        "request_jitter": True,
    }
    return parameters | _simulated(job).traffic(job, workload_of(job).of(job))


def _simulated(job: Job) -> Simulated[Any]:
    """Return the functions that convert this job's workload to and from ns-3, of a job that was not
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


def _queue_packets(mtu_bytes: int, impairments: Impairments) -> int:
    """Return how many packets fit in the queue behind the delay line: netem's limit less those in
    the delay line.
    """
    frame_bits = 8 * (mtu_bytes + 14)
    in_flight = (impairments.rate_bit_s or 0) * impairments.delay_ns / NS_PER_S / frame_bits
    return max(1, impairments.limit_packets - ceil(in_flight))


def records(job: Job, answer: dict[str, Any], version: str) -> list[Record]:
    """Convert an answer of the simulation to the records of a run."""
    name = f"ns-3 {version}"
    start = wire.Start(
        record="start", format=1, run=job.run, endpoint=name, kernel=name, clock="virtual"
    )
    made = _simulated(job).records(job, workload_of(job).of(job), answer)
    failure = None
    if not made:
        failure = wire.Failure(stage="limit", message="ns-3 did not deliver all of it in time")
    end_ns = max(answer["last_received_ns"], answer["last_sent_ns"], 0)
    end = wire.End(record="end", virtual_ns=end_ns, failure=failure)
    return [start, *made, end]
