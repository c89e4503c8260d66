"""The table of path properties: a row for each key of `[path]`, from which everything about the key
is generated.

A row determines the study's keys, their entries in the key reference, the options of `netwarp
compare`, what a second path inherits, which keys exclude each other, and the field of the job.
Types are given by name and not imported, so that help texts do not wait for the models.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from netwarp.path_profiles import PROFILES

if TYPE_CHECKING:
    from netwarp.wire import Direction


@dataclass(frozen=True, kw_only=True)
class PathProperty:
    """A property of a path, such as its delay, with everything that is derived from it."""

    key: str
    """Key in `[path]`; without `_down` and `_up` if each direction has the property."""
    type: str
    """Name of the type of the property's values, in `netwarp.fields`."""
    help: str
    """Text of the key reference; if each direction has the property, the text for the key without
    direction.
    """
    option_help: str
    """Help of the option on the command line, in a few words."""
    is_common: bool = True
    """Whether `--help` shows the option; otherwise only `--help-all` does."""
    title: str = ""
    """Title on axes and in tables of results, if the property varies. Default: the key, in
    words.
    """
    unit: str = ""
    """Unit of values that are plain numbers."""
    directions: Literal["path", "both", "down"] = "path"
    """What the key without direction applies to: the path as a whole, both directions, or server to
    client alone, if the property harms packets."""
    each_help: str = ""
    """Text of the key reference for the key of one direction; the name of the direction is
    appended."""
    default: Any = None
    """Value of the key if a study does not set it."""
    netem: str | None = None
    """Field of `wire.Impairments` that takes the value unchanged; None if there is none."""
    absent: str | None = None
    """Value in a study that switches the property off."""
    without: str | None = None
    """Key of the property that has to be set for this one to have an effect; None if there is
    none."""

    @property
    def plain_key_covers(self) -> tuple[Direction, ...]:
        """Directions to which the key without direction applies."""
        return ("down",) if self.directions == "down" else ("down", "up")

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of `[path]` that set this property: the one for both directions, and one for
        each.
        """
        if self.directions == "path":
            return (self.key,)
        return (self.key, f"{self.key}_down", f"{self.key}_up")

    @property
    def titles(self) -> Mapping[str, str]:
        """Titles of all keys of the property: `loss_up` is "Packet loss up"."""
        title = self.title or self.key.replace("_", " ").capitalize()
        return {key: title + key.removeprefix(self.key).replace("_", " ") for key in self.keys}


PATH_PROPERTIES: tuple[PathProperty, ...] = (
    PathProperty(
        key="profile",
        title="Path profile",
        type="ProfileName",
        help="A named access network: its round-trip time and rates, unless they are given. See"
        " [path profiles](#path-profiles).",
        option_help="Round-trip time and rates of a kind of network, in a year: "
        + ", ".join(f"{name} ({profile.year})" for name, profile in PROFILES.items())
        + ".",
    ),
    PathProperty(
        key="rtt",
        title="Round-trip time",
        type="DurationNs",
        help="Round-trip time of the idle path, split evenly over the directions. Instead of"
        " `delay`.",
        option_help="Round-trip time, split evenly.",
    ),
    PathProperty(
        key="delay",
        title="One-way delay",
        type="DurationNs",
        directions="both",
        help="One-way delay of each direction. Default: no delay.",
        each_help="One-way delay",
        option_help="One-way delay, both directions.",
    ),
    PathProperty(
        key="jitter",
        type="DurationNs",
        directions="both",
        help="Spread of the delay: half width (uniform) or standard deviation (others). Each packet"
        " draws a delay of its own; what becomes of packets that would overtake others is"
        " `jitter_order`'s to say.",
        each_help="Spread of the delay",
        option_help="Spread of the delay.",
        netem="jitter_ns",
        absent="0s",
    ),
    PathProperty(
        key="jitter_order",
        type="JitterOrder",
        help="Whether packets stay in order where their delays vary. `kept`: a packet leaves when"
        " its own delay is over and all packets before it have left, as on a link. Packets further"
        " apart than delays differ have the delays of `distribution`; closer ones also wait for"
        " those before them, and their delay is the largest of all that is left of these. `free`:"
        " each leaves when its own delay is over, and overtakes others, as in netem."
        " Default: kept.",
        is_common=False,
        option_help="kept: jitter lets no packet overtake; free: it does, as in netem.",
        netem="in_order",
        absent="kept",
        without="jitter",
    ),
    PathProperty(
        key="distribution",
        type="Distribution",
        help="Shape of the delay's distribution, netem's tables.",
        is_common=False,
        option_help="Distribution of the delay: uniform, normal, pareto, paretonormal.",
        default="uniform",
        netem="distribution",
        without="jitter",
    ),
    PathProperty(
        key="jitter_correlation",
        type="RatioField",
        help="Correlation of successive delays.",
        is_common=False,
        option_help="Correlation of successive delays.",
        default=0.0,
        netem="jitter_correlation",
        without="jitter",
    ),
    PathProperty(
        key="aggregate",
        type="DurationNs",
        directions="both",
        help="Packets arrive together: one that arrives when none waits starts a timer of this"
        " length, and all that have come when it ends are released at once, in order. A packet by"
        " itself is so much later. Wi-Fi's aggregates last up to 5.484 ms (A-MPDU in a PPDU, IEEE"
        " 802.11), network cards wait some 10 µs to 250 µs before they interrupt. It is the last"
        " thing that a direction does to packets, behind rate and queue. Default: none.",
        each_help="Time for which packets are collected and then released together",
        is_common=False,
        option_help="Packets are released together: 0.25ms, 4ms.",
        netem="aggregate_ns",
        absent="0s",
    ),
    PathProperty(
        key="link_loss",
        title="Losses that the link repairs",
        type="RatioField",
        directions="both",
        help="Share of transmissions that are lost on the link and repeated by it, as on a radio"
        " link: nothing is lost for the hosts, but such a packet comes `link_repair` later, once"
        " for each repetition, and those behind it wait for it. The third repetition always"
        " arrives. It takes no share of the rate. LTE's and 5G's physical layer sees 10 % of first"
        " transmissions lost (the block error ratio of 3GPP TS 36.213, 7.2.3). Not beside jitter,"
        " of which netem draws one. Default: none.",
        each_help="Share of transmissions that the link loses and repeats",
        is_common=False,
        option_help="Share of transmissions that the link loses and repeats: 10%.",
        netem="link_loss_ratio",
        absent="0%",
    ),
    PathProperty(
        key="link_repair",
        title="Time of a repair on the link",
        type="DurationNs",
        directions="both",
        help="Time from a transmission that the link has lost to its repetition. LTE's hybrid ARQ"
        " has 8 ms (FDD, 3GPP TS 36.321, 5.4.2). Default: 8 ms.",
        each_help="Time from a transmission that the link has lost to its repetition",
        is_common=False,
        option_help="Time until the link repeats what it lost: 8ms.",
        default=8_000_000,
        netem="link_repair_ns",
        without="link_loss",
    ),
    PathProperty(
        key="loss",
        title="Packet loss",
        type="LossField",
        directions="down",
        help="Packets lost, server to client. Default: none. A burst of `gemodel` ends with a"
        " packet, not with time: whoever waits meets it again, and Linux's TCP ends a connection"
        ' after fifteen lost retransmissions. `"every 100"` loses every 100th IP packet of the'
        ' direction and `"packets 5 9 20"` those three: nothing is drawn.',
        each_help="Packets lost",
        option_help="Packet loss, server to client: 1%, 'gemodel p r 1-h 1-k', or 'every 100'.",
        netem="loss",
        absent="0%",
    ),
    PathProperty(
        key="loss_correlation",
        type="RatioField",
        help="How much a random loss depends on the one before, as netem does it, which changes how"
        " many are lost: 3 % with a correlation of 25 % loses 0.01 %. Prefer `gemodel`.",
        is_common=False,
        option_help="Correlation of successive random losses.",
        default=0.0,
        without="loss",
    ),
    PathProperty(
        key="rate",
        title="Bottleneck rate",
        type="RateBitS",
        directions="both",
        help="Bottleneck rate of each direction, Ethernet headers counted. Default: unlimited.",
        each_help="Bottleneck rate",
        option_help="Rate of the bottleneck, both directions: 50mbit.",
    ),
    PathProperty(
        key="queue",
        type="Queue",
        directions="both",
        help="Room of the bottleneck's queue, beyond the packets in the delay line. A BDP is the"
        " direction's rate times the round-trip time. Default: one BDP, and at least 20 packets."
        " A queue in packets counts packets of any size, one in bytes their bytes, and has room for"
        " one of full size at least; disciplines count as the kernel's do, most of them packets.",
        each_help="Room of the queue",
        option_help="Length of the bottleneck's queue: 1bdp, 64kB, 1000p.",
    ),
    PathProperty(
        key="policer",
        title="Bucket of the policer",
        type="SizeBytes",
        directions="both",
        help="A policer in place of a link and its queue: a bucket of this size, which fills at"
        " `rate`. A packet passes at once if anything is in it, and may take more than that; what"
        " comes before the bucket has made up for it is lost, but for a full-size packet's bytes"
        " that wait. 7 % of transfers to clients of one large content provider met one (Flach et"
        " al., SIGCOMM 2016). Not beside `queue`, `discipline`, `reorder` or `[path.trace]`."
        " Default: none.",
        each_help="Bucket of a policer in place of a link and its queue",
        is_common=False,
        option_help="A policer with a bucket of this size: 100kB.",
        netem="policer_bytes",
        without="rate",
    ),
    PathProperty(
        key="discipline",
        title="Queue discipline",
        type="DisciplineName",
        directions="both",
        help="Which queueing discipline serves the bottleneck, with the room of `queue`: `fifo`,"
        " which drops what finds it full, or one of the kernel's. Their other parameters are the"
        " kernel's defaults. Whether they mark packets or drop them is `transport.ecn`'s to say."
        " Default: fifo.",
        each_help="Queueing discipline of the bottleneck",
        option_help="Queueing at the bottleneck: fifo, or a discipline such as fq_codel or cake.",
        absent="fifo",
    ),
    PathProperty(
        key="l4s_queue",
        title="Packets in DualPI2's low-latency queue",
        type="L4sQueue",
        help="Which packets `dualpi2` serves in its low-latency queue. `ect1`: those of senders"
        " that say that they are scalable (RFC 9331). `ect`: all of ECN-capable senders, so that"
        " DCTCP, whose packets are ECT(0), stands there for TCP Prague, which this kernel does not"
        " have; senders that are not scalable must then not offer ECN. Default: ect1.",
        is_common=False,
        option_help="DualPI2's low-latency queue: ect1, or ect for DCTCP.",
        absent="ect1",
        without="discipline",
    ),
    PathProperty(
        key="ack_filter",
        title="Superfluous acknowledgements",
        type="AckFilter",
        help="Whether `cake` drops acknowledgements of TCP that still wait when later ones make"
        ' them superfluous (Høiland-Jørgensen, Täht, Morton, "Piece of CAKE", LANMAN 2018), as'
        " modems of asymmetric links do. Acknowledgements of QUIC are encrypted, and stay."
        " Default: kept.",
        is_common=False,
        option_help="kept, or dropped: acknowledgements that wait in vain in a cake.",
        absent="kept",
        without="discipline",
    ),
    PathProperty(
        key="ip",
        title="IP version",
        type="IpVersion",
        help="The version of IP of all addresses. A packet's header has 20 bytes with 4 and 40 with"
        " 6 (RFC 8200), which its payload loses: a queue in packets and `mtu` are the same. Names"
        " (`client`, `server`) resolve to addresses of this version, and with `dual` to both:"
        " programs choose, and netwarp's own ends take IPv6, as RFC 6724 has it. Neighbours are"
        " known from the start, and nothing but the traffic is sent: no neighbour discovery, no"
        " router advertisements, no multicast listener reports.",
        option_help="Version of IP: 4, 6, or dual for both.",
        default=4,
    ),
    PathProperty(
        key="mtu",
        title="MTU",
        unit="B",
        type="Mtu",
        help="Largest IP packet in bytes, headers included.",
        option_help="Largest IP packet in bytes.",
        default=1500,
    ),
    PathProperty(
        key="neighbours",
        type="Neighbours",
        help="Whether hosts and router know each other's MAC addresses from the start. `cold`: each"
        " is asked for (ARP) when the first packet needs it, and until the answer comes three"
        " packets wait for it, as in ns-3 and in Linux before 3.3; of more the oldest are dropped."
        " What the router asks and answers is impaired and counted with the other packets.",
        is_common=False,
        option_help="warm: MAC addresses are known; cold: hosts ask by ARP.",
        default="warm",
    ),
    PathProperty(
        key="duplex",
        type="Duplex",
        help="What a study relies on: `full`, each direction has a rate of its own; `half`, one"
        " packet at a time for both, as on a shared cable. A link that cannot be so is refused:"
        ' those of the kernel and of `model = "ns3"` are full duplex, the CSMA link of'
        ' `model = "ns3default"` is half duplex. Default: what the link is.',
        is_common=False,
        option_help="full or half: refuse models whose links differ.",
    ),
    PathProperty(
        key="reorder",
        type="ReorderField",
        directions="down",
        help="Packets sent on at once, overtaking those in the delay line, server to client. They"
        " still meet the bottleneck and its queue, which counts packets then: as many of the"
        " smallest usual size as its bytes are. Where its rate changes, a delay line that is not"
        " full is room of the queue.",
        each_help="Packets sent on at once",
        is_common=False,
        option_help="Share of packets that overtake, server to client.",
        netem="reorder",
        absent="0%",
    ),
    PathProperty(
        key="duplicate",
        type="RatioField",
        directions="down",
        help="Packets delivered twice, server to client.",
        each_help="Packets delivered twice",
        is_common=False,
        option_help="Share of packets sent twice, server to client.",
        netem="duplicate_ratio",
        absent="0%",
    ),
    PathProperty(
        key="corrupt",
        type="RatioField",
        directions="down",
        help="Packets with one bit flipped, server to client. A checksum turns most into losses.",
        each_help="Packets with one bit flipped",
        is_common=False,
        option_help="Share of packets with a bit flipped, server to client.",
        netem="corrupt_ratio",
        absent="0%",
    ),
)
"""All path properties, in the order of the key reference."""

BY_KEY: Mapping[str, PathProperty] = {row.key: row for row in PATH_PROPERTIES}
OF_EACH_DIRECTION = tuple(row for row in PATH_PROPERTIES if row.directions != "path")
