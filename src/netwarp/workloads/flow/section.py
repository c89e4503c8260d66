"""The section ``[workload]`` with ``kind = "flow"``: messages of one size, sent by a schedule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from netwarp import wire
from netwarp.fields import KeyValueError, RateBitS, SizeBytes, Switch
from netwarp.units import NS_PER_S
from netwarp.wire import Direction
from netwarp.wire.flow import LEAST_MESSAGE_BYTES, MOST_MESSAGE_BYTES
from netwarp.workloads.arrivals import ArrivalsSection


class FlowSection(ArrivalsSection):
    """Messages of one size, each sent when it is due, whether or not earlier ones have arrived: a
    call, a game, telemetry, or a link kept busy. Over `udp` a message is a datagram, as over `quic`
    with `transport.datagrams`; over `sctp` with `unordered`, `message_lifetime` or
    `max_retransmissions` it is an SCTP message. Over other transports messages are sent one after
    another on one stream, where a lost one delays those behind it.
    """

    compared_by: ClassVar[str] = "message_delay_s_p95"
    compared: ClassVar[Mapping[str, tuple[str, ...]]] = {"duration": ("10s",)}
    takes_losses: ClassVar[bool] = True
    follows_client: ClassVar[bool] = False

    kind: Literal["flow"]
    """Messages, each sent at its scheduled time."""
    direction: Direction = "down"
    """`down` sends from server to client, `up` from client to server."""
    payload_bytes: SizeBytes = Field(default=1200, alias="payload")
    """Size of a message, 24 to 65507 bytes. A datagram larger than the MTU less 28 is sent in
    fragments."""
    rate_bit_s: RateBitS = Field(default=None, alias="rate")
    """Rate of the messages in payload bits per second. Either this or `interval`."""
    packet_table: Switch = False
    """Write a line for each message that arrived to `packets.csv` in the run's directory, and those
    of all runs to `packets.parquet`."""

    @property
    def content_direction(self) -> Direction:
        """Direction in which the messages are sent."""
        return self.direction

    @property
    def lone_message_bytes(self) -> int:
        """Size in bytes of the messages, each of which arrives or is lost independently."""
        return self.payload_bytes

    @property
    def datagrams_bytes(self) -> Mapping[str, int]:
        """Size in bytes of a message, by the study's key for it."""
        return {"payload": self.payload_bytes}

    def has_packets_below(self, payload_bytes: int) -> bool:
        """Return whether the messages have a smaller payload than this."""
        return self.payload_bytes < payload_bytes

    @property
    def has_table(self) -> bool:
        """Whether a run writes a table of its messages."""
        return self.packet_table

    @property
    def resolved_interval_ns(self) -> int:
        """Time between two messages in ns: the study's, or the one that gives the study's rate."""
        if self.rate_bit_s is None:
            return super().resolved_interval_ns
        return max(1, round(8 * self.payload_bytes * NS_PER_S / self.rate_bit_s))

    @property
    def has_pace(self) -> bool:
        """Whether the study sets the time between two messages, directly or by a rate."""
        return self.interval_ns is not None or self.rate_bit_s is not None

    def job(self, parts: int) -> wire.Flow:
        """Return the workload part of the job."""
        return wire.Flow(
            kind="flow",
            seed=0,
            direction=self.direction,
            message_bytes=self.payload_bytes,
            arrivals=self.wire_arrivals(),
            messages=self.count,
            duration_ns=self.duration_ns,
            packet_table=self.packet_table,
        )

    @model_validator(mode="after")
    def _payload_fits(self) -> Self:
        if not LEAST_MESSAGE_BYTES <= self.payload_bytes <= MOST_MESSAGE_BYTES:
            reason = f"a message has {LEAST_MESSAGE_BYTES} to {MOST_MESSAGE_BYTES} bytes"
            raise KeyValueError("payload", self.payload_bytes, reason, 'such as "1200B"')
        return self

    def _refuse_without_pace(self) -> None:
        if (self.interval_ns is None) == (self.rate_bit_s is None):
            found = "both are given" if self.interval_ns is not None else "neither is given"
            reason = f"of interval and rate, {found}"
            raise KeyValueError("interval", None, reason, 'give one, such as interval = "20ms"')
