"""The ``[transport]`` section: which protocol carries the bytes, and with which options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from netwarp.fields import KeyValueError, Kind, Section, SizeBytes
from netwarp.job import TransportKind

KINDS: tuple[TransportKind, ...] = ("tcp", "tls", "sctp", "quic")
OPTIONS = ("congestion", "buffer", "initial_window", "mss", "nodelay")
SCTP_CONGESTION = "rfc9260"
_KERNEL_TCP = ("cubic", "reno", "bbr", "dctcp", "vegas", "westwood", "illinois")
CONGESTION: Mapping[TransportKind, tuple[str, ...]] = {
    "tcp": _KERNEL_TCP,
    "tls": _KERNEL_TCP,
    # The kernel's SCTP has the algorithm of RFC 9260, section 7.2, built in.
    "sctp": (SCTP_CONGESTION,),
    "quic": ("cubic", "reno", "bbr"),
}
"""Congestion controls each stack has."""

DEFAULT_CONGESTION = "cubic"
DEFAULT_INITIAL_WINDOW_PACKETS = 10  # RFC 6928
# RFC 9000, section 14: a QUIC endpoint's datagrams must be able to carry 1200 bytes.
QUIC_MIN_PAYLOAD_BYTES = 1200
# sctp_min_frag_point in include/net/sctp/sctp.h: a segment of 512 bytes without its headers.
SCTP_MIN_PAYLOAD_BYTES = 512 - 48
IP_HEADER_BYTES = 20
UDP_HEADER_BYTES = 8
TCP_HEADER_BYTES = 20
SCTP_HEADERS_BYTES = 12 + 16  # common header and DATA chunk header
HEADER_BYTES: Mapping[TransportKind, int] = {
    "tcp": IP_HEADER_BYTES + TCP_HEADER_BYTES,
    "tls": IP_HEADER_BYTES + TCP_HEADER_BYTES,
    "sctp": IP_HEADER_BYTES + SCTP_HEADERS_BYTES,
    "quic": IP_HEADER_BYTES + UDP_HEADER_BYTES,
}
"""What stands between the MTU and the MSS of each transport."""


Window = Annotated[int, Field(ge=1, le=1000, strict=True), Kind("a whole number from 1 to 1000")]
# 88: the kernel's smallest (TCP_MIN_MSS in include/net/tcp.h).
Mss = Annotated[int, Field(ge=88, le=65495, strict=True), Kind("a whole number from 88 to 65495")]


class TransportOptions(Section):
    """Options every transport takes. All get the same values unless the study says otherwise."""

    congestion: str | None = None
    """Congestion control. `tcp`, `tls`: cubic, reno, bbr, dctcp, vegas, westwood, illinois;
    `quic`: cubic, reno, bbr; `sctp`: only its own, rfc9260. Default: cubic, for `sctp` rfc9260."""
    buffer_bytes: SizeBytes | None = Field(default=None, alias="buffer")
    """Socket buffers and flow-control windows, each side. Default: four times BDP plus queue,
    rounded up to a power of two, and at least 4MiB; 64MiB where the rate is unlimited."""
    initial_window_packets: Window | None = Field(default=None, alias="initial_window")
    """First flight in full-size packets. Default: 10 (RFC 6928); `sctp` has RFC 9260's, fixed."""
    mss_bytes: Mss | None = Field(default=None, alias="mss")
    """Largest payload of a packet in bytes. Default: what the MTU allows."""
    nodelay: bool = True
    """Send small writes at once (Nagle's algorithm off)."""


class TransportSection(TransportOptions):
    """How bytes travel. Options here apply to all transports of the study.

    `[transport.tcp]`, `[transport.tls]`, `[transport.sctp]` and `[transport.quic]` take the same
    options for one of them: a deviation from equal treatment, which the provenance lists. As levels
    of the factor `transport`, names and tables mix:
    `["tcp", "quic", { kind = "tcp", congestion = "bbr", label = "tcp-bbr" }]`.
    """

    kind: TransportKind | None = None
    """Which protocol, where `transport` is not a factor."""
    tcp: TransportOptions | None = None
    """Options of the kernel's TCP."""
    tls: TransportOptions | None = None
    """Options of TLS 1.3 (rustls) over the kernel's TCP."""
    sctp: TransportOptions | None = None
    """Options of the kernel's SCTP."""
    quic: TransportOptions | None = None
    """Options of QUIC v1 (quinn)."""


_SMALLEST_MSS: Mapping[TransportKind, tuple[int, str]] = {
    "sctp": (SCTP_MIN_PAYLOAD_BYTES, "the kernel's SCTP takes no smaller fragments than 464 bytes"),
    "quic": (
        QUIC_MIN_PAYLOAD_BYTES,
        "QUIC packets cannot be limited below 1200 bytes (RFC 9000, section 14)",
    ),
}


class CellTransport(TransportOptions):
    """One transport with the options that hold for it in one cell."""

    kind: TransportKind

    @model_validator(mode="after")
    def _refuse_what_the_stack_lacks(self) -> Self:
        known = CONGESTION[self.kind]
        if self.congestion is not None and self.congestion not in known:
            raise KeyValueError(
                "congestion",
                self.congestion,
                f"{self.kind} has no congestion control of this name",
                f"{self.kind} knows {', '.join(known)}; give each transport its own in"
                f" [transport.{self.kind}]",
            )
        if self.kind == "sctp" and self.initial_window_packets is not None:
            raise KeyValueError(
                "initial_window",
                self.initial_window_packets,
                "the kernel's SCTP has a fixed initial window (RFC 9260, section 7.2.1)",
                "set it per transport, such as in [transport.tcp]",
            )
        lowest_bytes, reason = _SMALLEST_MSS.get(self.kind, (0, ""))
        if self.mss_bytes is not None and self.mss_bytes < lowest_bytes:
            raise KeyValueError(
                "mss",
                self.mss_bytes,
                reason,
                f"choose {lowest_bytes} or more, or set it per transport, such as in"
                " [transport.tcp]",
            )
        return self

    @property
    def resolved_congestion(self) -> str:
        """The congestion control asked for, or the default one."""
        default = SCTP_CONGESTION if self.kind == "sctp" else DEFAULT_CONGESTION
        return self.congestion or default

    def resolved_initial_window_packets(self, mtu_bytes: int) -> int:
        """Give the first flight in full-size packets.

        SCTP's is min(4·MTU, max(2·MTU, 4380)) bytes (RFC 9260, section 7.2.1;
        net/sctp/transport.c), rounded up: its window is open until it is exceeded.
        """
        if self.kind != "sctp":
            return self.initial_window_packets or DEFAULT_INITIAL_WINDOW_PACKETS
        window_bytes = min(4 * mtu_bytes, max(2 * mtu_bytes, 4380))
        return -(-window_bytes // mtu_bytes)


@dataclass(frozen=True)
class MergedTransport:
    """The options of one cell's transport, and where each was found."""

    options: Mapping[str, Any]
    origins: Mapping[str, str]
    """Dotted keys for messages, by option."""


def merge_transport(
    section: Mapping[str, Any], level: Mapping[str, Any], origins: Mapping[str, str]
) -> MergedTransport:
    """Lay the options of a cell's transport over each other.

    The level's own options win over those of its kind (``[transport.quic]``), these over the
    section's.

    Args:
        section: the ``[transport]`` table, factors on single options applied.
        level: the level of the factor ``transport`` as a table, or empty.
        origins: display keys of options set by a factor.

    Raises:
        KeyValueError: a factor sets an option that ``[transport.<kind>]`` sets as well.
    """
    kind = level.get("kind", section.get("kind"))
    own = section.get(kind, {}) if isinstance(kind, str) else {}
    rivals = [option for option in own if option in origins]
    if rivals:
        raise KeyValueError(
            f"{kind}.{rivals[0]}",
            own[rivals[0]],
            f"{rivals[0]} is a factor as well",
            "drop one of them, or write the variants as levels of transport",
        )
    common = {key: value for key, value in section.items() if key not in KINDS}
    chosen = {key: value for key, value in level.items() if key != "label"}
    found = {key: origins.get(key, f"transport.{key}") for key in common}
    found |= {key: f"transport.{kind}.{key}" for key in own}
    found |= dict.fromkeys(chosen, "factors.transport")
    return MergedTransport({**common, **own, **chosen}, found)
