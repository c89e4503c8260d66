"""``[workload]`` with ``kind = "flow"``: messages of one size, each sent when it is due."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from netwarp import wire
from netwarp.fields import DurationNs, KeyValueError, Kind, PeriodNs, RateBitS, SizeBytes
from netwarp.units import NS_PER_S, format_duration
from netwarp.wire import Direction
from netwarp.wire.flow import LEAST_MESSAGE_BYTES, MOST_MESSAGE_BYTES
from netwarp.workloads.base import WorkloadSection

MessageCount = Annotated[
    int, Field(ge=1, le=10**7, strict=True), Kind("a whole number from 1 to 10000000")
]
MOST_MESSAGES = 10**7
Times = Annotated[tuple[DurationNs, ...], Kind('a list of times such as `["0s", "20ms"]`')]
ArrivalsName = Literal["constant", "poisson", "onoff", "trace"]
OF_ONE_KIND: Mapping[str, ArrivalsName] = {"on": "onoff", "off": "onoff", "times": "trace"}
"""Keys that only one kind of arrivals uses."""


class FlowSection(WorkloadSection):
    """Messages of one size, each sent when it is due, whether the ones before have arrived or not:
    a call, a game, telemetry, or a link kept busy. Over `udp` a message is a datagram; other
    transports carry them one after another on one stream, where one that is lost holds up those
    behind it.
    """

    takes_losses: ClassVar[bool] = True
    follows_client: ClassVar[bool] = False

    kind: Literal["flow"]
    """Messages, each sent when it is due."""
    direction: Direction = "down"
    """`down` sends from server to client, `up` from client to server."""
    payload_bytes: SizeBytes = Field(default=1200, alias="payload")
    """Size of a message, 24 to 65507 bytes. A datagram larger than the MTU less 28 is sent in
    fragments."""
    interval_ns: PeriodNs | None = Field(default=None, alias="interval")
    """From one message to the next; of Poisson arrivals the mean, of bursts within one. Either this
    or `rate`."""
    rate_bit_s: RateBitS = Field(default=None, alias="rate")
    """The same as payload bits a second."""
    count: MessageCount | None = None
    """How many messages are sent. Either this or `duration`."""
    duration_ns: PeriodNs | None = Field(default=None, alias="duration")
    """How long messages are sent."""
    arrivals: ArrivalsName = "constant"
    """When messages are due. `constant`: at equal intervals. `poisson`: a Poisson process. `onoff`:
    at equal intervals in on-periods, none in off-periods, both exponentially distributed. `trace`:
    at the `times` given."""
    on_ns: PeriodNs | None = Field(default=None, alias="on")
    """Arrivals `onoff`: mean length of an on-period."""
    off_ns: PeriodNs | None = Field(default=None, alias="off")
    """Arrivals `onoff`: mean length of an off-period."""
    times_ns: Times | None = Field(default=None, alias="times")
    """Arrivals `trace`: when each message is due, counted from the start of the flow."""
    packet_table: bool = False
    """Write a line for each message that arrived to `packets.csv` in the run's directory."""

    @property
    def content_direction(self) -> Direction:
        """Which way the messages go."""
        return self.direction

    @property
    def resolved_interval_ns(self) -> int:
        """The interval given, or that of the rate."""
        if self.interval_ns is not None:
            return self.interval_ns
        rate_bit_s = self.rate_bit_s
        if rate_bit_s is None:
            raise AssertionError("a flow without interval has a rate")
        return max(1, round(8 * self.payload_bytes * NS_PER_S / rate_bit_s))

    @property
    def lasts_ns(self) -> int:
        """When the last message is due after the first, on average where arrivals are drawn."""
        if self.duration_ns is not None:
            return self.duration_ns
        if self.times_ns is not None:
            return self.times_ns[-1]
        busy_ns = (self.count or 0) * self.resolved_interval_ns
        if self.on_ns is None or self.off_ns is None:
            return busy_ns
        return busy_ns * (self.on_ns + self.off_ns) // self.on_ns

    def job(self, parts: int) -> wire.Flow:
        """Give what the endpoint is told."""
        del parts
        return wire.Flow(
            kind="flow",
            seed=0,
            direction=self.direction,
            message_bytes=self.payload_bytes,
            arrivals=self._wire_arrivals(),
            messages=self.count,
            duration_ns=self.duration_ns,
            packet_table=self.packet_table,
        )

    def _wire_arrivals(self) -> wire.Arrivals:
        match self.arrivals:
            case "constant":
                return wire.ConstantArrivals(kind="constant", interval_ns=self.resolved_interval_ns)
            case "poisson":
                return wire.PoissonArrivals(kind="poisson", interval_ns=self.resolved_interval_ns)
            case "onoff":
                return wire.OnOffArrivals(
                    kind="onoff",
                    interval_ns=self.resolved_interval_ns,
                    on_ns=self.on_ns or 0,
                    off_ns=self.off_ns or 0,
                )
            case "trace":
                return wire.TraceArrivals(kind="trace", at_ns=self.times_ns or ())

    def refuse_misfit(self, limit_ns: int, parts: int) -> None:
        """Refuse flows that outlast the run, or of more messages than can be counted."""
        del parts
        if self.lasts_ns >= limit_ns:
            key = "workload.duration" if self.duration_ns is not None else "workload.count"
            raise KeyValueError(
                key,
                None,
                f"the flow lasts {format_duration(self.lasts_ns)}, and the run is given up after"
                f" {limit_ns // NS_PER_S}s",
                "send less, or raise limits.virtual_s",
            )
        if self.duration_ns is not None and self.arrivals != "trace":
            messages = self.duration_ns // self.resolved_interval_ns
            if messages > MOST_MESSAGES:
                reason = f"{messages} messages are more than a flow can have ({MOST_MESSAGES})"
                raise KeyValueError("workload.duration", None, reason, "send fewer")

    @model_validator(mode="after")
    def _payload_fits(self) -> Self:
        if not LEAST_MESSAGE_BYTES <= self.payload_bytes <= MOST_MESSAGE_BYTES:
            raise KeyValueError(
                "payload",
                self.payload_bytes,
                f"a message has {LEAST_MESSAGE_BYTES} to {MOST_MESSAGE_BYTES} bytes",
                'such as "1200B"',
            )
        return self

    @model_validator(mode="after")
    def _arrivals_are_complete(self) -> Self:
        given = {"on": self.on_ns, "off": self.off_ns, "times": self.times_ns}
        for key, kind in OF_ONE_KIND.items():
            if self.arrivals == kind and given[key] is None:
                raise KeyValueError(key, None, f"{kind} arrivals need it", "give it")
            if self.arrivals != kind and given[key] is not None:
                reason = f"{self.arrivals} arrivals do not use it"
                raise KeyValueError(key, None, reason, f'drop it, or choose arrivals = "{kind}"')
        if self.times_ns is not None:
            self._refuse_beside_times(self.times_ns)
            return self
        if (self.interval_ns is None) == (self.rate_bit_s is None):
            found = "both are given" if self.interval_ns is not None else "neither is given"
            raise KeyValueError(
                "interval",
                None,
                f"of interval and rate, {found}",
                'give one, such as interval = "20ms"',
            )
        if (self.count is None) == (self.duration_ns is None):
            found = "both are given" if self.count is not None else "neither is given"
            raise KeyValueError(
                "count", None, f"of count and duration, {found}", "give one, such as count = 1000"
            )
        return self

    def _refuse_beside_times(self, times_ns: tuple[int, ...]) -> None:
        beside = {
            "interval": self.interval_ns,
            "rate": self.rate_bit_s,
            "count": self.count,
            "duration": self.duration_ns,
        }
        for key, value in beside.items():
            if value is not None:
                raise KeyValueError(key, None, "times say when each message is due", "drop it")
        if not times_ns or any(before > after for before, after in pairwise(times_ns)):
            raise KeyValueError("times", None, "empty, or not in order", 'such as ["0s", "20ms"]')
