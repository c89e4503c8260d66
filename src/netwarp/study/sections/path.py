"""One path of a study: client — router — server, each direction with its own impairments."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from netwarp.study.refusal import KeyValueError
from netwarp.study.sections.fields import (
    DIRECTIONS,
    LARGEST_JITTER_NS,
    DurationNs,
    Gemodel,
    Kind,
    LossField,
    LossModel,
    LossRate,
    Queue,
    RateBitS,
    RatioField,
    ReorderField,
    ReorderModel,
    Section,
)
from netwarp.study.sections.mahimahi import RateTrace
from netwarp.study.sections.timeline import RedrawSection, TraceSection, halves_ns
from netwarp.units import QueueLength
from netwarp.wire import Direction

Distribution = Literal["uniform", "normal", "pareto", "paretonormal"]
# 576: what every IPv4 host must accept (RFC 791). 65535: the largest IP packet.
Mtu = Annotated[int, Field(ge=576, le=65535, strict=True), Kind("a whole number from 576 to 65535")]


@dataclass(frozen=True)
class ImpairmentSpec:
    """One direction of a path as the study asks for it, before sizing the queue."""

    delay_ns: int
    jitter_ns: int
    jitter_correlation: float
    distribution: Distribution
    loss: LossModel
    loss_correlation: float
    rate_bit_s: int | None
    trace: RateTrace | None
    queue: QueueLength | None
    reorder: ReorderModel
    duplicate_ratio: float
    corrupt_ratio: float

    @property
    def usual_rate_bit_s(self) -> int | None:
        """The rate that sizes the queue, of a trace its mean; None is unlimited."""
        return self.rate_bit_s if self.trace is None else self.trace.mean_bit_s

    @property
    def peak_rate_bit_s(self) -> int:
        """The largest rate but for entries of the timeline; 0 where it is unlimited."""
        return (self.rate_bit_s or 0) if self.trace is None else self.trace.peak_bit_s


class SinglePath(Section):
    """What one router does to packets: the keys of `[path]` and of `[path.second]`."""

    rtt_ns: DurationNs | None = Field(default=None, alias="rtt")
    """Round-trip time of the idle path, split evenly over the directions. Instead of `delay`."""
    delay_ns: DurationNs | None = Field(default=None, alias="delay")
    """One-way delay of each direction. Default: no delay."""
    delay_down_ns: DurationNs | None = Field(default=None, alias="delay_down")
    """One-way delay, server to client."""
    delay_up_ns: DurationNs | None = Field(default=None, alias="delay_up")
    """One-way delay, client to server."""
    jitter_ns: DurationNs | None = Field(default=None, alias="jitter")
    """Spread of the delay: half width (uniform) or standard deviation (others). Without a `rate`,
    a packet with a short delay overtakes one with a long delay, as in netem."""
    jitter_down_ns: DurationNs | None = Field(default=None, alias="jitter_down")
    """Spread of the delay, server to client."""
    jitter_up_ns: DurationNs | None = Field(default=None, alias="jitter_up")
    """Spread of the delay, client to server."""
    distribution: Distribution = "uniform"
    """Shape of the delay's distribution, netem's tables."""
    jitter_correlation: RatioField = 0.0
    """How much a delay depends on the one before."""
    loss: LossField | None = None
    """Packets lost, server to client. Default: none."""
    loss_down: LossField | None = None
    """The same, said explicitly."""
    loss_up: LossField | None = None
    """Packets lost, client to server. Default: none."""
    loss_correlation: RatioField = 0.0
    """How much a random loss depends on the one before, as netem does it. Prefer `gemodel`."""
    rate_bit_s: RateBitS = Field(default=None, alias="rate")
    """Bottleneck rate of each direction, Ethernet headers counted. Default: unlimited."""
    rate_down_bit_s: RateBitS = Field(default=None, alias="rate_down")
    """Bottleneck rate, server to client."""
    rate_up_bit_s: RateBitS = Field(default=None, alias="rate_up")
    """Bottleneck rate, client to server."""
    queue: Queue | None = None
    """Room of the bottleneck's queue, beyond the packets in the delay line. A BDP is the
    direction's rate times the round-trip time. Default: one BDP, and at least 20 packets."""
    queue_down: Queue | None = None
    """Room of the queue, server to client."""
    queue_up: Queue | None = None
    """Room of the queue, client to server."""
    mtu_bytes: Mtu = Field(default=1500, alias="mtu")
    """Largest IP packet in bytes, headers included."""
    reorder: ReorderField | None = None
    """Packets sent on at once, overtaking those in the delay line, server to client."""
    reorder_down: ReorderField | None = None
    """The same, said explicitly."""
    reorder_up: ReorderField | None = None
    """Packets sent on at once, client to server."""
    duplicate_ratio: RatioField | None = Field(default=None, alias="duplicate")
    """Packets delivered twice, server to client."""
    duplicate_down_ratio: RatioField | None = Field(default=None, alias="duplicate_down")
    """The same, said explicitly."""
    duplicate_up_ratio: RatioField | None = Field(default=None, alias="duplicate_up")
    """Packets delivered twice, client to server."""
    corrupt_ratio: RatioField | None = Field(default=None, alias="corrupt")
    """Packets with one bit flipped, server to client. A checksum turns most into losses."""
    corrupt_down_ratio: RatioField | None = Field(default=None, alias="corrupt_down")
    """The same, said explicitly."""
    corrupt_up_ratio: RatioField | None = Field(default=None, alias="corrupt_up")
    """Packets with one bit flipped, client to server."""
    redraw: RedrawSection | None = None
    """The delay drawn anew while a run goes on, as `[path.redraw]`."""
    trace: TraceSection | None = None
    """Rates that follow a recording, as `[path.trace]`."""

    # Attributes by the key's stem: plain, down, up.
    _BOTH: ClassVar[dict[str, tuple[str, str, str]]] = {
        "delay": ("delay_ns", "delay_down_ns", "delay_up_ns"),
        "jitter": ("jitter_ns", "jitter_down_ns", "jitter_up_ns"),
        "rate": ("rate_bit_s", "rate_down_bit_s", "rate_up_bit_s"),
        "queue": ("queue", "queue_down", "queue_up"),
    }
    _DOWN_ONLY: ClassVar[dict[str, tuple[str, str, str]]] = {
        "loss": ("loss", "loss_down", "loss_up"),
        "reorder": ("reorder", "reorder_down", "reorder_up"),
        "duplicate": ("duplicate_ratio", "duplicate_down_ratio", "duplicate_up_ratio"),
        "corrupt": ("corrupt_ratio", "corrupt_down_ratio", "corrupt_up_ratio"),
    }

    @cached_property
    def down(self) -> ImpairmentSpec:
        """Server to client."""
        return self._impairments("down")

    @cached_property
    def up(self) -> ImpairmentSpec:
        """Client to server."""
        return self._impairments("up")

    def impairments(self, direction: Direction) -> ImpairmentSpec:
        """Give the direction of the path that leads there."""
        return self.down if direction == "down" else self.up

    @cached_property
    def base_rtt_ns(self) -> int:
        """Round-trip time of the idle path without jitter; the mean one, where it is redrawn."""
        return self.down.delay_ns + self.up.delay_ns

    def given(self, stem: str) -> bool:
        """Whether the study says anything about a property, in any direction."""
        names = (self._BOTH | self._DOWN_ONLY)[stem]
        return any(name in self.model_fields_set for name in names)

    def _impairments(self, direction: Direction) -> ImpairmentSpec:
        trace = None if self.trace is None else self.trace.impairments(direction)
        return ImpairmentSpec(
            delay_ns=self._delay_ns(direction),
            jitter_ns=self._value("jitter", direction) or 0,
            jitter_correlation=self.jitter_correlation,
            distribution=self.distribution,
            loss=self._value("loss", direction) or LossRate(0.0),
            loss_correlation=self.loss_correlation,
            rate_bit_s=self._value("rate", direction) if trace is None else None,
            trace=trace,
            queue=self._value("queue", direction),
            reorder=self._value("reorder", direction) or ReorderModel(0.0),
            duplicate_ratio=self._value("duplicate", direction) or 0.0,
            corrupt_ratio=self._value("corrupt", direction) or 0.0,
        )

    def _delay_ns(self, direction: Direction) -> int:
        rtt_ns = self.rtt_ns
        if self.redraw is not None and self.redraw.mean_ns is not None:
            rtt_ns = self.redraw.mean_ns
        if rtt_ns is None:
            return self._value("delay", direction) or 0
        down_ns, up_ns = halves_ns(rtt_ns)
        return down_ns if direction == "down" else up_ns

    def _value(self, stem: str, direction: Direction) -> Any:
        plain, down, up = (self._BOTH | self._DOWN_ONLY)[stem]
        own = down if direction == "down" else up
        if own in self.model_fields_set:
            return getattr(self, own)
        if stem in self._DOWN_ONLY and direction == "up":
            return None
        return getattr(self, plain)

    @model_validator(mode="after")
    def _refuse_contradictions(self) -> Self:
        given = self.model_fields_set
        if "rtt_ns" in given and self.given("delay"):
            raise KeyValueError(
                "rtt", None, "rtt and delay are both given", "keep one of them: rtt is up plus down"
            )
        for stem, (plain, down, up) in (self._BOTH | self._DOWN_ONLY).items():
            rivals = {down, up} if stem in self._BOTH else {down}
            if plain in given and rivals <= given:
                raise KeyValueError(
                    stem, None, f"{stem} has no effect beside {stem}_down and {stem}_up", "drop it"
                )
        for key, stem in (
            ("distribution", "jitter"),
            ("jitter_correlation", "jitter"),
            ("loss_correlation", "loss"),
        ):
            if key in given and not self.given(stem):
                raise KeyValueError(
                    key, None, f"it has no effect without {stem}", f"give path.{stem} or drop it"
                )
        return self

    @model_validator(mode="after")
    def _refuse_contradictions_of_the_redraw(self) -> Self:
        if self.redraw is None:
            return self
        if self.redraw.mean_ns is not None and (self.rtt_ns is not None or self.given("delay")):
            key = "rtt" if self.rtt_ns is not None else "delay"
            raise KeyValueError(
                key, None, f"{key} has no effect beside redraw.mean", "keep one of them"
            )
        for key, reason in (
            ("delay_down", "a redraw gives both directions the same delay"),
            ("delay_up", "a redraw gives both directions the same delay"),
        ):
            if f"{key}_ns" in self.model_fields_set:
                raise KeyValueError(key, None, reason, "give rtt or delay instead")
        if self.given("jitter"):
            raise KeyValueError(
                "jitter", None, "a redrawn delay may be shorter than it", "drop jitter or redraw"
            )
        return self

    @model_validator(mode="after")
    def _refuse_rates_beside_traces(self) -> Self:
        traces = {} if self.trace is None else {"down": self.trace.down, "up": self.trace.up}
        for direction, other in (("down", "up"), ("up", "down")):
            if traces.get(direction) is None:
                continue
            also_traced = traces[other] is not None
            if f"rate_{direction}_bit_s" in self.model_fields_set:
                key = f"rate_{direction}"
            elif "rate_bit_s" in self.model_fields_set and (
                also_traced or f"rate_{other}_bit_s" in self.model_fields_set
            ):
                key = "rate"
            else:
                continue
            raise KeyValueError(
                key, None, f"{key} has no effect beside trace.{direction}", "keep one of them"
            )
        return self

    @model_validator(mode="after")
    def _refuse_impossible_directions(self) -> Self:
        for direction in DIRECTIONS:
            _refuse_impossible(self.impairments(direction), direction)
        losses = (self.down.loss, self.up.loss)
        random = any(isinstance(loss, LossRate) and loss.ratio > 0 for loss in losses)
        bursty = any(isinstance(loss, Gemodel) for loss in losses)
        if self.loss_correlation > 0 and bursty and not random:
            raise KeyValueError(
                "loss_correlation",
                None,
                "gemodel has its own correlation",
                "drop loss_correlation",
            )
        return self


def _refuse_impossible(impairments: ImpairmentSpec, direction: Direction) -> None:
    if impairments.jitter_ns > LARGEST_JITTER_NS:
        raise KeyValueError(
            "jitter", None, "netem's jitter ends at 2.147483647s", "choose a smaller jitter"
        )
    if impairments.jitter_ns > impairments.delay_ns:
        raise KeyValueError(
            "jitter",
            None,
            f"jitter is larger than the {direction} delay: packets would arrive before being sent",
            "choose a jitter not above the one-way delay",
        )
    if impairments.reorder.ratio > 0 and impairments.delay_ns == 0:
        raise KeyValueError(
            "reorder", None, f"there is no {direction} delay to overtake", "give rtt or delay"
        )
