"""Decides which jobs a server accepts from its clients. Pure.

A job is written by a planner, but it comes from another host, so it is not trusted beyond what a
paired client may do. This module and the job's workload list what it may ask for; all else is
refused.
"""

from dataclasses import dataclass

from netwarp.backends.abilities import beyond
from netwarp.transports import is_simulated
from netwarp.units import NS_PER_S
from netwarp.wire import Job
from netwarp.wire.asked import asked, asked_of_direction
from netwarp.workloads import workload_of


@dataclass(frozen=True)
class Limits:
    """Limits on the resources of a server that one run may use."""

    content_bytes: int = 10_000_000_000
    run_s: float = 600.0
    buffer_bytes: int = 256 << 20
    """Largest socket buffer of a connection."""
    memory_bytes: int = 4 << 30
    """Largest address space, in bytes, of the process of a server's role."""
    netem_packets: int = 1_000_000
    """Maximum number of packets that a netem may queue, at about 2.3 kB of the kernel's memory
    each; it is the planner's limit for a path without a rate."""


def refusal(job: Job, limits: Limits, command_ports_from: int | None = None) -> str | None:
    """Return the reason why a server refuses a job; None if it accepts the job.

    Args:
        job: the job that a client sent.
        limits: the limits on the resources of this server.
        command_ports_from: the first port at which commands may listen; None if the server's owner
            allows no commands.
    """
    return (
        _refused_kind(job)
        or _refused_command(job, limits, command_ports_from)
        or _refused_size(job, limits)
    )


def _refused_kind(job: Job) -> str | None:
    if len(job.workloads) > 1 or job.only.port is not None:
        return (
            "it has several workloads, and a server has one port for data: use the virtual or the"
            " native backend"
        )
    reason = workload_of(job).server_refusal(job)
    if reason is not None:
        return reason
    stack = job.only.transport.stack
    if stack is not None:
        return (
            f"its stack {stack.name} is a program, and a server runs none by another"
            " host's word: use netwarp's own stacks, or the virtual backend"
        )
    if is_simulated(job.only.transport.model):
        return "its transport is a simulator's, which has no other host"
    if job.capture:
        return "the links between two hosts are not netwarp's to capture: leave out the capture"
    if len(job.paths) > 1 or not job.timeline.is_empty:
        return "the path between two hosts is not netwarp's to change: use one path and no timeline"
    if job.only.ends is not None:
        return "it names hosts of a network, and a server has one client"
    of_the_path = (each for each in asked(job) if each.direction is None)
    return beyond(of_the_path, frozenset(), "the path between two hosts")


def _refused_command(job: Job, limits: Limits, ports_from: int | None) -> str | None:
    workload = workload_of(job)
    command = workload.server_command(job)
    if command is None:
        return None
    if ports_from is None:
        return (
            "it has the server run a command, and a server runs none by another host's word unless"
            " its owner has started it with `netwarp serve --allow-exec`, which lets every paired"
            " host run any command there"
        )
    if command.port is not None and command.port < ports_from:
        return (
            f"its server is to wait at port {command.port}, and commands have the server's ports"
            f" from {ports_from} on: choose another, or there, as root,"
            f" `sysctl -w net.ipv4.ip_unprivileged_port_start={command.port}`"
        )
    memory_bytes = workload.memory_bytes(job)
    if memory_bytes > limits.memory_bytes:
        return (
            f"its programs have {memory_bytes} bytes of memory, and the server allows"
            f" {limits.memory_bytes}"
        )
    return None


def _refused_size(job: Job, limits: Limits) -> str | None:
    transport = job.only.transport
    asked_bytes = workload_of(job).most_content_bytes(job)
    if asked_bytes > limits.content_bytes:
        return f"{asked_bytes} bytes travel, and the server allows {limits.content_bytes} a run"
    largest_bytes = max(transport.buffer_bytes, transport.send_buffer_bytes)
    if largest_bytes > limits.buffer_bytes:
        return (
            f"its buffers are {largest_bytes} bytes, and the server allows"
            f" {limits.buffer_bytes}: give transport.buffer"
        )
    held_packets = job.paths[0].up.limit_packets
    is_imposed = bool(asked_of_direction(job.paths[0].up, "up"))
    if is_imposed and held_packets > limits.netem_packets:
        return (
            f"its netem holds {held_packets} packets, and the server allows {limits.netem_packets}:"
            " give path.queue"
        )
    if job.only.start_ns > limits.run_s * NS_PER_S:
        return (
            f"it begins after {job.only.start_ns / NS_PER_S:g} s; a run may take {limits.run_s:g} s"
        )
    return None
