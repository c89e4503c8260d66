"""One transport with its options: what its stack lacks is refused, what is not given is decided."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from pydantic import model_validator

from netwarp.study.refusal import KeyValueError
from netwarp.study.sections.transport import (
    CONGESTION,
    DEFAULT_CONGESTION,
    DEFAULT_INITIAL_WINDOW_PACKETS,
    HEADER_BYTES,
    QUIC_MIN_PAYLOAD_BYTES,
    SCTP_CONGESTION,
    SCTP_MIN_PAYLOAD_BYTES,
    TCP_2008,
    TODAYS_TCP,
    TransportOptions,
)
from netwarp.units import NS_PER_S
from netwarp.wire import Reconnect, SctpOptions, TcpOptions, TransportKind

NS_PER_MS = 1_000_000
USUAL_SCTP = SctpOptions(
    streams=1,
    max_message_bytes=16_384,
    unordered=False,
    rto_initial_ns=3 * NS_PER_S,
    rto_min_ns=NS_PER_S,
    rto_max_ns=60 * NS_PER_S,
    multihomed=False,
)
"""One stream, 16 KiB messages, and the kernel's defaults (net/sctp/protocol.c)."""

_TCP: tuple[TransportKind, ...] = ("tcp", "tls", "mptcp")
_OF_ONE_PROTOCOL: Mapping[str, tuple[TransportKind, ...]] = {
    "preset": ("tcp", "tls"),
    "sack": _TCP,
    "timestamps": _TCP,
    "window_scaling": _TCP,
    "recovery": _TCP,
    "streams": ("sctp",),
    "max_message_bytes": ("sctp",),
    "unordered": ("sctp",),
    "rto_initial_ns": ("sctp",),
    "rto_min_ns": ("sctp",),
    "rto_max_ns": ("sctp",),
    "multihomed": ("sctp",),
}
"""Options that only these transports have, by attribute."""

_SMALLEST_MSS: Mapping[TransportKind, tuple[int, str]] = {
    "quic": (
        QUIC_MIN_PAYLOAD_BYTES,
        "QUIC packets cannot be limited below 1200 bytes (RFC 9000, section 14)",
    ),
}
# MAX_TCP_WINDOW in include/net/tcp.h, what setsockopt(TCP_MAXSEG) takes at most.
TCP_LARGEST_MSS_BYTES = 32_767
_NOTHING_TO_RESUME: Mapping[tuple[TransportKind, str], tuple[str, str]] = {
    ("sctp", "1rtt"): ("SCTP has nothing that a later association could resume", ""),
    ("sctp", "0rtt"): ("SCTP has nothing that a later association could resume", ""),
    ("tcp", "1rtt"): ("TCP has no session tickets", "0rtt is TCP Fast Open; "),
    ("mptcp", "1rtt"): ("TCP has no session tickets", ""),
    ("mptcp", "0rtt"): ("Fast Open is not offered with Multipath TCP here", ""),
}
_CANNOT_RECONNECT: Mapping[tuple[TransportKind, str], str] = {
    ("tcp", "migrate"): "a TCP connection is its two addresses (RFC 9293, section 3.4)",
    ("tls", "migrate"): "the TCP connection below TLS is its two addresses (RFC 9293, section 3.4)",
    ("mptcp", "new"): "a Multipath TCP connection goes on over its other subflows by itself",
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
        if self.kind == "quic" and self.initial_window_packets == 1:
            raise KeyValueError(
                "initial_window",
                self.initial_window_packets,
                "a QUIC window has at least two packets (RFC 9002, section 7.2), and quinn sends"
                " nothing with less",
                "choose 2 or more, or set it per transport, such as in [transport.tcp]",
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
        if self.kind in _TCP and (self.mss_bytes or 0) > TCP_LARGEST_MSS_BYTES:
            raise KeyValueError(
                "mss",
                self.mss_bytes,
                f"the kernel's TCP takes {TCP_LARGEST_MSS_BYTES} at most (TCP_MAXSEG)",
                "choose less, or set it per transport, such as in [transport.sctp]",
            )
        return self

    @model_validator(mode="after")
    def _refuse_options_of_another_protocol(self) -> Self:
        for name, kinds in _OF_ONE_PROTOCOL.items():
            value = getattr(self, name)
            if value is not None and self.kind not in kinds:
                key = type(self).model_fields[name].alias or name
                raise KeyValueError(
                    key,
                    None,
                    f"{self.kind} has no such option",
                    f"set it per transport, such as in [transport.{kinds[0]}]",
                )
        reason, hint = _NOTHING_TO_RESUME.get((self.kind, self.resume), ("", ""))
        if reason:
            raise KeyValueError(
                "resume",
                self.resume,
                reason,
                f"{hint}set it per transport, such as in [transport.tls]",
            )
        return self

    @model_validator(mode="after")
    def _refuse_impossible_reconnections(self) -> Self:
        reason = _CANNOT_RECONNECT.get((self.kind, self.reconnect or ""))
        if reason is not None:
            raise KeyValueError(
                "reconnect",
                self.reconnect,
                reason,
                "set it per transport, such as in [transport.quic], or in the levels of transport:"
                ' { kind = "quic", reconnect = "migrate", label = "quic-migrate" }',
            )
        return self

    @model_validator(mode="after")
    def _refuse_impossible_timers(self) -> Self:
        for key in ("rto_initial", "rto_min", "rto_max"):
            value_ns = getattr(self, f"{key}_ns")
            if value_ns is not None and (value_ns == 0 or value_ns % NS_PER_MS):
                raise KeyValueError(
                    key, None, "the kernel counts it in whole milliseconds", "such as 200ms"
                )
        sctp = self.resolved_sctp
        if not sctp.rto_min_ns <= sctp.rto_initial_ns <= sctp.rto_max_ns:
            given = "rto_min" if self.rto_min_ns is not None else "rto_max"
            key = "rto_initial" if self.rto_initial_ns is not None else given
            raise KeyValueError(
                key,
                None,
                "rto_initial must lie between rto_min and rto_max",
                "the defaults are 3s, 1s and 60s",
            )
        return self

    @model_validator(mode="after")
    def _refuse_sack_without_rack(self) -> Self:
        if self.resolved_tcp.recovery == "classic" and self.resolved_tcp.sack:
            # net/ipv4/tcp_input.c, tcp_identify_packet_loss.
            raise KeyValueError(
                "recovery" if self.recovery else "sack",
                self.recovery or self.sack,
                "since Linux 6.17 a TCP with SACK finds its losses by RACK and nothing else",
                'choose sack = false, or recovery = "rack"',
            )
        return self

    @property
    def resolved_congestion(self) -> str:
        """The congestion control asked for, or the default one."""
        if self.congestion is not None:
            return self.congestion
        if self.preset == "tcp-2008":
            return "reno"
        return SCTP_CONGESTION if self.kind == "sctp" else DEFAULT_CONGESTION

    def resolved_initial_window_packets(self, mtu_bytes: int) -> int:
        """Give the first flight in full-size packets.

        SCTP's is min(4·MTU, max(2·MTU, 4380)) bytes (RFC 9260, section 7.2.1;
        net/sctp/transport.c), rounded up: its window is open until it is exceeded. Linux 2.6's TCP
        had the same with the MSS, in whole segments (RFC 3390; tcp_init_cwnd in its tcp_input.c).
        """
        if self.kind == "sctp":
            window_bytes = min(4 * mtu_bytes, max(2 * mtu_bytes, 4380))
            return -(-window_bytes // mtu_bytes)
        if self.initial_window_packets is not None:
            return self.initial_window_packets
        if self.preset == "tcp-2008":
            mss_bytes = self.mss_bytes or mtu_bytes - HEADER_BYTES[self.kind]
            return max(2, min(4, 4380 // mss_bytes))
        return DEFAULT_INITIAL_WINDOW_PACKETS

    @property
    def resolved_mss_bytes(self) -> int | None:
        """The limit the stack is given; SCTP's below 464 bytes is one on its messages instead."""
        if self.kind == "sctp" and (self.mss_bytes or SCTP_MIN_PAYLOAD_BYTES) < (
            SCTP_MIN_PAYLOAD_BYTES
        ):
            return None
        return self.mss_bytes

    @property
    def resolved_tcp(self) -> TcpOptions:
        """TCP's options: those given, else the preset's, else today's."""
        usual = TCP_2008 if self.preset == "tcp-2008" else TODAYS_TCP
        return usual.model_copy(update=self._given(usual))

    @property
    def resolved_sctp(self) -> SctpOptions:
        """SCTP's options: those given, else the kernel's."""
        chosen = USUAL_SCTP.model_copy(update=self._given(USUAL_SCTP))
        if self.kind != "sctp" or self.mss_bytes is None or self.resolved_mss_bytes is not None:
            return chosen
        # A message is at least one chunk: messages this small make chunks this small.
        smallest_bytes = min(chosen.max_message_bytes, self.mss_bytes)
        return chosen.model_copy(update={"max_message_bytes": smallest_bytes})

    @property
    def resolved_reconnect(self) -> Reconnect:
        """What becomes of connections when the client moves."""
        return "migrate" if self.kind == "mptcp" else self.reconnect or "new"

    @property
    def multiplexes(self) -> bool:
        """Whether all chunks of a content share one connection."""
        return self.kind == "quic" or (self.kind == "sctp" and (self.streams or 1) > 1)

    @property
    def uses_two_paths(self) -> bool:
        """Whether a second path would carry anything."""
        return self.kind == "mptcp" or bool(self.multihomed)

    def _given(self, usual: TcpOptions | SctpOptions) -> dict[str, Any]:
        names = type(usual).model_fields
        return {name: value for name in names if (value := getattr(self, name)) is not None}
