"""What one cell asks for: path, transport, workload and limits, validated together."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Self

from pydantic import Field, model_validator

from netwarp import wire
from netwarp.study.cells.transport import CellTransport
from netwarp.study.sections.fields import KeyValueError, Kind, Section
from netwarp.study.sections.path import SinglePath
from netwarp.study.sections.paths import PathSection
from netwarp.study.sections.transport import HEADER_BYTES, QUIC_MIN_PAYLOAD_BYTES
from netwarp.study.sections.workload import WorkloadSection
from netwarp.units import NS_PER_S
from netwarp.wire import Reconnect

Seconds = Annotated[
    int, Field(ge=1, le=10**9, strict=True), Kind("a whole number of seconds, at least 1")
]


class LimitsSection(Section):
    """When a run is given up."""

    virtual_s: Seconds = 86_400
    """The run has failed when its own clock says more than this many seconds."""
    stall_cpu_s: Seconds = 120
    """The run has failed when it used this many seconds of CPU without its clock moving."""


class Conditions(Section):
    """One cell, complete and consistent."""

    path: PathSection
    transport: CellTransport
    workload: WorkloadSection
    limits: LimitsSection

    @property
    def paths(self) -> tuple[SinglePath, ...]:
        """The paths, the first one first; a client that never moves has no other access point."""
        stays = self.path.may_hand_over and not self.has_handovers
        return self.path.all_paths[:1] if stays else self.path.all_paths

    @cached_property
    def events(self) -> tuple[wire.Event, ...]:
        """What happens before the run is given up; nothing on a path that is not there."""
        end_ns = self.limits.virtual_s * NS_PER_S
        before = [event for event in self.path.events if event.at_ns <= end_ns]
        moves = any(isinstance(event.change, wire.Attach | wire.Detach) for event in before)
        if self.path.may_hand_over and not moves:
            before = [event for event in before if event.path == 0]
        return tuple(before)

    @property
    def has_handovers(self) -> bool:
        """Whether the client moves between the paths."""
        return any(isinstance(event.change, wire.Attach | wire.Detach) for event in self.events)

    @property
    def reconnect(self) -> Reconnect:
        """What becomes of connections when the client moves; all the same when it never does."""
        return self.transport.resolved_reconnect if self.has_handovers else "new"

    @property
    def chunks(self) -> int:
        """Parts the content is cut into."""
        own = self.transport.streams if self.transport.kind == "sctp" else None
        return self.workload.chunks or own or 1

    @property
    def connections(self) -> int:
        """Connections of each transfer."""
        return 1 if self.transport.multiplexes or self.workload.kind == "stream" else self.chunks

    @model_validator(mode="after")
    def _packets_fit_the_path(self) -> Self:
        for key, path in zip(("path", "path.second"), self.path.all_paths, strict=False):
            _refuse_misfit(self.transport, path.mtu_bytes, key)
        return self

    @model_validator(mode="after")
    def _paths_fit_the_transport(self) -> Self:
        transport, second = self.transport, self.path.second
        if self.path.may_hand_over:
            if transport.multihomed:
                raise KeyValueError(
                    "transport.multihomed",
                    None,
                    "a client that moves has one address at a time",
                    'drop it, and choose reconnect = "migrate" to keep its associations',
                )
            return self
        if transport.uses_two_paths and second is None:
            key = "transport.kind" if transport.kind == "mptcp" else "transport.multihomed"
            raise KeyValueError(
                key, None, "there is one path", 'add [path.second], such as rtt = "30ms"'
            )
        if second is not None and not transport.uses_two_paths:
            name = f"{transport.kind} that is not multihomed"
            name = name if transport.kind == "sctp" else transport.kind
            raise KeyValueError(
                "path.second",
                None,
                f"{name} uses one path only",
                "drop it, choose mptcp or sctp with multihomed = true, or give [path.handovers]",
            )
        return self

    @model_validator(mode="after")
    def _reconnections_are_possible(self) -> Self:
        transport = self.transport
        if transport.reconnect is not None and not self.path.may_hand_over:
            raise KeyValueError(
                "transport.reconnect",
                transport.reconnect,
                "the client never moves",
                "give [path.handovers], or drop it",
            )
        if (
            self.path.may_hand_over
            and transport.resolved_reconnect == "new"
            and self.workload.direction == "up"
        ):
            raise KeyValueError(
                "workload.direction",
                "up",
                "over a new connection a content goes on at the byte reached, which only its"
                " receiver knows and a dialling sender would have to be told",
                'send it down, or choose reconnect = "migrate" where the transport can',
            )
        return self

    @model_validator(mode="after")
    def _entries_come_in_time(self) -> Self:
        for index, entry in enumerate(self.path.timeline):
            if entry.at_ns > self.limits.virtual_s * NS_PER_S:
                raise KeyValueError(
                    f"path.timeline.{index}.at",
                    None,
                    f"the run is given up after {self.limits.virtual_s}s",
                    "choose an earlier time, or raise limits.virtual_s",
                )
        return self

    @model_validator(mode="after")
    def _viewer_sees_enough_in_time(self) -> Self:
        end_ns = self.limits.virtual_s * NS_PER_S
        if self.workload.kind == "stream" and self.workload.watch_ns >= end_ns:
            raise KeyValueError(
                "workload.watch",
                None,
                f"the run is given up after {self.limits.virtual_s}s",
                "watch less, or raise limits.virtual_s",
            )
        return self

    @model_validator(mode="after")
    def _chunks_fit_the_content(self) -> Self:
        workload = self.workload
        if workload.size_bytes is not None and self.chunks > workload.size_bytes:
            raise KeyValueError(
                "workload.chunks",
                self.chunks,
                f"a content of {workload.size_bytes} bytes has no {self.chunks} parts",
                "choose fewer chunks or a larger size",
            )
        once = workload.transfers == 1 and not self.path.may_hand_over
        if self.transport.resume != "none" and once:
            raise KeyValueError(
                "transport.resume",
                self.transport.resume,
                "the run's only transfer has nothing to resume",
                "set workload.transfers = 2, or let the client move with [path.handovers]",
            )
        return self


def _refuse_misfit(transport: CellTransport, mtu_bytes: int, path: str) -> None:
    kind = transport.kind
    largest_bytes = mtu_bytes - HEADER_BYTES[kind]
    if transport.mss_bytes is not None and transport.mss_bytes > largest_bytes:
        raise KeyValueError(
            "transport.mss",
            transport.mss_bytes,
            f"more than {largest_bytes} bytes of {kind} do not fit an MTU of {mtu_bytes}",
            f"lower mss or raise {path}.mtu",
        )
    if kind == "quic" and largest_bytes < QUIC_MIN_PAYLOAD_BYTES:
        raise KeyValueError(
            f"{path}.mtu",
            mtu_bytes,
            "QUIC needs packets of 1200 bytes (RFC 9000, section 14)",
            f"choose at least {QUIC_MIN_PAYLOAD_BYTES + HEADER_BYTES[kind]}",
        )
