"""The workload `flow` of a job, and its records: messages sent when they are due."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from netwarp.wire.base import U64, Direction, Meaning, Wire
from netwarp.wire.transfers import Side

LEAST_MESSAGE_BYTES = 24
"""A message begins with its number, when it was due and when it was sent, eight bytes each."""
MOST_MESSAGE_BYTES = 65_507
"""What a UDP datagram can carry over IPv4."""


class Flow(Wire):
    """Messages of one size, each sent when it is due whether the ones before have arrived or not.

    Over `udp` a message is a datagram, as over `quic` where it has datagrams; over `sctp` it is a
    message of its own where these may overtake each other or be given up. Else they go one after
    another on one stream.
    """

    kind: Literal["flow"]
    """Always `flow`."""
    seed: U64
    """Of the arrivals that are drawn."""
    direction: Direction
    """Which way the messages go."""
    message_bytes: Annotated[int, Field(ge=LEAST_MESSAGE_BYTES, lt=2**16)]
    """Size of each. It begins with its number, when it was due and when it was sent."""
    arrivals: Arrivals
    """When messages are due."""
    messages: U64 | None
    """How many there are at most; null for as many as `duration_ns` has room for."""
    duration_ns: U64 | None
    """Messages that would be due later than this after the first are not sent; null for as long as
    `messages` take."""
    packet_table: bool
    """Whether the receiver writes a line for each message to the run directory."""


class RequestResponse(Wire):
    """Requests of one size, each sent when it is due and answered by a response of one size.

    Over `udp` each is a datagram. Other transports carry them on one stream, in their order.
    """

    kind: Literal["rr"]
    """Always `rr`."""
    seed: U64
    """Of the arrivals that are drawn."""
    request_bytes: Annotated[int, Field(ge=LEAST_MESSAGE_BYTES, lt=2**16)]
    """Size of each request. It begins with its number, when it was due and when it was sent."""
    response_bytes: Annotated[int, Field(ge=LEAST_MESSAGE_BYTES, lt=2**16)]
    """Size of each response. It begins as its request does."""
    arrivals: Arrivals
    """When requests are due."""
    messages: U64 | None
    """How many requests there are at most; null for as many as `duration_ns` has room for."""
    duration_ns: U64 | None
    """Requests that would be due later than this after the first are not sent; null for as long as
    `messages` take."""

    @property
    def direction(self) -> Direction:
        """Which way most bytes go."""
        return "up" if self.request_bytes > self.response_bytes else "down"


class ConstantArrivals(Wire):
    """The same time between any two messages."""

    kind: Literal["constant"]
    """Always `constant`."""
    interval_ns: Annotated[int, Field(ge=1, lt=2**64)]
    """From one to the next."""


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
    """From one message to the next in an on-period."""
    on_ns: Annotated[int, Field(ge=1, lt=2**64)]
    """Mean length of an on-period."""
    off_ns: Annotated[int, Field(ge=1, lt=2**64)]
    """Mean length of an off-period."""


class TraceArrivals(Wire):
    """Times that are given."""

    kind: Literal["trace"]
    """Always `trace`."""
    at_ns: tuple[U64, ...] = Field(min_length=1, strict=False)
    """When each message is due after the flow's start, in order of time."""


Arrivals = Annotated[
    ConstantArrivals | PoissonArrivals | OnOffArrivals | TraceArrivals,
    Field(discriminator="kind"),
    Meaning("When the messages of a flow are due."),
]


class FlowSent(Wire):
    """What the sender of a flow handed to its transport."""

    record: Literal["flow_sent"]
    """Always `flow_sent`."""
    side: Side
    """The side that sent."""
    messages: U64
    """How many there were."""
    bytes: U64
    """The size of all these messages together, in bytes."""
    first_ns: U64
    """When the first was sent."""
    last_ns: U64
    """When the last was."""
    late_ns_max: U64 | None
    """The most that one was sent after it was due: behind schedule, or held back by a full
    send buffer; null of a simulator, which does not tell."""


FlowUnit = Annotated[
    Literal["message", "packet", "response"],
    Meaning(
        "What is counted of a flow.",
        {
            "message": "Messages, as the receiving program has them: from when each was due.",
            "packet": "IP packets, headers included: from when each was sent.",
            "response": "Responses, as the requesting program has them: from when each request was"
            " due.",
        },
    ),
]


class FlowStats(Wire):
    """What arrived of a flow, summed up as ns-3's FlowMonitor does (Carneiro, Fortuna, Ricardo:
    FlowMonitor, VALUETOOLS 2009). A copy of what has arrived before is a duplicate, and in nothing
    else.
    """

    record: Literal["flow_stats"]
    """Always `flow_stats`."""
    unit: FlowUnit
    """What was counted. Packets of `udp` are seen by its receiver; those of other transports by the
    router, which they reach at the moment they are sent, and the receiver as they leave it."""
    direction: Direction
    """Which way they went."""
    sent: U64 | None
    """How many were sent, where whoever counts sees it; else `flow_sent` has it."""
    received: U64
    """How many arrived."""
    received_bytes: U64
    """The size of all that arrived, in bytes."""
    first_received_ns: U64 | None
    """When the first arrived; null where none did."""
    last_received_ns: U64 | None
    """When the last did."""
    delay_sum_ns: U64
    """Sum of their one-way delays."""
    jitter_sum_ns: U64
    """Sum of the differences in delay between each and the one that arrived before it (RFC 3393),
    without sign."""
    rfc3550_jitter_ns: U64 | None
    """The running estimate of RFC 3550, section 6.4.1, after the last; like what follows null or
    empty where whoever counts does not see each packet by itself."""
    reordered: U64 | None
    """Those that arrived after one that was sent later (RFC 4737, section 3.3)."""
    duplicates: U64 | None
    """How many copies arrived of what had arrived before."""
    delay_quantiles_ns: tuple[U64, ...] = Field(strict=False)
    """The smallest delay, and the delays that 1, 2, … 1000 in a thousand do not exceed; empty where
    nothing arrived."""
