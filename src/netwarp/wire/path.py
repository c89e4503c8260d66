"""A path of a job, and the impairments of its two directions, such as delay and loss."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from netwarp.wire.base import DETAIL, INSIDE, U32, U64, Asks, Meaning, Ratio, Wire

Distribution = Annotated[
    Literal["uniform", "normal", "pareto", "paretonormal"],
    Meaning(
        "The shapes of netem's delay distributions.",
        {
            "uniform": "Uniform between delay − jitter and delay + jitter.",
            "normal": "Gaussian distribution of delays.",
            "pareto": "Pareto distribution of delays, with shape 3.",
            "paretonormal": "A quarter of the normal quantile plus three quarters of the Pareto "
            "quantile.",
        },
    ),
]

Neighbours = Annotated[
    Literal["warm", "cold"],
    Meaning(
        "Whether hosts and router know each other's MAC addresses at the start.",
        {
            "warm": "Hosts and router know the MAC addresses permanently: there is no ARP.",
            "cold": "Hosts and router do not know the MAC addresses: ARP asks for each when the "
            "first packet needs it. Up to three packets wait for the reply, as in ns-3 and in "
            "Linux before 3.3; if there are more, the oldest are dropped.",
        },
    ),
]

DisciplineKind = Annotated[
    Literal["codel", "fq_codel", "fq", "cake", "pie", "red", "dualpi2"],
    Meaning(
        "A queueing discipline of the bottleneck, by the kernel's name.",
        {
            "codel": "CoDel (RFC 8289): one queue.",
            "fq_codel": "CoDel on a queue for each flow (RFC 8290).",
            "fq": "A queue for each flow, served in turn; drops when full.",
            "cake": "CAKE: has its own shaper, and a queue for each flow within each host's share.",
            "pie": "PIE (RFC 8033).",
            "red": "Adaptive RED (Floyd, Gummadi, Shenker 2001).",
            "dualpi2": "Dual-queue coupled AQM for L4S (RFC 9332).",
        },
    ),
]


FLOW_QUEUEING: tuple[DisciplineKind, ...] = ("fq", "fq_codel", "cake")
"""Qdiscs with a separate queue for each flow, so that a flow does not wait for packets of other
flows."""

PacketNumber = Annotated[int, Field(ge=1, lt=2**32)]
MOST_LISTED_LOSSES = 1000
"""Maximum number of packets in a list of losses: more do not fit into one netlink message."""


class Path(Wire):
    """A path from the client over a router to the server."""

    mtu_bytes: Annotated[U32, DETAIL]
    """Largest IP packet, headers included."""
    attached: Annotated[bool, DETAIL]
    """Whether the client has its address on this path from the start. If the client moves between
    access points, only the first path is attached at the start; the server then has only its
    address on the first path, to which packets are routed over the path to which the client is
    attached."""
    neighbours: Annotated[Neighbours, Asks("ARP at the start", neutral="warm")]
    """Whether hosts and router know each other's MAC addresses from the start."""
    down: Annotated[Impairments, INSIDE]
    """Impairments from server to client."""
    up: Annotated[Impairments, INSIDE]
    """Impairments from client to server."""
    ipv6: Annotated[bool, Asks("IPv6")] = False
    """Whether the path's addresses are IPv6; otherwise they are IPv4. All paths of a job have the
    same version."""
    dual: Annotated[bool, Asks("both versions of IP")] = False
    """Whether each link of the path has IPv4 addresses in addition to IPv6 ones. All paths of a job
    have the same versions."""

    @property
    def idle_rtt_ns(self) -> int:
        """Return the round-trip time of the idle path in ns: the delays of both directions without
        jitter, and the times for which packets are collected before their release.
        """
        return sum(each.delay_ns + each.aggregate_ns for each in (self.down, self.up))


class Impairments(Wire):
    """The impairments of packets in one direction of a path: one `sch_netem` on the router, and a
    shaper if netem cannot enforce the rate.
    """

    delay_ns: Annotated[U64, Asks("a delay")]
    """One-way delay; the mean if there is jitter."""
    jitter_ns: Annotated[U64, Asks("jitter")]
    """Spread of the delay: half width (uniform) or standard deviation (other distributions)."""
    jitter_correlation: Annotated[Ratio, DETAIL]
    """Correlation of successive delays, 0 to 1."""
    distribution: Annotated[Distribution, DETAIL]
    """Shape of the delay's distribution."""
    loss: Annotated[Loss, Asks("loss")]
    """How packets are lost, such as at random or in bursts."""
    rate_bit_s: Annotated[U64 | None, Asks("a rate")]
    """Rate of the bottleneck for Ethernet frames (without preamble and FCS); null if unlimited.
    With a trace it is null, or the trace's mean rate if a discipline needs a rate."""
    limit_packets: Annotated[U32, DETAIL]
    """Maximum number of packets in netem: those in the delay line and, unless there is
    `queue_packets` or a shaper, those queued for the bottleneck."""
    shaper_queue_bytes: Annotated[U32 | None, Asks("a rate that changes")]
    """Size of the queue of a shaper behind netem; null if netem limits the rate. A shaper limits it
    if the rate changes, or if a discipline serves the queue: a packet waits until those before it
    have been sent, and is then sent at the current rate, whereas netem would use the rate at the
    packet's arrival."""
    discipline: Annotated[Discipline | None, Asks("a queueing discipline")]
    """The queueing discipline of the bottleneck, behind netem; null for the first-in first-out
    queue of netem or of the shaper."""
    reorder: Annotated[Reorder, INSIDE]
    """Share of packets that are sent at once, overtaking the delay line."""
    duplicate_ratio: Annotated[Ratio, Asks("duplicates")]
    """Share of packets that are duplicated, 0 to 1."""
    corrupt_ratio: Annotated[Ratio, Asks("corruption")]
    """Share of packets in which one bit is flipped, 0 to 1."""
    seed: Annotated[U64, DETAIL]
    """Seed of netem's random numbers (`TCA_NETEM_PRNG_SEED`), already hashed."""
    in_order: Annotated[bool, Asks("order in spite of jitter")] = False
    """Whether a packet leaves netem only after those before it, even if its delay is shorter. If
    the same netem limits the rate, this is always the case."""
    queue_packets: Annotated[U32 | None, DETAIL] = None
    """Maximum number of packets that wait at the bottleneck, besides the one that is being
    transmitted, if it counts packets: a second netem behind the delay line limits the rate or, if
    there is `shaper_queue_bytes`, a shaper. Null if the shaper counts bytes, or if one netem has
    the queue and the delay line."""
    aggregate_ns: Annotated[U64, Asks("packets released together")] = 0
    """How long packets are collected before they are released together, counted from the first of
    them; 0 if they are not collected. A second netem does this, behind everything else of the
    direction (`slot`)."""
    link_loss_ratio: Annotated[Ratio, Asks("losses that the link repairs")] = 0.0
    """Share of transmissions that are lost on the link and repeated by the link itself, 0 to 1:
    such a packet arrives later, and so do those behind it. The third repetition always arrives. If
    it is not 0, there is no jitter."""
    link_repair_ns: Annotated[U64, DETAIL] = 0
    """Time from a transmission that is lost on the link to its repetition."""
    policer_bytes: Annotated[U32 | None, Asks("a policer")] = None
    """Size of a policer's token bucket: that many bytes pass at once, further ones at the rate, the
    last of which may overdraw it by less than a packet; packets beyond that are lost, but for a
    full-size packet's bytes that wait. Null for a link, which sends at its rate. The shaper
    implements the policer, with a queue of that size."""


class Discipline(Wire):
    """The queueing discipline (qdisc) of a bottleneck. It is the child of the shaper that limits
    the rate.
    """

    kind: DisciplineKind
    """The kind of the queueing discipline, as the kernel names it."""
    limit_packets: Annotated[U32, DETAIL]
    """Maximum number of packets that the discipline queues."""
    frame_bytes: Annotated[U32, DETAIL]
    """Size of the direction's largest frames, for disciplines that limit memory instead of packets.
    """
    ecn: Annotated[bool, DETAIL]
    """Whether the discipline marks packets of ECN-capable senders instead of dropping them (RFC
    3168).
    """
    any_ect: Annotated[bool, DETAIL] = False
    """Whether the low-latency queue of `dualpi2` gets all packets of ECN-capable senders; otherwise
    it gets only those with ECT(1) (RFC 9331)."""
    ack_filter: Annotated[bool, DETAIL] = False
    """Whether `cake` drops queued TCP acknowledgements that later ones make superfluous
    (`TCA_CAKE_ACK_FILTER`)."""


class NoLoss(Wire):
    """No packet is lost."""

    is_drawn: ClassVar[bool] = False

    kind: Literal["none"]
    """Always `none`."""

    @property
    def mean_ratio(self) -> float:
        """Long-term share of the packets that are lost."""
        return 0.0


class RandomLoss(Wire):
    """Each packet is lost at random, with a given probability."""

    is_drawn: ClassVar[bool] = True

    kind: Literal["random"]
    """Always `random`."""
    ratio: Annotated[Ratio, DETAIL]
    """Probability, 0 to 1."""
    correlation: Annotated[Ratio, Asks("correlated loss")]
    """Correlation of successive draws, 0 to 1."""

    @property
    def mean_ratio(self) -> float:
        """Long-term share of the packets that are lost."""
        return self.ratio


class GemodelLoss(Wire):
    """Gilbert-Elliott loss, a two-state Markov chain.

    Gilbert 1960, Elliott 1963; netem's `loss gemodel p r 1-h 1-k`.
    """

    is_drawn: ClassVar[bool] = True

    kind: Literal["gemodel"]
    """Always `gemodel`."""
    p: Annotated[Ratio, DETAIL]
    """Probability of going from good to bad."""
    r: Annotated[Ratio, DETAIL]
    """Probability of going from bad to good."""
    loss_bad: Annotated[Ratio, DETAIL]
    """Loss probability in the bad state (1 - h)."""
    loss_good: Annotated[Ratio, DETAIL]
    """Loss probability in the good state (1 - k)."""

    @property
    def mean_ratio(self) -> float:
        """Long-term share of the packets that are lost."""
        bad = self.p / (self.p + self.r) if self.p + self.r else 0.0
        return bad * self.loss_bad + (1 - bad) * self.loss_good


class PeriodicLoss(Wire):
    """Every n-th IP packet of the direction is lost, counted from the run's first."""

    is_drawn: ClassVar[bool] = False

    kind: Literal["every"]
    """Always `every`."""
    packets: Annotated[PacketNumber, Field(ge=2), DETAIL]
    """The n of "every n-th packet"."""

    @property
    def mean_ratio(self) -> float:
        """Long-term share of the packets that are lost."""
        return 1 / self.packets

    def lost_of(self, packets: int) -> int:
        """Return how many of the first `packets` packets of a run are lost."""
        return packets // self.packets


class ListedLoss(Wire):
    """The IP packets of the direction with the listed numbers are lost; the run's first one is
    number 1.
    """

    is_drawn: ClassVar[bool] = False

    kind: Literal["packets"]
    """Always `packets`."""
    numbers: Annotated[tuple[PacketNumber, ...], DETAIL] = Field(
        min_length=1, max_length=MOST_LISTED_LOSSES, strict=False
    )
    """The numbers of the packets that are lost, in ascending order."""

    @property
    def mean_ratio(self) -> float:
        """Long-term share of the packets that are lost."""
        return 0.0

    def lost_of(self, packets: int) -> int:
        """Return how many of the first `packets` packets of a run are lost."""
        return sum(number <= packets for number in self.numbers)


Loss = Annotated[
    NoLoss | RandomLoss | GemodelLoss | PeriodicLoss | ListedLoss,
    Field(discriminator="kind"),
    Meaning("How packets are lost."),
]


class Reorder(Wire):
    """Reordering of packets, as netem's `reorder` does it."""

    ratio: Annotated[Ratio, Asks("reordering")]
    """Share of packets that are sent at once, without the delay; 0 for none."""
    correlation: Annotated[Ratio, DETAIL]
    """Correlation of successive draws, 0 to 1."""
    gap: Annotated[U32, DETAIL]
    """How many packets, less one, stay in order after each that did not; then every packet is a
    candidate. 0 is netem's default of 1."""
