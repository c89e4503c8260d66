"""The ``[workload]`` section: what travels."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from netwarp import wire
from netwarp.study.refusal import KeyValueError
from netwarp.study.sections.fields import DurationNs, Kind, RatioField, Section, SizeBytes
from netwarp.study.sections.timeline import PeriodNs
from netwarp.units import format_duration
from netwarp.wire import Direction

Count = Annotated[int, Field(ge=1, le=10_000, strict=True), Kind("a whole number from 1 to 10000")]
MOST_CHUNKS = 100
"""What the endpoint sends at once: few beside the streams that a QUIC stack lets a peer open."""
ChunkCount = Annotated[
    int, Field(ge=1, le=MOST_CHUNKS, strict=True), Kind(f"a whole number from 1 to {MOST_CHUNKS}")
]
SegmentCount = Annotated[
    int, Field(ge=1, le=10**6, strict=True), Kind("a whole number from 1 to 1000000")
]
Qualities = Annotated[
    dict[str, SizeBytes], Kind('a table of sizes such as `{ hd = "4MB", fhd = "4.5MB" }`')
]
Bounds = Annotated[tuple[DurationNs, ...], Kind('a list of durations such as `["100ms", "200ms"]`')]
RuleName = Literal["delay", "throughput", "bola"]

_OF_BULK = ("size_bytes", "file", "direction", "chunks", "dial", "transfers")
_OF_STREAM = (
    "watch_ns",
    "segment_ns",
    "segments",
    "qualities",
    "rule",
    "delay_bounds_ns",
    "safety_ratio",
    "window",
    "start_buffer_ns",
    "buffer_ns",
    "seek_ratio",
)
OF_ONE_RULE: Mapping[str, RuleName] = {
    "delay_bounds": "delay",
    "safety": "throughput",
    "window": "throughput",
}
"""Keys that only one rule uses; a study that varies the rule may give those of all."""
DEFAULT_BUFFER_SEGMENTS = 10


class WorkloadSection(Section):
    """What travels."""

    kind: Literal["bulk", "stream"] = "bulk"
    """`bulk`: one file, as fast as it goes. `stream`: a medium in segments, each in several
    qualities, that a player at the client asks for one by one, and watches."""
    size_bytes: SizeBytes | None = Field(default=None, alias="size")
    """Bulk: how many bytes to send, made from the seed. Either this or `file`."""
    file: str | None = None
    """Bulk: a file to send; a relative path starts at the study file."""
    direction: Direction = "down"
    """Bulk: `down` sends from server to client, `up` from client to server."""
    verify: bool = True
    """Hash the content at both ends and compare; otherwise the receiver counts and discards."""
    chunks: ChunkCount | None = None
    """Bulk: parts the content is cut into, sent at once: part i over connection i, or over stream i
    of one connection (`quic`; `sctp` with several streams, counted round). Default: 1, and for
    `sctp` as many as its streams."""
    dial: Literal["sequential", "parallel"] = "sequential"
    """Bulk: how the connections are opened: each when the one before is connected, or all at
    once."""
    transfers: Count = 1
    """Bulk: how often the content is sent in a run, on new connections each time. Metrics are those
    of the last transfer, which may resume what the first one left."""
    watch_ns: PeriodNs = Field(default=60_000_000_000, alias="watch")
    """Stream: play time until the viewer has seen enough."""
    segment_ns: PeriodNs = Field(default=1_000_000_000, alias="segment")
    """Stream: play time of a segment."""
    segments: SegmentCount = 600
    """Stream: length of the medium in segments; after the last one comes the first."""
    qualities: Qualities = Field(default={"hd": 4_000_000, "fhd": 4_500_000, "qhd": 5_000_000})
    """Stream: size of a segment in each quality, lowest first."""
    rule: RuleName = "delay"
    """Stream: how the player chooses the next segment's quality; the lowest after connecting and
    after a seek. `delay`: by the time from the last request to the first byte of its answer.
    `throughput`: the highest below a share of the harmonic mean of the last segments' throughput
    (FESTIVE, CoNEXT 2012). `bola`: by the level of the buffer (BOLA-BASIC, INFOCOM 2016)."""
    delay_bounds_ns: Bounds = Field(default=(100_000_000, 200_000_000), alias="delay_bounds")
    """Stream, rule `delay`: ascending, one fewer than there are qualities. The highest quality
    below the first bound, the next one below the second, and so on."""
    safety_ratio: RatioField = Field(default=0.85, alias="safety")
    """Stream, rule `throughput`: share of the mean that a quality's bit rate may take."""
    window: Count = 20
    """Stream, rule `throughput`: segments in the mean."""
    start_buffer_ns: PeriodNs | None = Field(default=None, alias="start_buffer")
    """Stream: play time that must be at hand before playing starts, or goes on after a stall or a
    seek. Default: one segment."""
    buffer_ns: PeriodNs | None = Field(default=None, alias="buffer")
    """Stream: play time the player holds ahead at most. Default: ten segments."""
    seek_ratio: RatioField = Field(default=0.0, alias="seek")
    """Stream: probability that the viewer moves to another segment, at each full second of play
    time."""

    @property
    def resolved_start_buffer_ns(self) -> int:
        """Play time before playing starts: the study's, or one segment."""
        return self.segment_ns if self.start_buffer_ns is None else self.start_buffer_ns

    @property
    def resolved_buffer_ns(self) -> int:
        """Play time held ahead at most: the study's, or ten segments."""
        own = self.buffer_ns
        return DEFAULT_BUFFER_SEGMENTS * self.segment_ns if own is None else own

    @property
    def wire_rule(self) -> wire.Rule:
        """The rule with its parameters."""
        match self.rule:
            case "delay":
                return wire.DelayRule(kind="delay", bounds_ns=self.delay_bounds_ns)
            case "throughput":
                return wire.ThroughputRule(
                    kind="throughput", safety_ratio=self.safety_ratio, window=self.window
                )
            case "bola":
                return wire.BolaRule(kind="bola")

    @model_validator(mode="after")
    def _refuse_keys_of_another_kind(self) -> Self:
        for kind, names in (("bulk", _OF_BULK), ("stream", _OF_STREAM)):
            for name in names if self.kind != kind else ():
                if name in self.model_fields_set:
                    raise KeyValueError(
                        _key(name), None, f"a {kind} has it, not a {self.kind}", "drop it"
                    )
        return self

    @model_validator(mode="after")
    def _one_content(self) -> Self:
        if self.kind == "bulk" and (self.size_bytes is None) == (self.file is None):
            found = "both are given" if self.file is not None else "neither is given"
            raise KeyValueError(
                "size", None, f"of size and file, {found}", 'give one, such as size = "10MB"'
            )
        return self

    @model_validator(mode="after")
    def _qualities_ascend(self) -> Self:
        if not self.qualities:
            raise KeyValueError("qualities", None, "there is none", 'such as { hd = "4MB" }')
        if any(below >= above for below, above in pairwise(self.qualities.values())):
            raise KeyValueError(
                "qualities", None, "not ascending in size", "write the lowest quality first"
            )
        if self.segments * sum(self.qualities.values()) >= 2**64:
            raise KeyValueError(
                "qualities", None, "the medium is larger than 64 bits count", "make it smaller"
            )
        return self

    @model_validator(mode="after")
    def _rule_fits_the_qualities(self) -> Self:
        if self.kind != "stream":
            return self
        if self.rule == "throughput" and self.safety_ratio == 0:
            raise KeyValueError("safety", None, "no throughput suffices", 'such as "85%"')
        if self.rule == "bola" and len(self.qualities) == 1:
            raise KeyValueError(
                "rule", "bola", "it chooses between two qualities or more", "add a quality"
            )
        bounds_ns = self.delay_bounds_ns
        if self.rule == "delay" and len(bounds_ns) != len(self.qualities) - 1:
            raise KeyValueError(
                "delay_bounds",
                None,
                f"{len(self.qualities)} qualities have {len(self.qualities) - 1} bounds between"
                f" them, not {len(bounds_ns)}",
                'such as ["100ms", "200ms"] for three',
            )
        if any(below >= above for below, above in pairwise(bounds_ns)):
            raise KeyValueError("delay_bounds", None, "not ascending", "write the shortest first")
        return self

    @model_validator(mode="after")
    def _player_can_play(self) -> Self:
        if self.kind != "stream":
            return self
        if self.resolved_buffer_ns < self.segment_ns:
            raise KeyValueError(
                "buffer",
                None,
                f"a segment of {format_duration(self.segment_ns)} does not fit",
                "choose a larger buffer or shorter segments",
            )
        fits_ns = self.resolved_buffer_ns // self.segment_ns * self.segment_ns
        if self.resolved_start_buffer_ns > fits_ns:
            raise KeyValueError(
                "start_buffer",
                None,
                f"the player never holds more than {format_duration(fits_ns)}, whole segments",
                "choose a shorter start_buffer or a larger buffer",
            )
        return self


def _key(name: str) -> str:
    return WorkloadSection.model_fields[name].alias or name
