"""The section ``[workload]`` with ``kind = "stream"``: adaptive streaming to a player."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from netwarp import wire
from netwarp.fields import DurationNs, KeyValueError, Kind, PeriodNs, RatioField, SizeBytes, Switch
from netwarp.units import NS_PER_S, format_duration
from netwarp.wire import Direction
from netwarp.workloads.section import WorkloadSection

WindowLength = Annotated[
    int, Field(ge=1, le=10_000, strict=True), Kind("a whole number from 1 to 10000")
]
SegmentCount = Annotated[
    int, Field(ge=1, le=10**6, strict=True), Kind("a whole number from 1 to 1000000")
]
Qualities = Annotated[
    dict[str, SizeBytes], Kind('a table of sizes such as `{ hd = "4MB", fhd = "4.5MB" }`')
]
Bounds = Annotated[tuple[DurationNs, ...], Kind('a list of durations such as `["100ms", "200ms"]`')]
RuleName = Literal["link_delay", "delay", "throughput", "bola"]

OF_RULES: Mapping[str, tuple[RuleName, ...]] = {
    "delay_bounds": ("link_delay", "delay"),
    "safety": ("throughput",),
    "window": ("throughput",),
}
"""Rules for choosing a quality by the key that only they use. A study that varies the rule may set
the keys of all its rules."""
DEFAULT_BUFFER_SEGMENTS = 10
MOST_STREAMS = 2000
"""Maximum number of streams of an association: at each end a thread waits on each of them."""
MOST_WATCHED = 100_000
"""Maximum number of segments that a viewer watches: each costs some 0.1 ms of CPU time, and a video
of a day in segments of a second has fewer."""
LONGEST_NS = 2**63 - 1


class StreamSection(WorkloadSection):
    """Adaptive streaming of a video in segments, each in several qualities. A player at the client
    requests them one after another for a viewer.
    """

    compared_by: ClassVar[str] = "stall_s"
    compared_metrics: ClassVar[tuple[str, ...]] = ("stall_s", "startup_delay_s", "media_rate_bit_s")
    compared: ClassVar[Mapping[str, tuple[str, ...]]] = {"watch": ("20s",)}
    compared_with: ClassVar[Mapping[str, Any]] = {
        "segment": "2s",
        "qualities": {"low": "375kB", "medium": "1250kB", "high": "3750kB"},
    }

    kind: Literal["stream"]
    """A player with a buffer, at the client."""
    verify: Switch = True
    """Hash the content at both ends and compare; otherwise the receiver counts and discards."""
    watch_ns: PeriodNs = Field(default=60_000_000_000, alias="watch")
    """Time after which the viewer's session ends, by the viewer's clock; at most 100 000 segments.
    """
    segment_ns: PeriodNs = Field(default=1_000_000_000, alias="segment")
    """Play time of a segment."""
    segments: SegmentCount = 600
    """Length of the video in segments; the last one is followed by the first."""
    qualities: Qualities = Field(default={"hd": 4_000_000, "fhd": 4_500_000, "qhd": 5_000_000})
    """Size of a segment in each quality, lowest first."""
    rule: RuleName = "delay"
    """How the player chooses the next segment's quality; the lowest after connecting and after a
    seek. `link_delay`: by the link's round-trip delay at the time of the request, which the player
    is given: the same for every transport. `delay`: by what the player measured itself, the time
    from the last request to the first byte of its answer. `throughput`: the highest below a share
    of the harmonic mean of the last segments' throughput (FESTIVE, CoNEXT 2012). `bola`: by the
    level of the buffer (BOLA-BASIC, INFOCOM 2016)."""
    delay_bounds_ns: Bounds = Field(default=(100_000_000, 200_000_000), alias="delay_bounds")
    """Rules `link_delay` and `delay`: ascending, one fewer than there are qualities. The highest
    quality below the first bound, the next one below the second, and so on. A link's delay that is
    equal to a bound other than the first is below it."""
    safety_ratio: RatioField = Field(default=0.85, alias="safety")
    """Rule `throughput`: share of the mean that a quality's bit rate may take."""
    window: WindowLength = 20
    """Rule `throughput`: segments in the mean."""
    start_buffer_ns: PeriodNs | None = Field(default=None, alias="start_buffer")
    """Play time that must be buffered before playing starts, or resumes after a stall or a seek.
    Default: one segment."""
    buffer_ns: PeriodNs | None = Field(default=None, alias="buffer")
    """Maximum play time that the player buffers. Default: ten segments."""
    seek_ratio: RatioField = Field(default=0.0, alias="seek")
    """Probability that the viewer seeks to another segment, at each full second of the viewer's
    clock. The segment under way is cut off (`cut_segments`)."""
    viewer_clock: wire.ViewerClock = "play"
    """Which time the viewer counts, for `seek` and `watch`. `play`: play time, which stands still
    while nothing plays. `wall`: the time since the client started, so that a viewer seeks also
    while waiting, and sessions are equally long for every transport."""

    @property
    def resolved_start_buffer_ns(self) -> int:
        """Play time buffered before playing starts, in ns: the study's, or one segment."""
        return self.segment_ns if self.start_buffer_ns is None else self.start_buffer_ns

    @property
    def resolved_buffer_ns(self) -> int:
        """Maximum play time that is buffered, in ns: the study's, or ten segments."""
        own = self.buffer_ns
        return DEFAULT_BUFFER_SEGMENTS * self.segment_ns if own is None else own

    @property
    def wire_rule(self) -> wire.Rule:
        """The rule for choosing a quality, with its parameters, for the job."""
        match self.rule:
            case "link_delay":
                return wire.LinkDelayRule(kind="link_delay", bounds_ns=self.delay_bounds_ns)
            case "delay":
                return wire.DelayRule(kind="delay", bounds_ns=self.delay_bounds_ns)
            case "throughput":
                return wire.ThroughputRule(
                    kind="throughput", safety_ratio=self.safety_ratio, window=self.window
                )
            case "bola":
                return wire.BolaRule(kind="bola")

    @property
    def content_direction(self) -> Direction:
        """Direction of most bytes: down, to the player."""
        return "down"

    def job(self, parts: int) -> wire.Stream:
        """Return the workload part of the job."""
        return wire.Stream(
            kind="stream",
            seed=0,
            segments=self.segments,
            segment_ns=self.segment_ns,
            qualities=tuple(
                wire.Quality(name=name, segment_bytes=size_bytes)
                for name, size_bytes in self.qualities.items()
            ),
            rule=self.wire_rule,
            viewer_clock=self.viewer_clock,
            watch_ns=self.watch_ns,
            start_buffer_ns=self.resolved_start_buffer_ns,
            buffer_ns=self.resolved_buffer_ns,
            seek_ratio=self.seek_ratio,
            verify=self.verify,
        )

    @property
    def most_streams(self) -> int:
        """Maximum number of streams that the player opens on one connection."""
        return MOST_STREAMS

    def refuse_misfit(self, limit_ns: int, parts: int) -> None:
        """Refuse sessions that are longer than the run's limit, or have too many segments."""
        watched = -(-self.watch_ns // self.segment_ns)
        if watched > MOST_WATCHED:
            reason = f"{watched} segments would be requested, and {MOST_WATCHED} can be"
            remedy = "watch less, or choose longer segments"
            raise KeyValueError("workload.watch", None, reason, remedy)
        if self.watch_ns >= limit_ns:
            limit_s = limit_ns // NS_PER_S
            reason = f"the run is given up after {limit_s}s"
            remedy = "watch less, or raise limits.virtual_s"
            raise KeyValueError("workload.watch", None, reason, remedy)
        if self.watch_ns + self.resolved_buffer_ns + self.segment_ns > LONGEST_NS:
            reason = "the buffer and a segment are longer than any run"
            remedy = "choose a smaller buffer, or shorter segments"
            raise KeyValueError("workload.buffer", None, reason, remedy)

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
        if self.rule == "throughput" and self.safety_ratio == 0:
            raise KeyValueError("safety", None, "no throughput suffices", 'such as "85%"')
        if self.rule == "bola" and len(self.qualities) == 1:
            raise KeyValueError(
                "rule", "bola", "it chooses between two qualities or more", "add a quality"
            )
        bounds_ns = self.delay_bounds_ns
        if self.rule in OF_RULES["delay_bounds"] and len(bounds_ns) != len(self.qualities) - 1:
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
        if self.resolved_buffer_ns < self.segment_ns:
            reason = f"a segment of {format_duration(self.segment_ns)} does not fit"
            remedy = "choose a larger buffer or shorter segments"
            raise KeyValueError("buffer", None, reason, remedy)
        fits_ns = self.resolved_buffer_ns // self.segment_ns * self.segment_ns
        if self.resolved_start_buffer_ns > fits_ns:
            reason = f"the player never holds more than {format_duration(fits_ns)}, whole segments"
            remedy = "choose a shorter start_buffer or a larger buffer"
            raise KeyValueError("start_buffer", None, reason, remedy)
        return self
