"""One path of a study (client — router — server), with the impairments of each direction."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Literal, Self, cast

from pydantic import create_model, model_validator

from netwarp import wire
from netwarp.fields import (
    DIRECTIONS,
    Duplex,
    DurationNs,
    IpVersion,
    KeyValueError,
    Mtu,
    Section,
)
from netwarp.path_properties import BY_KEY, PATH_PROPERTIES, PathProperty
from netwarp.study.sections.impairments import AskedImpairments, refuse_impossible
from netwarp.study.sections.properties import absent_values, property_fields
from netwarp.study.sections.timeline import RedrawSection, TraceSection, halves_ns
from netwarp.wire import Direction


class ReadByName(Section):
    """The `[path]` keys that code accesses as attributes; a test compares them with the table of
    path properties.
    """

    rtt: DurationNs | None = None
    ip: IpVersion = 4
    mtu: Mtu = 1500
    neighbours: wire.Neighbours = "warm"
    duplex: Duplex | None = None


if TYPE_CHECKING:
    _Keys = ReadByName
else:
    _Keys = create_model("_Keys", __base__=Section, **property_fields())

LEAST_IPV6_MTU_BYTES = 1280
_ABSENT = absent_values()
_KEYS_OF = {
    (row.key, direction): (
        f"{row.key}_{direction}" if row.directions != "path" else None,
        row.key if direction in row.plain_key_covers else None,
    )
    for row in PATH_PROPERTIES
    for direction in DIRECTIONS
}
"""For each property and direction: the study key for that direction alone, and the key for both,
each None if there is none.
"""
_NETEM = {
    key: (row.netem, row) for row in PATH_PROPERTIES if row.netem is not None for key in row.keys
}
"""For each study key: the field of `wire.Impairments`, and the row of `PATH_PROPERTIES`."""


_OF_DISCIPLINE: Mapping[str, tuple[wire.DisciplineKind, str]] = {
    "l4s_queue": ("dualpi2", "only dualpi2 has a low-latency queue"),
    "ack_filter": ("cake", "only cake filters acknowledgements"),
}
"""Study keys of properties that only one qdisc has, each with that qdisc and the reason."""


class SinglePath(_Keys):
    """The properties of one path: the keys of `[path]` and of `[path.second]`.

    Keys that are not tables are the rows of `PATH_PROPERTIES`, as fields of the same names.
    """

    redraw: RedrawSection | None = None
    """Random changes of the delay during a run, as `[path.redraw]`."""
    trace: TraceSection | None = None
    """Rates that follow a recorded trace, as `[path.trace]`."""

    @property
    def rtt_ns(self) -> int | None:
        """Round-trip time of the idle path in ns; None if the study does not set it."""
        return self.rtt

    @property
    def mtu_bytes(self) -> int:
        """Largest IP packet in bytes, headers included."""
        return self.mtu

    @property
    def ip_version(self) -> Literal[4, 6]:
        """The version of IP of the path's addresses; of paths with both, the version that netwarp's
        own server and client use.
        """
        return 4 if self.ip == 4 else 6

    @property
    def known_neighbours(self) -> wire.Neighbours:
        """Whether hosts and router know each other's MAC addresses in advance, or use ARP."""
        return self.neighbours

    @property
    def asked_duplex(self) -> Duplex | None:
        """Whether the study needs half-duplex or full-duplex links; None if it works with
        either.
        """
        return self.duplex

    @cached_property
    def down(self) -> AskedImpairments:
        """Impairments from server to client."""
        return self._impairments("down")

    @cached_property
    def up(self) -> AskedImpairments:
        """Impairments from client to server."""
        return self._impairments("up")

    def impairments(self, direction: Direction) -> AskedImpairments:
        """Return the impairments of a direction."""
        return self.down if direction == "down" else self.up

    @cached_property
    def base_rtt_ns(self) -> int:
        """Round-trip time of the idle path in ns, without jitter; the mean if it is redrawn during
        a run.
        """
        return self.down.delay_ns + self.up.delay_ns

    @property
    def redraw_deviation_ns(self) -> int:
        """Standard deviation of redrawn round-trip times in ns; 0 if their mean is 0, because none
        is below 0.
        """
        if self.redraw is None or self.base_rtt_ns == 0:
            return 0
        return self.redraw.deviation_ns

    def given(self, key: str) -> bool:
        """Return whether the study sets a property, for one direction or both."""
        return any(each in self.model_fields_set for each in BY_KEY[key].keys)

    def _impairments(self, direction: Direction) -> AskedImpairments:
        trace = None if self.trace is None else self.trace.impairments(direction)
        netem = {**_usual_netem(direction), "delay_ns": self._delay_ns(direction)}
        for name, row in [_NETEM[key] for key in self.model_fields_set if key in _NETEM]:
            netem[name] = self._value(row, direction)
        if not netem["link_loss_ratio"]:
            netem["link_repair_ns"] = 0
        loss = netem["loss"]
        if "loss_correlation" in self.model_fields_set and isinstance(loss, wire.RandomLoss):
            correlation = self._value(BY_KEY["loss_correlation"], direction)
            netem["loss"] = loss.model_copy(update={"correlation": correlation})
        return AskedImpairments(
            netem=netem,
            rate_bit_s=self._value(BY_KEY["rate"], direction) if trace is None else None,
            trace=trace,
            queue=self._value(BY_KEY["queue"], direction),
            discipline=self._value(BY_KEY["discipline"], direction),
            any_ect=self._value(BY_KEY["l4s_queue"], direction),
            ack_filter=self._value(BY_KEY["ack_filter"], direction),
        )

    def _delay_ns(self, direction: Direction) -> int:
        rtt_ns = self.rtt_ns
        if self.redraw is not None and self.redraw.mean_ns is not None:
            rtt_ns = self.redraw.mean_ns
        if rtt_ns is None:
            return self._value(BY_KEY["delay"], direction) or 0
        down_ns, up_ns = halves_ns(rtt_ns)
        return down_ns if direction == "down" else up_ns

    def _value(self, row: PathProperty, direction: Direction) -> Any:
        """Return a property's value in one direction."""
        own, plain = _KEYS_OF[row.key, direction]
        if own is not None and own in self.model_fields_set:
            value = getattr(self, own)
        else:
            value = None if plain is None else getattr(self, plain)
        return _ABSENT.get(row.key) if value is None else value

    @model_validator(mode="after")
    def _refuse_contradictions(self) -> Self:
        given = self.model_fields_set
        if "rtt" in given and self.given("delay"):
            raise KeyValueError(
                "rtt", None, "rtt and delay are both given", "keep one of them: rtt is up plus down"
            )
        rows = [row for row in PATH_PROPERTIES if row.key in given]
        for row in rows:
            if row.directions == "path":
                continue
            if {f"{row.key}_{direction}" for direction in row.plain_key_covers} <= given:
                effect = f"{row.key} has no effect beside {row.key}_down and {row.key}_up"
                raise KeyValueError(row.key, None, effect, "drop it")
        for row in rows:
            if row.without is not None and not self.given(row.without):
                reason = f"it has no effect without {row.without}"
                remedy = f"give {row.without} or drop it"
                raise KeyValueError(row.key, None, reason, remedy, missing=row.without)
        return self

    @model_validator(mode="after")
    def _refuse_properties_of_other_disciplines(self) -> Self:
        chosen = {self.down.discipline, self.up.discipline}
        for key, (kind, reason) in _OF_DISCIPLINE.items():
            if key in self.model_fields_set and kind not in chosen:
                raise KeyValueError(key, None, reason, f"drop it, or choose {kind}")
        return self

    @model_validator(mode="after")
    def _refuse_what_ipv6_lacks(self) -> Self:
        if self.ip == 4:
            return self
        if self.mtu < LEAST_IPV6_MTU_BYTES:
            reason = f"a link of IPv6 carries packets of {LEAST_IPV6_MTU_BYTES} bytes (RFC 8200, 5)"
            remedy = f"choose at least {LEAST_IPV6_MTU_BYTES}, or ip = 4"
            raise KeyValueError("mtu", self.mtu, reason, remedy)
        if self.neighbours == "cold":
            reason = "it is said of ARP, and IPv6 has none"
            raise KeyValueError("neighbours", "cold", reason, "drop it, or choose ip = 4")
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
            if key in self.model_fields_set:
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
            if f"rate_{direction}" in self.model_fields_set:
                key = f"rate_{direction}"
            elif "rate" in self.model_fields_set and (
                also_traced or f"rate_{other}" in self.model_fields_set
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
            refuse_impossible(self.impairments(direction), direction)
        if "loss_correlation" not in self.model_fields_set:
            return self
        losses = (self.down.loss, self.up.loss)
        random = any(isinstance(loss, wire.RandomLoss) for loss in losses)
        others = [loss for loss in losses if not isinstance(loss, wire.RandomLoss | wire.NoLoss)]
        if self._value(BY_KEY["loss_correlation"], "down") > 0 and others and not random:
            reason = (
                "gemodel has its own correlation"
                if isinstance(others[0], wire.GemodelLoss)
                else "packets that are lost by number are not drawn"
            )
            raise KeyValueError("loss_correlation", None, reason, "drop loss_correlation")
        return self


@cache
def _usual_netem(direction: Direction) -> Mapping[str, Any]:
    """Return the defaults of the fields of `wire.Impairments`."""
    path = cast(SinglePath, SinglePath.model_construct())
    return {name: path._value(row, direction) for name, row in _NETEM.values()}
