"""Makes the job template of each cell: the job that all runs of the cell have in common."""

from functools import cache

from netwarp import wire
from netwarp.fields import DIRECTIONS, KeyValueError
from netwarp.shared_values import SharedValues
from netwarp.study.cells.association import refuse_lost_associations
from netwarp.study.cells.buffers import buffer_bytes, most_content_bytes, send_buffer_bytes
from netwarp.study.cells.cell_sections import CellSections
from netwarp.study.cells.cell_transport import CellTransport
from netwarp.study.cells.path_direction import PathDirection
from netwarp.study.sections.limits import LimitsSection
from netwarp.study.sections.path import SinglePath
from netwarp.study.sections.transport import owners
from netwarp.units import NS_PER_S
from netwarp.wire import JOB_FORMAT, Direction, Job, Reconnect

LEAST_MESSAGE_BYTES = 9
"""Size of the smallest SCTP message of unordered content: eight bytes for its offset, and one of
payload."""
SHORTEST_SAMPLING_NS, LONGEST_SAMPLING_NS = 1_000_000, 100_000_000
"""Bounds, in ns, of the initial sampling interval of a run."""


class JobTemplates:
    """Makes the job templates of a study's cells. Parts that are equal in several cells are one
    object.
    """

    def __init__(self, *, capture: bool, sampling: int | str) -> None:
        """Set the values that all cells share: whether runs write captures, and the sampling
        interval.
        """
        self._capture = capture
        self._sampling = sampling
        self._transports: SharedValues[wire.Transport] = SharedValues()
        self._workloads: SharedValues[wire.Workload] = SharedValues()
        self._limits: SharedValues[wire.Limits] = SharedValues()

    def template(self, cell: CellSections, kernel: str | None = None) -> Job:
        """Return the job of a cell without the values that differ from run to run.

        Seeds are 0, random times are at their earliest, the run's name is empty, and the size of a
        file is not filled in.

        Raises:
            KeyValueError: a queue, buffer or SCTP association cannot be set up as the study asks.
        """
        paths = built_paths(cell)
        transport = self._transport(cell)
        refuse_lost_associations(cell)
        exchange = wire.Exchange.of_checked(
            {
                "name": None,
                "port": None,
                "start_ns": 0,
                "transport": transport,
                "workload": self._workload(cell),
            }
        )
        return Job.of_checked(
            {
                "format": JOB_FORMAT,
                "run": "",
                "seed": 0,
                "paths": paths,
                "workloads": (exchange,),
                "timeline": built_timeline(cell),
                "capture": self._capture,
                "sampling": _sampling(cell, self._sampling),
                "limits": self._limits.get(cell.limits, None, _limits),
                "kernel": kernel,
            }
        )

    def _workload(self, cell: CellSections) -> wire.Workload:
        parts, fills_ns = cell.parts, cell.workload.fills_ns
        job = self._workloads.get(cell.workload, parts, lambda each: each.job(parts))
        if fills_ns is None:
            return job
        return cell.workload.filled(job, most_content_bytes(cell, fills_ns))

    def _transport(self, cell: CellSections) -> wire.Transport:
        """Return the transport part of a cell's job, in which sizes that the study does not set
        follow from the path.
        """
        path, reconnect = cell.path, cell.reconnect
        most_bytes = buffer_bytes(cell)
        buffers = (most_bytes, send_buffer_bytes(cell, most_bytes))
        ecn = cell.transport.ecn if cell.transport.ecn or cell.disciplines else None
        return self._transports.get(
            cell.transport,
            (path.mtu_bytes, path.ip_version, buffers, reconnect, ecn),
            lambda transport: _transport(transport, path, buffers, reconnect, ecn),
        )


def built_paths(cell: CellSections) -> tuple[wire.Path, ...]:
    """Return the paths of a cell for its job, with the sizes of queues, and without seeds.

    Raises:
        KeyValueError: a queue cannot be set up as the study asks.
    """
    return tuple(
        wire.Path.of_checked(
            {
                "mtu_bytes": path.mtu_bytes,
                "attached": index == 0 or not cell.has_handovers,
                "neighbours": path.known_neighbours,
                "ipv6": path.ip_version == 6,
                "dual": path.ip == "dual",
                "down": _impairments(cell, "down", index),
                "up": _impairments(cell, "up", index),
            }
        )
        for index, path in enumerate(cell.paths)
    )


def _limits(limits: LimitsSection) -> wire.Limits:
    return wire.Limits(virtual_ns=limits.virtual_s * NS_PER_S)


def _sampling(cell: CellSections, asked: int | str) -> wire.Sampling | None:
    """Return the sampling part of a cell's job: the first interval is the study's, or half a
    round-trip time. None if sampling is off.
    """
    if asked == "off":
        return None
    if isinstance(asked, int):
        return wire.Sampling(interval_ns=asked, is_thinned=False)
    rtt_ns = max(path.base_rtt_ns for path in cell.paths)
    interval_ns = min(max(rtt_ns // 2, SHORTEST_SAMPLING_NS), LONGEST_SAMPLING_NS)
    return wire.Sampling.of_checked({"interval_ns": interval_ns, "is_thinned": True})


def _impairments(cell: CellSections, direction: Direction, index: int) -> wire.Impairments:
    """Return the impairments of one direction of a path, with the size of its queue."""
    sized = PathDirection(cell, direction, index)
    return wire.Impairments.of_checked(
        {
            **sized.impairments.netem,
            "in_order": sized.keeps_order,
            "rate_bit_s": sized.initial_rate_bit_s,
            "limit_packets": sized.limit_packets,
            "queue_packets": sized.waiting_packets,
            "shaper_queue_bytes": sized.shaper_queue_bytes,
            "discipline": sized.discipline,
            "seed": 0,
        }
    )


def _transport(
    transport: CellTransport,
    path: SinglePath,
    buffers: tuple[int, int],
    reconnect: Reconnect,
    ecn: bool | None,
) -> wire.Transport:
    """Return the transport part of a job, with buffers and options resolved."""
    resolved = wire.Transport(
        kind=transport.kind,
        stack=None if transport.stack is None else transport.stack.in_job(),
        model=transport.model,
        congestion=transport.resolved_congestion,
        buffer_bytes=buffers[0],
        send_buffer_bytes=buffers[1],
        initial_window_packets=transport.resolved_initial_window_packets(path),
        mss_bytes=transport.resolved_mss_bytes,
        nodelay=transport.nodelay,
        ecn=ecn,
        resume=transport.resume,
        reconnect=reconnect,
        tcp=transport.resolved_tcp,
        sctp=transport.resolved_sctp,
        quic=transport.resolved_quic,
        client=None
        if transport.stack is None
        else transport.stack.client_end(transport.congestion),
    )
    message_bytes = resolved.sctp.max_message_bytes
    has_messages = transport.kind in owners("max_message_bytes")
    if has_messages and not (LEAST_MESSAGE_BYTES <= message_bytes <= resolved.send_buffer_bytes):
        raise KeyValueError(
            "transport.max_message",
            None,
            f"a send buffer of {resolved.send_buffer_bytes} bytes takes whole messages of"
            f" {LEAST_MESSAGE_BYTES} bytes or more, not one of {message_bytes}",
            "choose another max_message, or a larger buffer",
        )
    return resolved


@cache
def _nothing_happens() -> wire.Timeline:
    return wire.Timeline(events=(), redraws=(), traces=())


def built_timeline(cell: CellSections) -> wire.Timeline:
    """Return the events of a cell's paths; those at random times are as early as possible."""
    if not cell.events and all(path.redraw is None and path.trace is None for path in cell.paths):
        return _nothing_happens()
    return wire.Timeline(
        events=cell.events,
        redraws=tuple(
            wire.Redraw(
                path=index,
                period_ns=path.redraw.period_ns,
                mean_ns=path.base_rtt_ns,
                deviation_ns=path.redraw_deviation_ns,
                seed=0,
            )
            for index, path in enumerate(cell.paths)
            if path.redraw is not None
        ),
        traces=tuple(
            wire.Trace(
                path=index,
                direction=direction,
                step_ns=trace.step_ns,
                rates_bit_s=trace.rates_bit_s,
            )
            for index, path in enumerate(cell.paths)
            for direction in DIRECTIONS
            if (trace := path.impairments(direction).trace) is not None
        ),
    )
