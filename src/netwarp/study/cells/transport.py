"""A transport with its options: refuses those its stack lacks, and resolves those not given."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

from pydantic import model_validator

from netwarp.fields import KeyValueError
from netwarp.study.sections.transport import (
    DEFAULT_INITIAL_WINDOW_PACKETS,
    TCP_2008,
    TODAYS_TCP,
    TransportOptions,
)
from netwarp.transports import TRANSPORTS, TransportTraits, owners
from netwarp.units import NS_PER_S
from netwarp.wire import QuicOptions, Reconnect, SctpOptions, TcpOptions, TransportKind

NS_PER_MS = 1_000_000
GUEST_TICK_NS = 10 * NS_PER_MS  # User-Mode Linux has HZ = 100
USUAL_SCTP = SctpOptions(
    streams=1,
    max_message_bytes=16_384,
    unordered=False,
    message_lifetime_ns=None,
    max_retransmissions=None,
    rto_initial_ns=3 * NS_PER_S,
    rto_min_ns=NS_PER_S,
    rto_max_ns=60 * NS_PER_S,
    multihomed=False,
)
"""One stream, 16 KiB messages, and the kernel's defaults (net/sctp/protocol.c)."""
PER_TRANSPORT = "set it per transport, such as in [transport.tcp]"
OWN_OPTIONS = frozenset[str]().union(*(traits.own_options for traits in TRANSPORTS.values()))
"""Options that not every transport has, by attribute."""


class CellTransport(TransportOptions):
    """One transport with the options that hold for it in one cell."""

    kind: TransportKind

    @property
    def traits(self) -> TransportTraits:
        """The traits of its kind."""
        usual = TRANSPORTS[self.kind]
        return usual if self.stack is None else self.stack.traits(usual)

    @model_validator(mode="after")
    def _refuse_what_the_stack_is_not_told(self) -> Self:
        if self.stack is None or not self.stack.decides_alone:
            return self
        for key, value in (
            ("congestion", self.congestion),
            ("buffer", self.buffer_bytes),
            ("mss", self.mss_bytes),
        ):
            if value is not None:
                raise KeyValueError(
                    key,
                    value,
                    f"the interop runner's contract does not tell {self.stack.name} any",
                    "drop it, or set it in the levels of the other transports",
                )
        return self

    @model_validator(mode="after")
    def _refuse_what_the_stack_lacks(self) -> Self:
        known = self.traits.congestion_controls
        if self.congestion is not None and self.congestion not in known:
            raise KeyValueError(
                "congestion",
                self.congestion,
                f"{self.kind} has no congestion control of this name",
                f"{self.kind} knows {', '.join(known)}; give each transport its own in"
                f" [transport.{self.kind}]",
            )
        window_packets = self.initial_window_packets
        if window_packets is not None and self.traits.fixed_initial_window is not None:
            raise KeyValueError(
                "initial_window", window_packets, self.traits.fixed_initial_window, PER_TRANSPORT
            )
        least_packets = self.traits.least_initial_window_packets
        if window_packets is not None and window_packets < least_packets:
            raise KeyValueError(
                "initial_window",
                window_packets,
                self.traits.initial_window_reason,
                f"choose {least_packets} or more, or {PER_TRANSPORT}",
            )
        if self.mss_bytes is not None and self.traits.mss_bytes is None:
            raise KeyValueError("mss", self.mss_bytes, self.traits.mss_reason, PER_TRANSPORT)
        least_bytes, most_bytes = self.traits.mss_bytes or (0, 0)
        if self.mss_bytes is not None and not least_bytes <= self.mss_bytes <= most_bytes:
            bound = (
                f"{least_bytes} or more"
                if self.mss_bytes < least_bytes
                else (f"{most_bytes} or less")
            )
            raise KeyValueError(
                "mss", self.mss_bytes, self.traits.mss_reason, f"choose {bound}, or {PER_TRANSPORT}"
            )
        return self

    @model_validator(mode="after")
    def _refuse_options_of_another_protocol(self) -> Self:
        for name, field in type(self).model_fields.items():
            given = name in OWN_OPTIONS and getattr(self, name) is not None
            if given and name not in self.traits.own_options:
                raise KeyValueError(
                    field.alias or name,
                    None,
                    f"{self.kind} has no such option",
                    f"set it per transport, such as in [transport.{owners(name)[0]}]",
                )
        missing = self.traits.missing_resume.get(self.resume)
        if missing is not None:
            raise KeyValueError(
                "resume",
                self.resume,
                missing.reason,
                f"{missing.hint}set it per transport, such as in [transport.tls]",
            )
        return self

    @model_validator(mode="after")
    def _refuse_impossible_reconnections(self) -> Self:
        missing = self.traits.missing_reconnect.get(self.resolved_reconnect)
        if missing is not None:
            raise KeyValueError(
                "reconnect",
                self.reconnect,
                missing.reason,
                "set it per transport, such as in [transport.quic], or in the levels of transport:"
                ' { kind = "quic", reconnect = "migrate", label = "quic-migrate" }',
            )
        return self

    @model_validator(mode="after")
    def _refuse_impossible_timers(self) -> Self:
        for key in ("rto_initial", "rto_min", "rto_max"):
            value_ns = getattr(self, f"{key}_ns")
            if value_ns is not None and (value_ns == 0 or value_ns % GUEST_TICK_NS):
                raise KeyValueError(
                    key,
                    None,
                    "a guest's kernel counts it in ticks of 10ms",
                    "choose a multiple of 10ms, such as 200ms",
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
    def _refuse_impossible_reliability(self) -> Self:
        lifetime_ns = self.message_lifetime_ns
        if lifetime_ns is not None and (lifetime_ns == 0 or lifetime_ns % GUEST_TICK_NS):
            raise KeyValueError(
                "message_lifetime",
                None,
                "a guest's kernel counts it in ticks of 10ms",
                "choose a multiple of 10ms, such as 100ms",
            )
        if lifetime_ns is not None and self.max_retransmissions is not None:
            raise KeyValueError(
                "max_retransmissions",
                self.max_retransmissions,
                "a message has one policy of partial reliability (RFC 7496, section 4), and"
                " message_lifetime is another",
                "drop one of them",
            )
        return self

    @model_validator(mode="after")
    def _refuse_what_another_stack_does_not_do(self) -> Self:
        asked = {"datagrams": self.datagrams, "qlog": self.qlog}
        for key in (key for key, is_set in asked.items() if is_set and self.stack is not None):
            reason = "netwarp asks it of its own QUIC alone"
            raise KeyValueError(key, True, reason, "drop it, or drop stack")
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
        return self.traits.congestion_controls[0]

    def resolved_initial_window_packets(self, mtu_bytes: int) -> int:
        """Give the first flight in full-size packets.

        SCTP's is min(4·MTU, max(2·MTU, 4380)) bytes (RFC 9260, section 7.2.1;
        net/sctp/transport.c), rounded up: its window is open until it is exceeded. Linux 2.6's TCP
        had the same with the MSS, in whole segments (RFC 3390; tcp_init_cwnd in its tcp_input.c).
        """
        if self.stack is not None and self.stack.initial_window is not None:
            return self.stack.initial_window
        if self.traits.fixed_initial_window is not None:
            window_bytes = min(4 * mtu_bytes, max(2 * mtu_bytes, 4380))
            return -(-window_bytes // mtu_bytes)
        if self.initial_window_packets is not None:
            return self.initial_window_packets
        if self.preset == "tcp-2008":
            mss_bytes = self.mss_bytes or mtu_bytes - self.traits.header_bytes
            return max(2, min(4, 4380 // mss_bytes))
        return DEFAULT_INITIAL_WINDOW_PACKETS

    @property
    def resolved_mss_bytes(self) -> int | None:
        """The MSS in bytes for the stack; one below its minimum limits message sizes instead."""
        return None if self._has_small_messages else self.mss_bytes

    @property
    def _has_small_messages(self) -> bool:
        least_bytes = self.traits.least_fragment_bytes
        return self.mss_bytes is not None and self.mss_bytes < least_bytes

    @cached_property
    def resolved_tcp(self) -> TcpOptions:
        """TCP's options: those given, else the preset's, else the current kernel's defaults."""
        usual = TCP_2008 if self.preset == "tcp-2008" else TODAYS_TCP
        return usual.model_copy(update=self._given(usual))

    @cached_property
    def resolved_sctp(self) -> SctpOptions:
        """SCTP's options: those given, else the kernel's defaults."""
        chosen = USUAL_SCTP.model_copy(update=self._given(USUAL_SCTP))
        if not self._has_small_messages or self.mss_bytes is None:
            return chosen
        # Each message has chunks of its own, so the size of messages bounds that of chunks.
        smallest_bytes = min(chosen.max_message_bytes, self.mss_bytes)
        return chosen.model_copy(update={"max_message_bytes": smallest_bytes})

    @property
    def resolved_quic(self) -> QuicOptions:
        """QUIC's options; those not given are off."""
        return QuicOptions(datagrams=bool(self.datagrams), qlog=bool(self.qlog))

    @property
    def key_of_lone_messages(self) -> str | None:
        """The first option set that makes a flow's messages independent of each other, or None."""
        set_by = {
            "datagrams": self.datagrams,
            "message_lifetime": self.message_lifetime_ns is not None,
            "max_retransmissions": self.max_retransmissions is not None,
            "unordered": self.unordered,
        }
        return next((key for key, is_set in set_by.items() if is_set), None)

    @property
    def resolved_reconnect(self) -> Reconnect:
        """What happens to connections when the client moves."""
        return self.reconnect or self.traits.default_reconnect

    @property
    def multiplexes(self) -> bool:
        """Whether all parts of a content share one connection."""
        several = self.traits.multiplexes == "with streams" and (self.streams or 1) > 1
        return self.traits.multiplexes == "always" or several

    @property
    def uses_two_paths(self) -> bool:
        """Whether the transport uses a second path beside the first."""
        return self.traits.second_path == "needed" or bool(self.multihomed)

    def _given(self, usual: TcpOptions | SctpOptions) -> dict[str, Any]:
        names = type(usual).model_fields
        return {name: value for name in names if (value := getattr(self, name)) is not None}
