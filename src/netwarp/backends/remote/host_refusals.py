"""Finds what a job requires that two hosts, or one of them, cannot do. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from netwarp.backends.abilities import IMPOSED, beyond
from netwarp.study.sections.transport import (
    DEFAULT_INITIAL_WINDOW_PACKETS,
    TODAYS_TCP,
    settings_of_hosts,
)
from netwarp.transports import TRANSPORTS
from netwarp.wire import Direction, Impairments, Job, Transport
from netwarp.wire.asked import asked_of_direction
from netwarp.workloads import workload_of

RECEIVERS: Mapping[Direction, str] = {"down": "this host", "up": "the server"}
"""For each direction, the host that receives it, as messages on the client name it."""


@dataclass(frozen=True)
class Host:
    """Properties of one of the two hosts that decide which jobs it can carry out."""

    name: str
    """The host's name in messages, such as "the server"."""
    lacks: Mapping[str, str]
    """Reason why the host's kernel lacks a protocol, by the protocol's
    `TransportTraits.kernel_option`.
    """
    congestion: tuple[str, ...]
    """TCP congestion controls that the host's sockets may have."""
    socket_buffer_bytes: int
    tcp_buffer_bytes: int
    tcp_congestion: str
    """TCP congestion control of the host's programs that do not choose one."""


def path_refusal(job: Job, why_not: Callable[[Direction], str | None]) -> str | None:
    """Return the reason why a job's impairments of the path cannot be applied by the receiving
    host; None if they can, or there are none.

    A direction is impaired by the host that receives it, on incoming packets. The other host is its
    sender: netem there would drop bundles of segments that a router handles one by one, and TCP
    would count queued packets against its own limit (TCP small queues).

    Args:
        job: a job with one path.
        why_not: returns the reason why the host that receives a direction cannot impair it; None if
            it can.
    """
    refusal = workload_of(job).real_path_refusal(job)
    if refusal is not None:
        return refusal
    for direction, receiver in RECEIVERS.items():
        wanted = asked_of_direction(getattr(job.paths[0], direction), direction)
        if not wanted:
            continue
        reason = never_imposed(job, direction)
        if reason is not None:
            return reason
        reason = why_not(direction)
        if reason is not None:
            return (
                f"it asks for {wanted[0]}, which is for the receiving host to impose, and"
                f" {receiver} does not: {reason}; or leave it out, have a router between the hosts"
                " impose it, or use the virtual backend"
            )
    return None


def never_imposed(job: Job, direction: Direction) -> str | None:
    """Return an impairment that a job asks for in one direction but that no receiving host can
    apply to incoming packets, and why; None if there is none.
    """
    impairments: Impairments = getattr(job.paths[0], direction)
    if workload_of(job).runs_programs(job):
        return (
            "it asks for an impaired path, and programs listen at ports of their own, where packets"
            " are not known to be the run's: leave it out, or use the virtual backend"
        )
    if impairments.corrupt_ratio > 0:
        return (
            "it asks for corruption, and a network device has verified checksums before anything is"
            " imposed, so that corrupted content would be taken for sound: use the virtual backend"
        )
    if impairments.discipline is not None:
        return (
            f"it asks for {impairments.discipline.kind} at the bottleneck, and hosts impose queues"
            " that are first in, first out: leave path.discipline out, or use the virtual backend"
        )
    return beyond(asked_of_direction(impairments, direction), IMPOSED, "a receiving host")


def host_refusal(job: Job, host: Host) -> str | None:
    """Return what a job requires but a host lacks, with the remedy; None if the host lacks
    nothing.
    """
    transport = job.only.transport
    traits = TRANSPORTS[transport.kind]
    reason = host.lacks.get(traits.kernel_option or "")
    if reason is not None:
        return f"{host.name}: {reason}"
    if workload_of(job).server_command(job) is not None:
        return _programs_refusal(transport, host)
    if traits.runs_over_tcp and transport.congestion not in host.congestion:
        return (
            f"the kernel of {host.name} gives netwarp's TCP no congestion control"
            f" {transport.congestion!r}, only {', '.join(host.congestion)}: choose one of them with"
            " --set transport.congestion=…, or there, as root, `modprobe"
            f" tcp_{transport.congestion}`, and if users start netwarp `sysctl -w"
            " net.ipv4.tcp_allowed_congestion_control="
            f"'{' '.join((*host.congestion, transport.congestion))}'`"
        )
    if traits.runs_over_tcp and transport.initial_window_packets != DEFAULT_INITIAL_WINDOW_PACKETS:
        return (
            f"its initial window is {transport.initial_window_packets} packets, and the hosts'"
            f" kernels begin with {DEFAULT_INITIAL_WINDOW_PACKETS}: leave"
            " transport.initial_window out"
        )
    for key, setting in settings_of_hosts(transport.tcp).items():
        return f"transport.{key} is {setting}, and hosts keep theirs: leave it out"
    granted_bytes = host.tcp_buffer_bytes if traits.runs_over_tcp else host.socket_buffer_bytes
    if transport.buffer_bytes > granted_bytes:
        return _too_large(host, transport.buffer_bytes, granted_bytes, tcp=traits.runs_over_tcp)
    return None


def _programs_refusal(transport: Transport, host: Host) -> str | None:
    """Return the reason why a job's programs cannot run on a host: the job requires a TCP setting
    that differs from the host's own, which applies to all programs. None if there is none.
    """
    if transport.congestion != host.tcp_congestion:
        return (
            f"TCP of programs on {host.name} has its congestion control, {host.tcp_congestion}, and"
            f" {transport.congestion} is asked for:"
            f" --set transport.congestion={host.tcp_congestion}, or there, as root,"
            f" `sysctl -w net.ipv4.tcp_congestion_control={transport.congestion}`"
        )
    of_the_host = {
        "initial_window": transport.initial_window_packets == DEFAULT_INITIAL_WINDOW_PACKETS,
        "tcp": transport.tcp == TODAYS_TCP,
        "mss": transport.mss_bytes is None,
        "ecn": not transport.ecn,
    }
    asked = next((key for key, is_as_it_is in of_the_host.items() if not is_as_it_is), None)
    if asked is None:
        return None
    return (
        f"transport.{asked} is for hosts that are made for a run, and between two hosts programs"
        " have TCP as those have it: leave it out"
    )


def _too_large(host: Host, wanted_bytes: int, granted_bytes: int, *, tcp: bool) -> str:
    keys = ("tcp_rmem", "tcp_wmem") if tcp else ("rmem_max", "wmem_max")
    settings = " ".join(
        f"net.ipv4.{key}='4096 131072 {wanted_bytes}'" if tcp else f"net.core.{key}={wanted_bytes}"
        for key in keys
    )
    return (
        f"{host.name} gives a connection buffers of {granted_bytes} bytes at most instead of"
        f" {wanted_bytes}: give all transports less with --set transport.buffer={granted_bytes}B,"
        f" or there, as root, `sysctl -w {settings}`"
    )
