"""The table of transports: the abilities and properties of each, in one place.

The options that a study sets for a transport are in `study/`; this module has the properties of its
stack.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:  # help texts are made from this table without importing the models
    from netwarp.wire import Job, Model, Reconnect, Resume, TransportKind

HttpVersion = Literal["1.1", "2", "3"]
OptionsTable = Literal["tcp", "sctp", "quic"]

IP_HEADER_BYTES, IPV6_HEADER_BYTES = 20, 40
UDP_HEADER_BYTES = 8
TCP_HEADER_BYTES = 20
SCTP_HEADERS_BYTES = 12 + 16  # common header and DATA chunk header
# net/ipv4/tcp.c, TCP_MAXSEG: TCP_MIN_MSS and MAX_TCP_WINDOW.
TCP_MSS_BYTES = (88, 32_767)
QUIC_DATAGRAM_HEADERS_BYTES = 1 + 8 + 4 + 16 + 9
"""Bytes of headers of a QUIC packet around a message that is sent as a datagram: the short header's
first byte, quinn's connection ID and the longest packet number, the AEAD's tag, and a DATAGRAM
frame's type and length.
"""
QUINN_PACKET_BYTES = 2**14 - 1
KERNEL_TCP_CONGESTION = ("cubic", "reno", "bbr", "dctcp", "vegas", "westwood", "illinois")


@dataclass(frozen=True)
class Missing:
    """An ability that a transport lacks."""

    reason: str
    hint: str = ""
    """Suggestion of what the user may have meant, which precedes the remedy."""


@dataclass(frozen=True, kw_only=True)
class TransportTraits:
    """The properties of one transport, and how it is shown."""

    name: str
    """Usual spelling of the transport's name."""
    stack: str
    """The implementation that is measured, as a part of a sentence."""
    colour: str
    """Colour in every chart; with shape and dashes, it distinguishes the transport's series from
    others.
    """
    shape: str
    dash: tuple[int, ...]
    congestion_controls: tuple[str, ...]
    """Congestion controls by their names in the transport's stack, the default first."""
    cpu_s_per_mb: float
    """Approximate CPU time in s that both ends and the guest's kernel use for a megabyte. For TCP,
    TLS, SCTP and QUIC it is the time that recorded runs used in addition to their start, divided by
    the bytes that they transferred; see `execution/cost.py`.
    """
    header_bytes: int
    """Bytes of headers between the MTU and the MSS, over IPv4."""
    mss_bytes: tuple[int, int] | None
    """Smallest and largest payload to which the transport's packets can be limited; None if they
    cannot be limited.
    """
    mss_reason: str
    """Reason for the bounds in `mss_bytes`."""
    least_fragment_bytes: int = 0
    """Smallest MSS that the stack accepts, if it is larger than the smallest in `mss_bytes`; below
    it, messages are made smaller instead. 0 if there is none."""
    least_packet_bytes: int = 0
    """Smallest payload in bytes for which a path's MTU must have room."""
    most_packet_bytes: int | None = None
    """Largest payload in bytes of a packet that its stack can send; None if there is no limit."""
    most_packet_reason: str = ""
    """Reason for `most_packet_bytes`, as a clause."""
    options: OptionsTable | None = None
    """Name of the table of options in a job that only this transport has; None if there is none."""
    own_keys: frozenset[str] = frozenset()
    """Keys of `[transport]` that not every transport has, besides those of the table."""
    repeats_what_is_lost: bool = True
    """Whether lost data is retransmitted, so that everything arrives in the end."""
    runs_over_tcp: bool = False
    """Whether the transport uses the kernel's TCP, and so its congestion controls and options."""
    first_timer_ns: int | None = 1_000_000_000
    """Time in ns after which a client repeats its first packet if there is no answer; None if its
    option `rto_initial` sets that. Default: TCP's (RFC 6298, section 2.1)."""
    own_draws: str = ""
    """Random numbers that the transport's stack draws by itself and that can change a result, as
    text; empty if there are none.
    """
    draws_later: Mapping[str, float] = field(default_factory=dict)
    """Random numbers that can change a result, but that the stack draws only in runs longer than a
    time in s: that time, by their text."""
    is_encrypted: bool = False
    is_always_paced: bool = False
    """Whether the transport paces packets with every congestion control."""
    multiplexes: Literal["always", "with streams", "never"] = "never"
    """Whether all chunks of a content share a connection, as streams of it; `with streams`: only if
    the option `streams` says that there are several."""
    second_path: Literal["needed", "multihomed", "unused"] = "unused"
    """How a client that does not move uses a second path: it needs one, uses one with the option
    `multihomed`, or does not use it."""
    has_counters_when_closed: bool = True
    """Whether settings and counters of a connection can still be read after both ends have closed
    it.
    """
    fixed_initial_window: str | None = None
    """Reason why the initial window cannot be set, if the stack fixes it; else None."""
    least_initial_window_packets: int = 1
    initial_window_reason: str = ""
    """Reason why the initial window cannot be smaller."""
    missing_resume: Mapping[Resume, Missing] = field(default_factory=dict)
    """Ways of session resumption that the transport lacks."""
    missing_reconnect: Mapping[Reconnect, Missing] = field(default_factory=dict)
    """Ways of continuing after a handover that the transport lacks."""
    default_reconnect: Reconnect = "new"
    migration_needs_overlap: bool = False
    """Whether a client must announce its new address from the old one (RFC 5061, section 5.3)."""
    is_in_ns3: bool = False
    """Whether netwarp can simulate the transport with a model of ns-3."""
    http_versions: tuple[HttpVersion, ...] = ()
    """Versions of HTTP that run over the transport."""
    keeps_packets_in_shapers: bool = True
    """Whether packets leave a shaper as they came, so that they are recognised behind it."""
    passes_nat: bool = True
    """Whether the guest's NAT can translate the transport's ports."""
    kernel_option: Literal["IP_SCTP", "MPTCP"] | None = None
    """Kernel configuration option that the transport needs and that a kernel may lack; None if
    there is none.
    """
    waits_until_a_time: bool = False
    """Whether the transport's endpoint waits in an io_uring until a given time, which older kernels
    do not support.
    """
    inherent: Mapping[str, str] = field(default_factory=dict)
    """Reasons for differences from other transports that cannot be avoided, by the setting in the
    equal-treatment table.
    """
    behaviour: Mapping[str, str] = field(default_factory=dict)
    """Behaviour of the implementation that no option changes, by the setting in the equal-treatment
    table.
    """

    def header_bytes_over(self, ip_version: Literal[4, 6]) -> int:
        """Return the difference between MTU and MSS in bytes, which is the size of the headers, for
        a version of IP.
        """
        return self.header_bytes - IP_HEADER_BYTES + ip_header_bytes(ip_version)


def ip_header_bytes(ip_version: Literal[4, 6]) -> int:
    """Return the size of an IP header without options (RFC 791) or extensions (RFC 8200)."""
    return IP_HEADER_BYTES if ip_version == 4 else IPV6_HEADER_BYTES


IMPLEMENTATIONS = ("quic-go",)
"""Names of implementations that begin like the name of a transport."""
OVER_BYTES: tuple[HttpVersion, ...] = ("1.1", "2")
"""Versions of HTTP that run over a stream of bytes."""
_TWO_ADDRESSES = "is its two addresses (RFC 9293, section 3.4)"
_NO_TICKETS = Missing("TCP has no session tickets")
_NO_RESUMPTION = Missing("SCTP has nothing that a later association could resume")
_NO_CONNECTION = Missing("UDP has no connections")
_TCP_MSS_REASON = f"the kernel's TCP takes {TCP_MSS_BYTES[1]} at most (TCP_MAXSEG)"

TRANSPORTS: Mapping[TransportKind, TransportTraits] = {
    "tcp": TransportTraits(
        name="TCP",
        stack="the kernel's TCP",
        colour="#0072B2",
        shape="circle",
        dash=(),
        congestion_controls=KERNEL_TCP_CONGESTION,
        cpu_s_per_mb=0.007,
        header_bytes=IP_HEADER_BYTES + TCP_HEADER_BYTES,
        mss_bytes=TCP_MSS_BYTES,
        mss_reason=_TCP_MSS_REASON,
        options="tcp",
        own_keys=frozenset({"preset"}),
        http_versions=OVER_BYTES,
        runs_over_tcp=True,
        is_in_ns3=True,
        missing_resume={"1rtt": Missing(_NO_TICKETS.reason, "0rtt is TCP Fast Open; ")},
        missing_reconnect={"migrate": Missing(f"a TCP connection {_TWO_ADDRESSES}")},
    ),
    "tls": TransportTraits(
        name="TLS",
        stack="TLS 1.3 (rustls) over the kernel's TCP",
        colour="#56B4E9",
        shape="square",
        dash=(6, 3),
        congestion_controls=KERNEL_TCP_CONGESTION,
        cpu_s_per_mb=0.0075,
        header_bytes=IP_HEADER_BYTES + TCP_HEADER_BYTES,
        mss_bytes=TCP_MSS_BYTES,
        mss_reason=_TCP_MSS_REASON,
        options="tcp",
        own_keys=frozenset({"preset"}),
        http_versions=OVER_BYTES,
        runs_over_tcp=True,
        is_encrypted=True,
        missing_reconnect={"migrate": Missing(f"the TCP connection below TLS {_TWO_ADDRESSES}")},
    ),
    "sctp": TransportTraits(
        name="SCTP",
        stack="the kernel's SCTP",
        # An end that has sent no data for 30 s sends a heartbeat after a random part of its RTO
        # more (net/sctp/transport.c, sctp_transport_reset_hb_timer).
        draws_later={"SCTP's heartbeats": 30.0},
        colour="#009E73",
        shape="triangle-up",
        dash=(2, 2),
        # The algorithm of RFC 9260, section 7.2, is built in.
        congestion_controls=("rfc9260",),
        first_timer_ns=None,
        cpu_s_per_mb=0.0165,
        header_bytes=IP_HEADER_BYTES + SCTP_HEADERS_BYTES,
        mss_bytes=(88, 65_495),
        mss_reason="",
        # sctp_min_frag_point in include/net/sctp/sctp.h: 512 bytes without its headers.
        least_fragment_bytes=512 - IP_HEADER_BYTES - SCTP_HEADERS_BYTES,
        options="sctp",
        # Its checksum (CRC32c) is filled in only there.
        keeps_packets_in_shapers=False,
        passes_nat=False,
        multiplexes="with streams",
        second_path="multihomed",
        has_counters_when_closed=False,
        fixed_initial_window=(
            "the kernel's SCTP has a fixed initial window (RFC 9260, section 7.2.1)"
        ),
        missing_resume={"1rtt": _NO_RESUMPTION, "0rtt": _NO_RESUMPTION},
        migration_needs_overlap=True,
        kernel_option="IP_SCTP",
        inherent={
            "congestion control": "the kernel's SCTP has RFC 9260's built in, nothing else",
            "initial window": "fixed in the kernel's SCTP (RFC 9260, section 7.2.1)",
        },
    ),
    "quic": TransportTraits(
        name="QUIC",
        stack="QUIC v1 (quinn)",
        colour="#D55E00",
        shape="diamond",
        dash=(),
        congestion_controls=("cubic", "reno", "bbr"),
        first_timer_ns=999_000_000,  # three times 333 ms (RFC 9002, section 6.2.2)
        cpu_s_per_mb=0.0225,
        header_bytes=IP_HEADER_BYTES + UDP_HEADER_BYTES,
        mss_bytes=(1200, QUINN_PACKET_BYTES),
        mss_reason="QUIC packets cannot be limited below 1200 bytes (RFC 9000, section 14), and"
        f" those of quinn have {QUINN_PACKET_BYTES} or less",
        least_packet_bytes=1200,
        most_packet_bytes=QUINN_PACKET_BYTES,
        most_packet_reason="quinn writes a handshake packet's length in two bytes (quinn-proto,"
        f" packet.rs), up to {QUINN_PACKET_BYTES}",
        options="quic",
        own_draws="QUIC's handshake and packet numbers",
        waits_until_a_time=True,
        own_keys=frozenset({"stack"}),
        http_versions=("3",),
        is_encrypted=True,
        is_always_paced=True,
        multiplexes="always",
        least_initial_window_packets=2,
        initial_window_reason=(
            "a QUIC window has at least two packets (RFC 9002, section 7.2), and quinn sends"
            " nothing with less"
        ),
        inherent={"pacing": "quinn always paces; the kernel's TCP paces under bbr alone"},
        # quinn-proto: in congestion/, only loss ends slow start; AckFrequencyConfig.
        behaviour={
            "HyStart": "none",
            "ACK frequency": "every 2nd packet, or after 25 ms",
            "UDP payload": "what the MTU allows",
            "GSO": "used",
        },
    ),
    "udp": TransportTraits(
        name="UDP",
        stack="the kernel's UDP",
        colour="#CC79A7",
        shape="triangle-down",
        dash=(1, 2),
        congestion_controls=("none",),
        cpu_s_per_mb=0.002,
        header_bytes=IP_HEADER_BYTES + UDP_HEADER_BYTES,
        mss_bytes=None,
        mss_reason="UDP sends each message as it is",
        repeats_what_is_lost=False,
        fixed_initial_window="UDP has no window",
        is_in_ns3=True,
        missing_resume={"1rtt": _NO_CONNECTION, "0rtt": _NO_CONNECTION},
        missing_reconnect={"migrate": _NO_CONNECTION},
    ),
    "mptcp": TransportTraits(
        name="MPTCP",
        stack="the kernel's Multipath TCP",
        colour="#E69F00",
        shape="cross",
        dash=(4, 2),
        congestion_controls=KERNEL_TCP_CONGESTION,
        cpu_s_per_mb=0.01,
        header_bytes=IP_HEADER_BYTES + TCP_HEADER_BYTES,
        mss_bytes=TCP_MSS_BYTES,
        mss_reason=_TCP_MSS_REASON,
        options="tcp",
        http_versions=OVER_BYTES,
        runs_over_tcp=True,
        has_counters_when_closed=False,
        second_path="needed",
        missing_resume={
            "1rtt": _NO_TICKETS,
            "0rtt": Missing("Fast Open is not offered with Multipath TCP here"),
        },
        missing_reconnect={
            "new": Missing("a Multipath TCP connection goes on over its other subflows by itself")
        },
        default_reconnect="migrate",
        kernel_option="MPTCP",
        inherent={"reconnection": "its subflows come and go while the connection stays"},
    ),
}
"""All transports, in their order in tables and figures."""

ON_ONE_PATH: tuple[TransportKind, ...] = tuple(
    kind
    for kind, traits in TRANSPORTS.items()
    if traits.second_path != "needed" and traits.repeats_what_is_lost
)
"""Transports that can transfer a content and need only one path."""


def is_simulated(model: Model) -> bool:
    """Return whether a `transport.model` is one of ns-3, and not a kernel's own transport."""
    return model != "kernel"


def runs_in_ns3(job: Job) -> bool:
    """Return whether one of a job's workloads is run in a simulator."""
    return any(is_simulated(each.transport.model) for each in job.workloads)


def rfc9260_window_bytes(mtu_bytes: int) -> int:
    """Return SCTP's initial congestion window in bytes (RFC 9260, section 7.2.1;
    net/sctp/transport.c).
    """
    return min(4 * mtu_bytes, max(2 * mtu_bytes, 4380))


def with_two_paths_in_words() -> str:
    """Return as text the transports that use a second path in addition to the first."""
    needed = [kind for kind, traits in TRANSPORTS.items() if traits.second_path == "needed"]
    homed = [kind for kind, traits in TRANSPORTS.items() if traits.second_path == "multihomed"]
    return " or ".join([*needed, *(f"{kind} with multihomed = true" for kind in homed)])


def congestion_controls_in_words() -> str:
    """Return as text the congestion controls of each stack: ``tcp, tls: cubic, reno; quic:
    cubic``.
    """
    by_names: dict[tuple[str, ...], list[str]] = {}
    for kind, traits in TRANSPORTS.items():
        by_names.setdefault(traits.congestion_controls, []).append(f"`{kind}`")
    parts = (f"{', '.join(kinds)}: {', '.join(names)}" for names, kinds in by_names.items())
    return "; ".join(parts)
