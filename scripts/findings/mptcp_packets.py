"""Reads packets of MPTCP that `packet_heads.c` has written down."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

HEAD_BYTES = 96
_RECORD = struct.Struct(f"<QHBBI{HEAD_BYTES}s")
_OUTGOING = 4
"""PACKET_OUTGOING of <linux/if_packet.h>."""
_ETHERNET_BYTES = 14
_SYN = 0x02
_WINDOW_SCALE, _MPTCP, _DSS = 3, 30, 2
"""Kinds of TCP's options, and MPTCP's subtype of data sequence signals (RFC 8684)."""


@dataclass(frozen=True)
class Packet:
    """A packet of TCP over IPv4."""

    time_s: float
    """Since the first packet."""
    interface: int
    is_outgoing: bool
    wire_bytes: int
    source: str
    destination: str
    sequence: int
    is_syn: bool
    window: int
    """As it is written, without its scale."""
    payload_bytes: int
    scale: int | None
    """Window scale of a SYN, where it has one."""
    data_ack: int | None
    """Low 32 bits of MPTCP's data acknowledgement."""
    data_sequence: int | None
    """Low 32 bits of MPTCP's data sequence number."""


def packets(written: bytes) -> Iterator[Packet]:
    """Read the packets of TCP, in the order in which they were seen."""
    first_ns: int | None = None
    for ns, interface, direction, _, wire_bytes, head in _RECORD.iter_unpack(written):
        if head[12:14] != b"\x08\x00" or head[23] != 6:
            continue
        first_ns = ns if first_ns is None else first_ns
        ip = head[_ETHERNET_BYTES:]
        ip_bytes = (ip[0] & 15) * 4
        tcp = ip[ip_bytes:]
        sequence, tcp_bytes = int.from_bytes(tcp[4:8], "big"), (tcp[12] >> 4) * 4
        scale, data_ack, data_sequence = _options(tcp[20:tcp_bytes])
        yield Packet(
            (ns - first_ns) / 1e9, interface, direction == _OUTGOING, wire_bytes,
            ".".join(map(str, ip[12:16])), ".".join(map(str, ip[16:20])),
            sequence, bool(tcp[13] & _SYN), int.from_bytes(tcp[14:16], "big"),
            int.from_bytes(ip[2:4], "big") - ip_bytes - tcp_bytes, scale, data_ack, data_sequence,
        )  # fmt: skip


def _options(options: bytes) -> tuple[int | None, int | None, int | None]:
    """Return the window scale, the data acknowledgement and the data sequence number."""
    scale = data_ack = data_sequence = None
    while options and options[0]:
        length = 1 if options[0] == 1 else max(options[1], 2) if len(options) > 1 else 1
        value = options[2:length]
        if options[0] == _WINDOW_SCALE:
            scale = value[0]
        elif options[0] == _MPTCP and value[0] >> 4 == _DSS:
            data_ack, data_sequence = _signals(value[1], value[2:])
        options = options[length:]
    return scale, data_ack, data_sequence


def _signals(flags: int, value: bytes) -> tuple[int | None, int | None]:
    """Return the data acknowledgement and the data sequence number of an option DSS."""
    data_ack = data_sequence = None
    if flags & 1:
        length = 8 if flags & 2 else 4
        data_ack, value = int.from_bytes(value[:length], "big"), value[length:]
    if flags & 4:
        data_sequence = int.from_bytes(value[: 8 if flags & 8 else 4], "big")
    low = (1 << 32) - 1
    return data_ack and data_ack & low, data_sequence and data_sequence & low
