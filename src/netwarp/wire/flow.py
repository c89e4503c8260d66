"""The workload `flow` of a job, and its records: messages sent when they are due."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from netwarp.wire.base import U64, Direction, Meaning, Wire
from netwarp.wire.transfers import Side

LEAST_MESSAGE_BYTES = 24
"""Size of the smallest message in bytes: its number, when it was due and when it was sent, eight
bytes each."""
MOST_MESSAGE_BYTES = 65_507
"""Largest payload of a UDP datagram over IPv4, in bytes."""


class Flow(Wire):
    """Messages of one size, each sent when it is due, whether or not earlier ones have arrived.

    Over `udp` a message is a datagram, and over `quic` if datagrams are used; over `sctp` it is a
    separate SCTP message if messages are unordered or partially reliable (PR-SCTP). Otherwise
    messages are sent in order on one stream.
    """

    kind: Literal["flow"]
    """Always `flow`."""
    seed: U64
    """Seed of the arrivals, if these are random."""
    direction: Direction
    """The direction of the messages."""
    message_bytes: Annotated[int, Field(ge=LEAST_MESSAGE_BYTES, lt=2**16)]
    """Size of each message. Its first bytes are its number, when it was due and when it was sent.
    """
    arrivals: Arrivals
    """The process that determines when messages are due."""
    messages: U64 | None
    """Maximum number of messages to send; null if only `duration_ns` limits them."""
    duration_ns: U64 | None
    """Messages that are due later than this after the first one are not sent; null if only
    `messages` limits them."""
    packet_table: bool
    """Whether the receiver writes a table to the run directory with a line for each message."""


class RequestResponse(Wire):
    """Requests of one size, each sent when it is due and answered by a response of one size.

    Over `udp` each is a datagram. Other transports carry them in order on one stream.
    """

    kind: Literal["rr"]
    """Always `rr`."""
    seed: U64
    """Seed of the arrivals, if these are random."""
    request_bytes: Annotated[int, Field(ge=LEAST_MESSAGE_BYTES, lt=2**16)]
    """Size of each request. Its first bytes are its number, when it was due and when it was sent.
    """
    response_bytes: Annotated[int, Field(ge=LEAST_MESSAGE_BYTES, lt=2**16)]
    """Size of each response. Its first bytes are its request's number and times."""
    arrivals: Arrivals
    """The process that determines when requests are due."""
    messages: U64 | None
    """Maximum number of requests to send; null if only `duration_ns` limits them."""
    duration_ns: U64 | None
    """Requests that are due later than this after the first one are not sent; null if only
    `messages` limits them."""

    @property
    def direction(self) -> Direction:
        """Direction of most bytes."""
        return "up" if self.request_bytes > self.response_bytes else "down"


class ConstantArrivals(Wire):
    """Arrivals with a constant time between messages."""

    kind: Literal["constant"]
    """Always `constant`."""
    interval_ns: Annotated[int, Field(ge=1, lt=2**64)]
    """Time from one message to the next."""


class PoissonArrivals(Wire):
    """A Poisson process: the times between messages are exponentially distributed."""

    kind: Literal["poisson"]
    """Always `poisson`."""
    interval_ns: Annotated[int, Field(ge=1, lt=2**64)]
    """The mean time from one message to the next, in nanoseconds."""


class OnOffArrivals(Wire):
    """Bursts: constant arrivals in on-periods, none in off-periods, both of exponentially
    distributed length.
    """

    kind: Literal["onoff"]
    """Always `onoff`."""
    interval_ns: Annotated[int, Field(ge=1, lt=2**64)]
    """Time from one message to the next in an on-period."""
    on_ns: Annotated[int, Field(ge=1, lt=2**64)]
    """Mean length of an on-period."""
    off_ns: Annotated[int, Field(ge=1, lt=2**64)]
    """Mean length of an off-period."""


class TraceArrivals(Wire):
    """Arrivals at explicit times."""

    kind: Literal["trace"]
    """Always `trace`."""
    at_ns: tuple[U64, ...] = Field(min_length=1, strict=False)
    """Times after the flow's start at which messages are due, in order."""


Arrivals = Annotated[
    ConstantArrivals | PoissonArrivals | OnOffArrivals | TraceArrivals,
    Field(discriminator="kind"),
    Meaning("When the messages of a flow are due."),
]


class FlowSent(Wire):
    """The messages that the sender of a flow passed to its transport, and when."""

    record: Literal["flow_sent"]
    """Always `flow_sent`."""
    side: Side
    """The side that sent the messages."""
    messages: U64
    """Number of messages that were sent."""
    bytes: U64
    """Total size of these messages, in bytes."""
    first_ns: U64
    """When the first message was sent."""
    last_ns: U64
    """When the last message was sent."""
    late_ns_max: U64 | None
    """The longest time between when a message was due and when it was sent, because the sender was
    behind schedule or the send buffer was full; null for a simulator, which does not report it."""


FlowUnit = Annotated[
    Literal["message", "packet", "response"],
    Meaning(
        "The unit in which a flow is counted.",
        {
            "message": "Messages at the receiving program; delays count from when each was due.",
            "packet": "IP packets, headers included; delays count from when each was sent.",
            "response": "Responses at the requesting program; delays count from when each request"
            " was due.",
        },
    ),
]


class FlowStats(Wire):
    """Statistics of the messages or packets of a flow that arrived, as computed by ns-3's
    FlowMonitor (Carneiro, Fortuna, Ricardo: FlowMonitor, VALUETOOLS 2009). Duplicates are counted
    in `duplicates` only.
    """

    record: Literal["flow_stats"]
    """Always `flow_stats`."""
    unit: FlowUnit
    """Whether messages or packets are counted. Packets of `udp` are counted by the receiver; those
    of other transports are counted at the router, which they reach when they are sent, and from
    which they reach the receiver without delay."""
    direction: Direction
    """The direction of the messages or packets."""
    sent: U64 | None
    """How many messages or packets were sent; null if the counting side does not know it. Then the
    record `flow_sent` has the number."""
    received: U64
    """How many messages or packets arrived."""
    received_bytes: U64
    """The total size of the messages or packets that arrived, in bytes."""
    first_received_ns: U64 | None
    """When the first message or packet arrived; null if none did."""
    last_received_ns: U64 | None
    """When the last message or packet arrived; null if none did."""
    delay_sum_ns: U64
    """Sum of the one-way delays."""
    jitter_sum_ns: U64
    """Sum of the absolute differences in delay between each and the previous arrival (RFC 3393)."""
    rfc3550_jitter_ns: U64 | None
    """The running jitter estimate of RFC 3550, section 6.4.1, after the last arrival. This and the
    following fields are null or empty if single packets are not observed."""
    reordered: U64 | None
    """How many messages or packets arrived after one that was sent later (RFC 4737, section 3.3).
    """
    duplicates: U64 | None
    """How many duplicates arrived."""
    delay_quantiles_ns: tuple[U64, ...] = Field(strict=False)
    """The smallest delay, and the delays that 1, 2, … 1000 in a thousand do not exceed; empty if
    nothing arrived."""
