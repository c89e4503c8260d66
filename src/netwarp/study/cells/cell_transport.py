"""A transport with its options: refuses options that its stack lacks, and resolves those that are
not set.
"""

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Self

from pydantic import model_validator

from netwarp.fields import KeyValueError
from netwarp.study.sections.path import SinglePath
from netwarp.study.sections.transport import (
    DEFAULT_INITIAL_WINDOW_PACKETS,
    OWN_OPTIONS,
    TCP_2008,
    TODAYS_TCP,
    USUAL_QUIC,
    USUAL_SCTP,
    Group,
    NamedTransport,
    TransportOptions,
    owners,
)
from netwarp.transports import TRANSPORTS, TransportTraits, rfc9260_window_bytes
from netwarp.units import NS_PER_MS, NS_PER_S
from netwarp.wire import QuicOptions, Reconnect, SctpOptions, TcpOptions

GUEST_TICK_NS = 10 * NS_PER_MS  # User-Mode Linux has HZ = 100
RTO_MAX_NS = 120 * NS_PER_S
"""The maximum retransmission time-out of TCP, in ns (`TCP_RTO_MAX`)."""
OWN = "own:"
"""Prefix of a level of `congestion` that names a congestion control which the user has added to a
kernel."""
OWN_NAME = re.compile(r"[a-z][a-z0-9_]{0,14}")
"""Pattern of the names of congestion controls: with the final NUL, they have 16 bytes in the kernel
(TCP_CA_NAME_MAX).
"""
PER_TRANSPORT = "set it per transport, such as in [transport.tcp]"
_OWN_KEYS = frozenset[str]().union(*(traits.own_keys for traits in TRANSPORTS.values()))
"""Keys that not every transport has, besides those of `OWN_OPTIONS`."""


class CellTransport(TransportOptions):
    """A transport with its options, in one cell."""

    kind: NamedTransport

    @property
    def traits(self) -> TransportTraits:
        """The properties of the transport's kind."""
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
                reason = f"the interop runner's contract does not tell {self.stack.name} any"
                remedy = "drop it, or set it in the levels of the other transports"
                raise KeyValueError(key, value, reason, remedy)
        return self

    @model_validator(mode="after")
    def _refuse_what_the_stack_lacks(self) -> Self:
        known = self.traits.congestion_controls
        client = None if self.stack is None else self.stack.client
        if client is not None and self.congestion not in (None, *client.congestion):
            reason = f"{client.name}, at the client's end, has no congestion control of this name"
            remedy = "drop it: each end then has its own default"
            raise KeyValueError("congestion", self.congestion, reason, remedy)
        if self.congestion is not None and self.has_own_congestion:
            self._refuse_impossible_own_congestion(self.congestion)
        elif self.congestion is not None and self.congestion not in known:
            raise KeyValueError(
                "congestion",
                self.congestion,
                f"{self.kind} has no congestion control of this name",
                f"{self.kind} knows {', '.join(known)}; give each transport its own in"
                f" [transport.{self.kind}]; one that a kernel was built with is own:NAME",
            )
        window_packets = self.initial_window_packets
        if window_packets is not None and self.traits.fixed_initial_window is not None:
            raise KeyValueError(
                "initial_window", window_packets, self.traits.fixed_initial_window, PER_TRANSPORT
            )
        least_packets = self.traits.least_initial_window_packets
        if window_packets is not None and window_packets < least_packets:
            reason = self.traits.initial_window_reason
            remedy = f"choose {least_packets} or more, or {PER_TRANSPORT}"
            raise KeyValueError("initial_window", window_packets, reason, remedy)
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

    def _refuse_impossible_own_congestion(self, name: str) -> None:
        if not self.traits.runs_over_tcp or self.model != "kernel":
            reason = "a congestion control of one's own is built into a kernel, for its TCP"
            remedy = f"give each transport its own in [transport.{self.kind}]"
            raise KeyValueError("congestion", name, reason, remedy)
        if not OWN_NAME.fullmatch(self.resolved_congestion):
            remedy = "such as own:mine: small letters, digits and _, at most 15"
            raise KeyValueError("congestion", name, "no name of a congestion control", remedy)

    @model_validator(mode="after")
    def _refuse_options_of_another_protocol(self) -> Self:
        given = [key for key in _OWN_KEYS if getattr(self, key) is not None]
        for name in (*given, *self.own_options):
            if self.kind not in owners(name):
                key = OWN_OPTIONS[name].key if name in OWN_OPTIONS else name
                remedy = f"set it per transport, such as in [transport.{owners(name)[0]}]"
                raise KeyValueError(key, None, f"{self.kind} has no such option", remedy)
        missing = self.traits.missing_resume.get(self.resume)
        if missing is not None:
            remedy = f"{missing.hint}set it per transport, such as in [transport.tls]"
            raise KeyValueError("resume", self.resume, missing.reason, remedy)
        return self

    @model_validator(mode="after")
    def _refuse_impossible_reconnections(self) -> Self:
        missing = self.traits.missing_reconnect.get(self.resolved_reconnect)
        if missing is not None:
            remedy = (
                "set it per transport, such as in [transport.quic], or in the levels of transport:"
                ' { kind = "quic", reconnect = "migrate", label = "quic-migrate" }'
            )
            raise KeyValueError("reconnect", self.reconnect, missing.reason, remedy)
        return self

    @model_validator(mode="after")
    def _refuse_impossible_timers(self) -> Self:
        least_ns = self.resolved_tcp.tcp_rto_min_ns
        if least_ns is not None and (least_ns % GUEST_TICK_NS or not 0 < least_ns <= RTO_MAX_NS):
            reason = "a guest's kernel counts it in ticks of 10ms, up to the longest time-out, 120s"
            remedy = "choose a multiple of 10ms, such as 50ms"
            raise KeyValueError(OWN_OPTIONS["tcp_rto_min_ns"].key, None, reason, remedy)
        sctp = self.resolved_sctp
        for name in ("rto_initial_ns", "rto_min_ns", "rto_max_ns"):
            value_ns = getattr(sctp, name)
            if value_ns == 0 or value_ns % GUEST_TICK_NS:
                reason = "a guest's kernel counts it in ticks of 10ms"
                remedy = "choose a multiple of 10ms, such as 200ms"
                raise KeyValueError(OWN_OPTIONS[name].key, None, reason, remedy)
        if not sctp.rto_min_ns <= sctp.rto_initial_ns <= sctp.rto_max_ns:
            asked = (name for name in ("rto_initial_ns", "rto_min_ns") if name in self.own_options)
            key = OWN_OPTIONS[next(asked, "rto_max_ns")].key
            reason = "rto_initial must lie between rto_min and rto_max"
            raise KeyValueError(key, None, reason, "the defaults are 3s, 1s and 60s")
        return self

    @model_validator(mode="after")
    def _refuse_impossible_reliability(self) -> Self:
        sctp = self.resolved_sctp
        lifetime_ns = sctp.message_lifetime_ns
        if lifetime_ns is not None and (lifetime_ns == 0 or lifetime_ns % GUEST_TICK_NS):
            reason = "a guest's kernel counts it in ticks of 10ms"
            remedy = "choose a multiple of 10ms, such as 100ms"
            raise KeyValueError("message_lifetime", None, reason, remedy)
        if lifetime_ns is not None and sctp.max_retransmissions is not None:
            raise KeyValueError(
                "max_retransmissions",
                sctp.max_retransmissions,
                "a message has one policy of partial reliability (RFC 7496, section 4), and"
                " message_lifetime is another",
                "drop one of them",
            )
        return self

    @model_validator(mode="after")
    def _refuse_what_another_stack_does_not_do(self) -> Self:
        for name, value in self.own_options.items() if self.stack is not None else ():
            if hasattr(USUAL_QUIC, name) and value != getattr(USUAL_QUIC, name):
                reason = "netwarp asks it of its own QUIC alone"
                raise KeyValueError(OWN_OPTIONS[name].key, value, reason, "drop it, or drop stack")
        return self

    @model_validator(mode="after")
    def _refuse_sack_without_rack(self) -> Self:
        if self.resolved_tcp.recovery == "classic" and self.resolved_tcp.sack:
            # net/ipv4/tcp_input.c, tcp_identify_packet_loss.
            key = "recovery" if "recovery" in self.own_options else "sack"
            reason = "since Linux 6.17 a TCP with SACK finds its losses by RACK and nothing else"
            remedy = 'choose sack = false, or recovery = "rack"'
            raise KeyValueError(key, self.own_options[key], reason, remedy)
        return self

    @model_validator(mode="after")
    def _refuse_accurate_ecn_without_ecn(self) -> Self:
        if self.resolved_tcp.accurate_ecn and not self.ecn:
            reason = "it is a way to report marks, and no packet may be marked"
            remedy = "set transport.ecn = true, or drop it"
            raise KeyValueError("accurate_ecn", True, reason, remedy)
        return self

    @model_validator(mode="after")
    def _refuse_impossible_bursts(self) -> Self:
        packets = self.resolved_tcp.tso_packets
        if packets is not None and not 1 <= packets < 2**16:
            reason = "a device takes from 1 to 65535 packets at once"
            raise KeyValueError("tso_packets", packets, reason, "choose 1 for each by itself")
        return self

    @model_validator(mode="after")
    def _refuse_hystart_without_cubic(self) -> Self:
        hystart = self.resolved_tcp.hystart
        if hystart is None:
            return self
        if self.resolved_congestion != "cubic" or self.has_own_congestion:
            asked = self.congestion or self.resolved_congestion
            reason = (
                f"HyStart is a part of the kernel's CUBIC, and the congestion control is {asked}"
            )
            raise KeyValueError("hystart", hystart, reason, 'choose congestion = "cubic"')
        return self

    @property
    def has_own_congestion(self) -> bool:
        """Whether the congestion control is one that the user has added to a kernel."""
        return self.congestion is not None and self.congestion.startswith(OWN)

    @property
    def resolved_congestion(self) -> str:
        """The congestion control that is set, or the default one."""
        if self.congestion is not None:
            return self.congestion.removeprefix(OWN)
        if self.preset == "tcp-2008":
            return "reno"
        return self.traits.congestion_controls[0]

    def resolved_initial_window_packets(self, path: SinglePath) -> int:
        """Return the initial window in full-size packets.

        SCTP's is RFC 9260's, rounded up: its window is open until it is exceeded. Linux 2.6's TCP
        computed the same from the MSS, in whole segments (RFC 3390; tcp_init_cwnd in its
        tcp_input.c).
        """
        if self.stack is not None and self.stack.initial_window is not None:
            return self.stack.initial_window
        if self.traits.fixed_initial_window is not None:
            return -(-rfc9260_window_bytes(path.mtu_bytes) // path.mtu_bytes)
        if self.initial_window_packets is not None:
            return self.initial_window_packets
        if self.preset == "tcp-2008":
            header_bytes = self.traits.header_bytes_over(path.ip_version)
            mss_bytes = self.mss_bytes or path.mtu_bytes - header_bytes
            return max(2, min(4, 4380 // mss_bytes))
        return DEFAULT_INITIAL_WINDOW_PACKETS

    @property
    def resolved_mss_bytes(self) -> int | None:
        """The MSS in bytes that the stack is configured with. It is None if the study's is below
        the stack's minimum; then the sizes of messages are limited instead.
        """
        return None if self._has_small_messages else self.mss_bytes

    @property
    def _has_small_messages(self) -> bool:
        least_bytes = self.traits.least_fragment_bytes
        return self.mss_bytes is not None and self.mss_bytes < least_bytes

    @cached_property
    def own_options(self) -> Mapping[str, object]:
        """The options set by the study that not every transport has, by their field in the job."""
        values = {name: getattr(self, name) for name in OWN_OPTIONS}
        return {name: value for name, value in values.items() if value is not None}

    @cached_property
    def resolved_tcp(self) -> TcpOptions:
        """TCP's options: those that are set, else the preset's, else the current kernel's
        defaults.
        """
        return self._resolved(TCP_2008 if self.preset == "tcp-2008" else TODAYS_TCP)

    @cached_property
    def resolved_sctp(self) -> SctpOptions:
        """SCTP's options: those that are set, else the kernel's defaults."""
        chosen = self._resolved(USUAL_SCTP)
        if not self._has_small_messages or self.mss_bytes is None:
            return chosen
        # Each message has chunks of its own, so the size of messages bounds that of chunks.
        smallest_bytes = min(chosen.max_message_bytes, self.mss_bytes)
        return chosen.model_copy(update={"max_message_bytes": smallest_bytes})

    @cached_property
    def resolved_quic(self) -> QuicOptions:
        """QUIC's options: those that are set, else the defaults."""
        return self._resolved(USUAL_QUIC)

    def _resolved(self, usual: Group) -> Group:
        own = {name: each for name, each in self.own_options.items() if hasattr(usual, name)}
        return usual.model_copy(update=own)

    @property
    def key_of_lone_messages(self) -> str | None:
        """The first key of the study that makes the messages of a flow independent of each other,
        such as `transport.datagrams`; None if there is none.
        """
        sctp = self.resolved_sctp
        set_by = {
            "datagrams": self.resolved_quic.datagrams,
            "message_lifetime": sctp.message_lifetime_ns is not None,
            "max_retransmissions": sctp.max_retransmissions is not None,
            "unordered": sctp.unordered,
        }
        return next((key for key, is_set in set_by.items() if is_set), None)

    @property
    def resolved_reconnect(self) -> Reconnect:
        """What happens to connections when the client moves to the other path."""
        return self.reconnect or self.traits.default_reconnect

    @property
    def multiplexes(self) -> bool:
        """Whether all parts of a content use one connection."""
        several = self.traits.multiplexes == "with streams" and self.resolved_sctp.streams > 1
        return self.traits.multiplexes == "always" or several

    @property
    def uses_two_paths(self) -> bool:
        """Whether the transport uses a second path in addition to the first."""
        return self.traits.second_path == "needed" or self.resolved_sctp.multihomed
