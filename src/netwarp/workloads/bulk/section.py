"""The section ``[workload]`` with ``kind = "bulk"``: transfer of one file at full rate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from netwarp import wire
from netwarp.fields import KeyValueError, Kind, PeriodNs, SizeBytes
from netwarp.transports import TRANSPORTS
from netwarp.units import NS_PER_S
from netwarp.wire import Direction, TransportKind
from netwarp.workloads.base import WorkloadSection

Count = Annotated[int, Field(ge=1, le=10_000, strict=True), Kind("a whole number from 1 to 10000")]
USUAL_SIZE = "10MB"
"""What `netwarp compare` sends where no size is given."""
MOST_PARTS = 100
"""Largest number of concurrent parts: below the number of streams that QUIC stacks allow a peer."""
PartCount = Annotated[
    int, Field(ge=1, le=MOST_PARTS, strict=True), Kind(f"a whole number from 1 to {MOST_PARTS}")
]


class BulkSection(WorkloadSection):
    """Transfer of one file at full rate."""

    compared: ClassVar[Mapping[str, tuple[str, ...]]] = {"size": (USUAL_SIZE,)}
    relative_paths: ClassVar[Mapping[str, str | None]] = {"file": None}

    kind: Literal["bulk"] = "bulk"
    """A file, or bytes generated from the seed."""
    verify: bool = True
    """Hash the content at both ends and compare; otherwise the receiver counts and discards.
    Content with a `duration` is only counted."""
    size_bytes: SizeBytes | None = Field(default=None, alias="size")
    """Number of bytes to send, generated from the seed. Either this, `file` or `duration`."""
    duration_ns: PeriodNs | None = Field(default=None, alias="duration")
    """The client aborts after this time, and what has arrived by then is the result. Without a
    size, data is sent for the whole time."""
    file: str | None = None
    """A file to send; a relative path starts at the study file."""
    direction: Direction = "down"
    """`down` sends from server to client, `up` from client to server."""
    chunks: PartCount | None = None
    """Number of parts into which the content is cut, which are sent concurrently: part i over
    connection i, or over stream i of one connection (`quic`; `sctp` with several streams, modulo
    their number). Default: 1, and for `sctp` the number of its streams."""
    dial: wire.Dial = "sequential"
    """Whether each connection is opened when the one before is connected, or all at once."""
    merge: bool = False
    """The client writes each part to a file of its own and, once its connections are closed, puts
    them together to one file, which is read back and compared with the content. In virtual time
    this takes none, of CPU time little. Otherwise the hashes of the parts are compared."""
    done: wire.Done = "chunk"
    """How the sender learns that all has arrived. `chunk`: the client answers each part with a byte
    on the part's stream. `transfer`: the server ends each stream after its part, and a part has
    arrived with that end; when the client has all, it says so with a byte on one more stream of the
    connection (`quic`), or closes the connections (`tcp`, `tls`)."""
    transfers: Count = 1
    """Number of times that the content is sent in a run, each time on new connections. Metrics are
    those of the last transfer, which may resume sessions of the first."""

    @property
    def content_direction(self) -> Direction:
        """Direction in which the file is sent."""
        return self.direction

    @property
    def dials_again(self) -> bool:
        """Whether there are later transfers, which open new connections."""
        return self.transfers > 1

    def parts(self, streams: int | None) -> int:
        """Return the number of chunks: the study's, or one for each stream of an association."""
        return self.chunks or streams or 1

    def job(self, parts: int) -> wire.Bulk:
        """Return the workload part of the job; the size of a file is not yet filled in."""
        content: wire.Content
        if self.file is None:
            content = wire.Seeded(kind="seeded", seed=0, size_bytes=self.size_bytes or 0)
        else:
            content = wire.FileContent(kind="file", path=self.file, size_bytes=0)
        return wire.Bulk(
            kind="bulk",
            direction=self.direction,
            content=content,
            verify=self.verify and self.duration_ns is None,
            chunks=parts,
            dial=self.dial,
            merge=self.merge,
            done=self.done,
            transfers=self.transfers,
            duration_ns=self.duration_ns,
        )

    @property
    def least_ns(self) -> int:
        """Least time that it lasts, in ns: its duration where it has no size, else 0."""
        return self.fills_ns or 0

    @property
    def merges(self) -> bool:
        """Whether the client puts the parts together to a file."""
        return self.merge

    @property
    def confirms_parts(self) -> bool:
        """Whether each part is confirmed by itself."""
        return self.done == "chunk"

    @property
    def breaks_off(self) -> bool:
        """Whether it is aborted after a duration."""
        return self.duration_ns is not None

    @property
    def fills_ns(self) -> int | None:
        """Time in ns for which it sends at full rate; None where it has a size."""
        return self.duration_ns if self.size_bytes is None and self.file is None else None

    def filled(self, job: wire.Workload, size_bytes: int) -> wire.Workload:
        """Return its job with a content too large to be transferred in its duration."""
        content = wire.Seeded(kind="seeded", seed=0, size_bytes=size_bytes)
        return job.model_copy(update={"content": content})

    def refuse_transport(self, kind: TransportKind, *, moves: bool) -> None:
        """Refuse to end connections by their ends where that cannot be done, or recorded."""
        if self.confirms_parts:
            return
        if not TRANSPORTS[kind].has_counters_when_closed:
            reason = f"of a connection of {kind} that both ends have closed nothing can be recorded"
            raise KeyValueError(
                "workload.done", self.done, reason, "drop it, or choose tcp or quic"
            )
        if moves:
            reason = "a client that moves asks again for the parts that are not confirmed"
            raise KeyValueError("workload.done", self.done, reason, "drop it, or path.handovers")

    def refuse_misfit(self, limit_ns: int, parts: int) -> None:
        """Refuse a duration beyond the run's limit, more chunks than bytes, and too many chunks."""
        if self.duration_ns is not None and self.duration_ns >= limit_ns:
            reason = f"the run is given up after {limit_ns // NS_PER_S}s"
            remedy = "choose a shorter one, or raise limits.virtual_s"
            raise KeyValueError("workload.duration", None, reason, remedy)
        if self.size_bytes is not None and parts > self.size_bytes:
            reason = f"a content of {self.size_bytes} bytes has no {parts} parts"
            remedy = "choose fewer chunks or a larger size"
            raise KeyValueError("workload.chunks", parts, reason, remedy)
        if parts > MOST_PARTS:
            raise KeyValueError(
                "transport.streams",
                None,
                f"a content is cut into as many parts as there are streams, at most {MOST_PARTS}",
                f"choose fewer streams, or set workload.chunks to {MOST_PARTS} or less",
            )
        if parts == MOST_PARTS and not self.confirms_parts:
            reason = f"it takes one more stream, and stacks allow a peer {MOST_PARTS}"
            raise KeyValueError("workload.done", self.done, reason, "choose fewer chunks")

    @model_validator(mode="after")
    def _one_content(self) -> Self:
        both = self.size_bytes is not None and self.file is not None
        if both or (self.size_bytes is None and self.file is None and self.duration_ns is None):
            found = "both are given" if both else "neither is given"
            raise KeyValueError(
                "size", None, f"of size and file, {found}", 'give one, such as size = "10MB"'
            )
        return self

    @model_validator(mode="after")
    def _is_merged_where_it_arrives_whole(self) -> Self:
        if self.merge and self.direction == "up":
            reason = "a server serves each connection by itself and has no transfer to merge"
            raise KeyValueError("merge", True, reason, 'drop it, or choose direction = "down"')
        if self.merge and self.duration_ns is not None:
            reason = "a content that is broken off is not whole"
            raise KeyValueError("merge", True, reason, "drop it, or the duration")
        return self

    @model_validator(mode="after")
    def _is_done_where_it_arrives_whole(self) -> Self:
        if self.confirms_parts:
            return self
        if self.direction == "up":
            reason = "a server serves each connection by itself and has no transfer that is done"
            raise KeyValueError("done", self.done, reason, 'drop it, or choose direction = "down"')
        if self.duration_ns is not None:
            reason = "a content that is broken off has no end"
            raise KeyValueError("done", self.done, reason, "drop it, or the duration")
        return self

    @model_validator(mode="after")
    def _has_no_end_that_is_not_its_own(self) -> Self:
        if self.duration_ns is None:
            return self
        if self.transfers > 1:
            reason = "a content that is broken off is sent once"
            raise KeyValueError("transfers", self.transfers, reason, "drop it, or the duration")
        if "verify" in self.model_fields_set and self.verify:
            reason = "a content that is broken off has no hash to compare"
            raise KeyValueError("verify", True, reason, "drop it, or the duration")
        return self
