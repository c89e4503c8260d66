"""What one cell asks for: path, transport, workload and limits, validated together."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from netwarp.cell_transport import CellTransport
from netwarp.fields import KeyValueError, Kind, Section, SizeBytes
from netwarp.job import Heading
from netwarp.path import SinglePath
from netwarp.paths import PathSection
from netwarp.transport import HEADER_BYTES, QUIC_MIN_PAYLOAD_BYTES

Seconds = Annotated[
    int, Field(ge=1, le=10**9, strict=True), Kind("a whole number of seconds, at least 1")
]
Count = Annotated[int, Field(ge=1, le=10_000, strict=True), Kind("a whole number from 1 to 10000")]
ChunkCount = Annotated[int, Field(ge=1, le=100, strict=True), Kind("a whole number from 1 to 100")]


class WorkloadSection(Section):
    """What travels."""

    kind: Literal["bulk"] = "bulk"
    """`bulk`: one file, as fast as it goes."""
    size_bytes: SizeBytes | None = Field(default=None, alias="size")
    """How many bytes to send, made from the seed. Either this or `file`."""
    file: str | None = None
    """A file to send; a relative path starts at the study file."""
    direction: Heading = "down"
    """`down` sends from server to client, `up` from client to server."""
    verify: bool = True
    """Hash the content at both ends and compare; otherwise the receiver counts and discards."""
    chunks: ChunkCount | None = None
    """Parts the content is cut into, sent at once: part i over connection i, or over stream i of
    one connection (`quic`; `sctp` with several streams, counted round). Default: 1, and for `sctp`
    as many as its streams."""
    dial: Literal["sequential", "parallel"] = "sequential"
    """How the connections are opened: each when the one before is connected, or all at once."""
    transfers: Count = 1
    """How often the content is sent in a run, on new connections each time. Metrics are those of
    the last transfer, which may resume what the first one left."""

    @model_validator(mode="after")
    def _one_content(self) -> Self:
        if (self.size_bytes is None) == (self.file is None):
            found = "both are given" if self.file is not None else "neither is given"
            raise KeyValueError(
                "size", None, f"of size and file, {found}", 'give one, such as size = "10MB"'
            )
        return self


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
        """The paths, the first one first."""
        second = self.path.second
        return (self.path,) if second is None else (self.path, second)

    @property
    def chunks(self) -> int:
        """Parts the content is cut into."""
        own = self.transport.streams if self.transport.kind == "sctp" else None
        return self.workload.chunks or own or 1

    @property
    def connections(self) -> int:
        """Connections of each transfer."""
        return 1 if self.transport.multiplexes else self.chunks

    @model_validator(mode="after")
    def _packets_fit_the_path(self) -> Self:
        for key, path in zip(("path", "path.second"), self.paths, strict=False):
            _refuse_misfit(self.transport, path.mtu_bytes, key)
        return self

    @model_validator(mode="after")
    def _paths_fit_the_transport(self) -> Self:
        transport, second = self.transport, self.path.second
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
                "drop it, or choose mptcp or sctp with multihomed = true",
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
        if self.transport.resume != "none" and workload.transfers == 1:
            raise KeyValueError(
                "transport.resume",
                self.transport.resume,
                "the run's only transfer has nothing to resume",
                "set workload.transfers = 2",
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
