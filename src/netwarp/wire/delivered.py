"""Records of the packets that paths delivered, dropped and marked, and of measurements of paths."""

from __future__ import annotations

from typing import Annotated, Literal

from netwarp.wire.base import U32, U64, Direction, Meaning, Ratio, Wire
from netwarp.wire.path import DisciplineKind, Loss, Reorder


class Calibration(Wire):
    """Counts of the packets that one direction of a path delivered and dropped, read from its links
    before the probes.

    Offered packets are delivered, dropped, left or unresolved, and so are duplicates, which are
    counted as offered only where a router sends them. With cold neighbours, the sender's ARP
    packets end at the router and are not counted; the router's ARP packets, which netem impairs
    like others, are counted as offered. Between two hosts, whose impairments are at the receiving
    host, the run's packets that arrived at that host are counted, without those that the network
    lost before.
    """

    record: Literal["calibration"]
    """Always `calibration`."""
    path: U32
    """Index of the path."""
    direction: Direction
    """The direction that was counted."""
    interval_ns: U64
    """Time from the run's epoch until the counters were read; between two hosts, since the path's
    properties were imposed."""
    offered_packets: U64
    """Packets that the sender's link carried to the router; if a router sends them, what left it,
    duplicates included, and what it dropped."""
    offered_bytes: U64 | None
    """Bytes of these packets, Ethernet headers included; null if a router sends them, because a
    router counts what leaves its queue."""
    delivered_packets: U64
    """Packets that the receiver's link carried from the router."""
    delivered_bytes: U64
    """Bytes of these packets, Ethernet headers included."""
    dropped_packets: U64
    """Packets that netem dropped, at random or in an outage, and that the queue dropped: full, or
    early by a discipline."""
    lost_packets: U64 | None
    """Packets among these that were lost at random or in an outage; null if the kernel does not
    count them."""
    left_packets: U64
    """Packets that were still in netem when the counters were read."""
    arp_packets: U64 = 0
    """With cold neighbours: the router's ARP packets among those offered."""
    unresolved_packets: U64 = 0
    """With cold neighbours: packets that the router discarded, or still held when the counters were
    read, because it had no ARP reply for the next address."""


class DisciplineInForce(Wire):
    """The queueing discipline (qdisc) of a bottleneck as read back from the kernel, with its
    counters.
    """

    record: Literal["discipline"]
    """Always `discipline`."""
    path: U32
    """Index of the path."""
    direction: Direction
    """The direction at whose bottleneck the discipline is."""
    kind: DisciplineKind
    """The kind of the queueing discipline, as the kernel names it."""
    limit_packets: U32 | None
    """Maximum number of packets that the discipline queues; null if its limit is in bytes."""
    limit_bytes: U32 | None
    """Maximum number of bytes that the discipline queues; null if its limit is in packets. For
    `cake` it is the memory that packets take."""
    ecn: bool
    """Whether the discipline marks packets of ECN-capable senders."""
    dropped_packets: U64
    """Packets that the discipline dropped, early or because it was full."""
    marked_packets: U64
    """Packets that the discipline marked as congestion experienced (CE)."""


class Imposed(Wire):
    """The impairments that the receiving host applied to the incoming packets of a run between two
    hosts.

    They were read back from the kernel, and come in addition to those of the network between the
    hosts.
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
    """How packets are lost, such as at random or in bursts."""
    rate_bit_s: U64 | None
    """Bottleneck rate of Ethernet frames; null is unlimited."""
    limit_packets: U32
    """Maximum number of packets in netem."""
    reorder: Reorder
    """Share of packets that are sent at once, before those in the delay line."""
    duplicate_ratio: Ratio
    """Share of packets sent twice, 0 to 1."""
    seed: U64
    """Seed of netem's random numbers."""
    in_order: bool = False
    """Whether packets stay in order, even if a later one has a shorter delay."""


class Probe(Wire):
    """Probes of the idle path after the workload: small UDP packets that the server echoes."""

    record: Literal["probe"]
    """Always `probe`."""
    path: U32
    """Index of the path."""
    sent: U32
    """How many probes were sent."""
    received: U32
    """How many probes came back."""
    min_rtt_ns: U64 | None
    """Smallest round-trip time; null if no probe came back."""
    min_delay_down_ns: U64 | None
    """Smallest one-way delay from server to client."""
    min_delay_up_ns: U64 | None
    """Smallest one-way delay from client to server."""


Moment = Annotated[
    Literal["before", "after", "imposed"],
    Meaning(
        "When a path was measured.",
        {
            "before": "Before the run: the network alone.",
            "after": "After the run: the network alone.",
            "imposed": "After the workload, while the impairments that the hosts imposed are in "
            "force.",
        },
    ),
]


class PathMeasurement(Wire):
    """How a path between two hosts performed right before or after the run, measured with
    datagrams.

    netwarp does not set the properties of the network between the hosts. Impairments that a study
    asks for are applied by the hosts.
    """

    record: Literal["path_measurement"]
    """Always `path_measurement`."""
    moment: Moment
    """When the path was measured: before the run, after it, or while it was still impaired."""
    unix_ns: U64
    """Time of day at the client, in nanoseconds since 1970."""
    sent: U32
    """Datagrams that the client sent to be echoed."""
    arrived: U32
    """Number of these datagrams that reached the server."""
    received: U32
    """Number of echoes that reached the client."""
    min_rtt_ns: U64 | None
    """Smallest round-trip time, without the server's processing; null if no echo came back."""
    median_rtt_ns: U64 | None
    """Median of the round-trip times."""
    p90_rtt_ns: U64 | None
    """Round-trip time that 90 % of the echoes did not exceed."""
    max_rtt_ns: U64 | None
    """Largest round-trip time."""
    rate_down_bit_s: U64 | None
    """Rate at which a short train of packets from server to client arrived: roughly a lower bound
    of the path's rate. Null if too few of them arrived."""
    rate_up_bit_s: U64 | None
    """Rate at which a short train of packets from client to server arrived, as for
    `rate_down_bit_s`."""
    clock_uncertainty_ns: U64 | None
    """Largest error of the server's times in these records, in either direction, estimated from
    both clocks' times in the datagrams."""
    client_busy: Ratio | None
    """Share of the CPU time of the client's machine that was in use since the previous measurement,
    the run included; null in the first measurement."""
    server_busy: Ratio | None
    """The same share of the CPU time of the server's machine."""
