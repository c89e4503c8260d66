"""What one cell asks for: path, transport, workload and limits, validated together."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from netwarp.fields import KeyValueError, Kind, Section, SizeBytes
from netwarp.job import Heading
from netwarp.path import DirectionSpec, PathSection
from netwarp.transport import (
    HEADER_BYTES,
    QUIC_MIN_PAYLOAD_BYTES,
    CellTransport,
)

Seconds = Annotated[
    int, Field(ge=1, le=10**9, strict=True), Kind("a whole number of seconds, at least 1")
]


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

    @model_validator(mode="after")
    def _packets_fit_the_path(self) -> Self:
        kind, mss_bytes, mtu_bytes = (
            self.transport.kind,
            self.transport.mss_bytes,
            self.path.mtu_bytes,
        )
        largest_bytes = mtu_bytes - HEADER_BYTES[kind]
        if mss_bytes is not None and mss_bytes > largest_bytes:
            raise KeyValueError(
                "transport.mss",
                mss_bytes,
                f"more than {largest_bytes} bytes of {kind} do not fit an MTU of {mtu_bytes}",
                "lower mss or raise path.mtu",
            )
        if kind == "quic" and largest_bytes < QUIC_MIN_PAYLOAD_BYTES:
            raise KeyValueError(
                "path.mtu",
                mtu_bytes,
                "QUIC needs packets of 1200 bytes (RFC 9000, section 14)",
                f"choose at least {QUIC_MIN_PAYLOAD_BYTES + HEADER_BYTES[kind]}",
            )
        return self

    def toward(self, heading: Heading) -> DirectionSpec:
        """Give the direction of the path that leads there."""
        return self.path.down if heading == "down" else self.path.up
