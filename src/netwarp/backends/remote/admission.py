"""Which jobs a server takes from its clients. Pure.

A job was written by a planner, but it comes from another host: it is data of somebody who was let
in, and no more. What it may ask for is named here; all else is refused.
"""

from __future__ import annotations

from dataclasses import dataclass

from netwarp import wire
from netwarp.units import NS_PER_S
from netwarp.wire import Job

MOST_CHUNKS = 100
MOST_TRANSFERS = 100
MOST_RESOURCES = 2000
TAKEN = (wire.Bulk, wire.Stream, wire.Page)
"""The workloads that a server takes; a new one is not taken before somebody has looked at it."""


@dataclass(frozen=True)
class Limits:
    """How much one run may take of a server."""

    content_bytes: int = 10_000_000_000
    run_s: float = 600.0
    buffer_bytes: int = 256 << 20
    """Of each connection."""
    memory_bytes: int = 4 << 30
    """Address space of the role's process."""


def refusal(job: Job, limits: Limits) -> str | None:
    """Say why a server does not take a job; None where it does."""
    return _refused_kind(job) or _refused_size(job, limits)


def _refused_kind(job: Job) -> str | None:
    workload = job.workload
    is_web_program = isinstance(workload, wire.Page) and (workload.client or workload.server)
    if isinstance(workload, wire.Command) or is_web_program:
        return (
            "it runs programs, and a server runs none by another host's word: use the virtual"
            " backend"
        )
    if isinstance(workload, wire.Flow):
        return (
            "a flow's packets are followed by the router between the hosts, which is nobody's here:"
            " use the virtual or the native backend"
        )
    if not isinstance(workload, TAKEN):
        return f"a server takes bulk, stream and page, and no workload of kind {workload.kind!r}"
    if _names_files(workload):
        return (
            "it sends files, and a server reads none by another host's word: give the workload a"
            " size, or use the virtual backend"
        )
    if job.transport.stack is not None:
        return (
            f"its stack {job.transport.stack.name} is a program, and a server runs none by another"
            " host's word: use netwarp's own stacks, or the virtual backend"
        )
    if job.transport.model != "kernel":
        return "its transport is a simulator's, which has no other host"
    if job.capture:
        return "the links between two hosts are not netwarp's to capture: leave out the capture"
    if len(job.paths) > 1 or not job.timeline.is_empty:
        return "the path between two hosts is not netwarp's to change: use one path and no timeline"
    return None


def _names_files(workload: wire.Workload) -> bool:
    match workload:
        case wire.Bulk():
            return isinstance(workload.content, wire.FileContent)
        case wire.Page():
            return any(resource.file is not None for resource in workload.resources)
        case _:
            return False


def _refused_size(job: Job, limits: Limits) -> str | None:
    transport, workload = job.transport, job.workload
    asked_bytes = content_bytes(workload)
    if asked_bytes > limits.content_bytes:
        return f"{asked_bytes} bytes travel, and the server allows {limits.content_bytes} a run"
    largest_bytes = max(transport.buffer_bytes, transport.send_buffer_bytes)
    if largest_bytes > limits.buffer_bytes:
        return (
            f"its buffers are {largest_bytes} bytes, and the server allows"
            f" {limits.buffer_bytes}: give transport.buffer"
        )
    if job.start_ns > limits.run_s * NS_PER_S:
        return f"it begins after {job.start_ns / NS_PER_S:g} s; a run may take {limits.run_s:g} s"
    if isinstance(workload, wire.Bulk) and workload.chunks > MOST_CHUNKS:
        return f"it has {workload.chunks} chunks, and the server allows {MOST_CHUNKS}"
    if isinstance(workload, wire.Bulk) and workload.transfers > MOST_TRANSFERS:
        return f"it has {workload.transfers} transfers, and the server allows {MOST_TRANSFERS}"
    if isinstance(workload, wire.Page) and len(workload.resources) > MOST_RESOURCES:
        return f"its page has {len(workload.resources)} resources; {MOST_RESOURCES} are allowed"
    return None


def content_bytes(workload: wire.Workload) -> int:
    """Give how many bytes of content travel at most; 0 of what is refused in any case."""
    match workload:
        case wire.Bulk():
            return workload.content.size_bytes * workload.transfers
        case wire.Page():
            return sum(resource.body_bytes for resource in workload.resources)
        case wire.Stream():
            largest = max(quality.segment_bytes for quality in workload.qualities)
            watched = -(-workload.watch_ns // max(1, workload.segment_ns)) + 1
            return largest * (watched + workload.segments)
        case _:
            return 0
