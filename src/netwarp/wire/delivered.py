"""Records of what the paths really did."""

from __future__ import annotations

from typing import Annotated, Literal

from netwarp.wire.base import U32, U64, Direction, Meaning, Ratio, Wire
from netwarp.wire.path import DisciplineKind, Loss, Reorder


class Calibration(Wire):
    """What one direction of a path really did, counted on its links before the probes.

    Where neighbours are cold, ARP's packets are among those offered and delivered, and what waited
    at the router for an answer in vain is counted as offered alone. Between two hosts that impose
    what the study asks for, the run's packets are counted that came in at the receiving host: what
    the network lost before is not among them.
    """

    record: Literal["calibration"]
    """Always `calibration`."""
    path: U32
    """Index of the path."""
    direction: Direction
    """The direction that was counted."""
    interval_ns: U64
    """Time from the epoch until the counting; between two hosts, since it was imposed."""
    offered_packets: U64
    """Wire packets the sender's link carried to the router."""
    offered_bytes: U64
    """Their bytes, Ethernet headers included."""
    delivered_packets: U64
    """Wire packets the receiver's link carried from the router."""
    delivered_bytes: U64
    """Their bytes, Ethernet headers included."""
    dropped_packets: U64
    """Packets netem dropped: lost at random, or for a full queue."""
    lost_packets: U64 | None
    """Of them, those lost at random; null where the kernel does not tell."""
    left_packets: U64
    """Packets still in netem when counted."""


class DisciplineInForce(Wire):
    """A bottleneck's queueing discipline as read back from the kernel, and what it did."""

    record: Literal["discipline"]
    """Always `discipline`."""
    path: U32
    """Index of the path."""
    direction: Direction
    """The direction whose bottleneck it serves."""
    kind: DisciplineKind
    """Which one."""
    limit_packets: U32 | None
    """Packets that have room in it; null where it counts bytes."""
    limit_bytes: U32 | None
    """Bytes that have room in it; null where it counts packets. `cake` counts the memory that
    packets take."""
    ecn: bool
    """Whether it marks packets of senders that understand it."""
    dropped_packets: U64
    """Packets it dropped, early or for want of room."""
    marked_packets: U64
    """Packets it marked as having met congestion (CE)."""


class Imposed(Wire):
    """What the receiving host imposed on the packets of a run that came in, between two hosts.

    It is as read back from the kernel, and comes on top of what the network between them does.
    """

    record: Literal["imposed"]
    """Always `imposed`."""
    direction: Direction
    """The direction that was impaired: `down` by the client's host, `up` by the server's."""
    device: str
    """The receiving host's network device."""
    delay_ns: U64
    """Delay added to each packet (mean, when there is jitter)."""
    jitter_ns: U64
    """Spread of the delay."""
    jitter_correlation: Ratio
    """Correlation of successive delays, 0 to 1."""
    loss: Loss
    """How packets are lost."""
    rate_bit_s: U64 | None
    """Bottleneck rate of Ethernet frames; null is unlimited."""
    limit_packets: U32
    """Packets netem holds at most."""
    reorder: Reorder
    """Share of packets sent on at once, overtaking the delay line."""
    duplicate_ratio: Ratio
    """Share of packets sent twice, 0 to 1."""
    seed: U64
    """Seed of netem's random numbers."""


class Probe(Wire):
    """Idle-path probes after the workload: UDP packets of a few bytes, echoed."""

    record: Literal["probe"]
    """Always `probe`."""
    path: U32
    """Index of the path."""
    sent: U32
    """How many probes were sent."""
    received: U32
    """Probes that came back."""
    min_rtt_ns: U64 | None
    """Smallest time there and back, if any came back."""
    min_delay_down_ns: U64 | None
    """Smallest one-way time, server to client."""
    min_delay_up_ns: U64 | None
    """Smallest one-way time, client to server."""


Moment = Annotated[
    Literal["before", "after", "imposed"],
    Meaning(
        "When a path was measured.",
        {
            "before": "Before the run: the network alone.",
            "after": "After the run: the network alone.",
            "imposed": "After the workload, with what the hosts imposed still in force.",
        },
    ),
]


class PathMeasurement(Wire):
    """What a path between two hosts did right before or after the run, measured with datagrams.

    The network between them is nobody's to set: what a study asks for, the hosts impose on top of
    it.
    """

    record: Literal["path_measurement"]
    """Always `path_measurement`."""
    moment: Moment
    """When."""
    unix_ns: U64
    """Time of day at the client, in nanoseconds since 1970."""
    sent: U32
    """Datagrams that the client sent to be echoed."""
    arrived: U32
    """Of them, those that reached the server."""
    received: U32
    """Of them, those whose echo came back."""
    min_rtt_ns: U64 | None
    """Smallest time there and back, without what the server took; null if nothing came back."""
    median_rtt_ns: U64 | None
    """The median time there and back."""
    p90_rtt_ns: U64 | None
    """What nine of ten did not exceed."""
    max_rtt_ns: U64 | None
    """The largest."""
    rate_down_bit_s: U64 | None
    """Rate of a short train of packets from server to client at its arrival: the path's is at least
    about that. Null where too little of it arrived."""
    rate_up_bit_s: U64 | None
    """As before, client to server."""
    clock_uncertainty_ns: U64 | None
    """How far the server's times in these records can be off, either way, by what the datagrams
    said of the two clocks."""
    client_busy: Ratio | None
    """Share of the CPUs' time at the client that was used since the measurement before, the run
    included; null in the first."""
    server_busy: Ratio | None
    """As before, at the server."""
