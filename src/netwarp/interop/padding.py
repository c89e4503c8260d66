"""Zero bytes after the last QUIC packet of a datagram (padding).

An end may pad a datagram with them to 1200 bytes (RFC 9000, 14.1 and 12.2: a receiver drops what it
cannot read). tshark 4.0 reads them as a packet with a short header and another key phase, changes
to the next keys, and decrypts no further packet of that end.
"""

from __future__ import annotations

_ETHERNET_BYTES, _IPV6_BYTES, _UDP_BYTES = 14, 40, 8
_IPV4_TYPE, _IPV6_TYPE = b"\x08\x00", b"\x86\xdd"
_UDP = 17
_INITIAL = {1: 0, 0x6B3343CF: 1}
_RETRY = {1: 3, 0x6B3343CF: 0}


def without_padding(frame: bytes) -> bytes:
    """Return an Ethernet frame whose IP and UDP lengths leave out zero bytes after the last QUIC
    packet of its datagram; any other frame unchanged. No byte of the frame is removed.
    """
    found = _udp_at(frame)
    if found is None:
        return frame
    ip_at, udp_at = found
    udp_bytes = int.from_bytes(frame[udp_at + 4 : udp_at + 6], "big")
    excess = padding_bytes(frame[udp_at + _UDP_BYTES : udp_at + udp_bytes])
    if excess == 0:
        return frame
    changed = bytearray(frame)
    length_at = ip_at + (2 if frame[12:14] == _IPV4_TYPE else 4)
    for at in (length_at, udp_at + 4):
        shorter = int.from_bytes(frame[at : at + 2], "big") - excess
        changed[at : at + 2] = shorter.to_bytes(2, "big")
    return bytes(changed)


def padding_bytes(payload: bytes) -> int:
    """Return how many bytes follow the last QUIC packet of a datagram, if all of them are zero and
    the packets before have long headers of version 1 or 2 (RFC 9000, 17.2; RFC 9369); else 0.
    """
    at = 0
    while at < len(payload) and payload[at] & 0x80:
        end = _end_of_long(payload, at)
        if end is None:
            return 0
        at = end
    is_padding = 0 < at < len(payload) and not any(payload[at:])
    return len(payload) - at if is_padding else 0


def _end_of_long(payload: bytes, at: int) -> int | None:
    """Return the offset at which a packet with a long header ends; None if its header does not
    determine that.
    """
    version = int.from_bytes(payload[at + 1 : at + 5], "big")
    kind = payload[at] >> 4 & 3
    if version not in _INITIAL or kind == _RETRY[version]:
        return None
    try:
        at += 5
        for _ in ("destination", "source"):
            at += 1 + payload[at]
        if kind == _INITIAL[version]:
            token_bytes, at = _varint(payload, at)
            at += token_bytes
        length, at = _varint(payload, at)
    except IndexError:
        return None
    return at + length


def _varint(payload: bytes, at: int) -> tuple[int, int]:
    """Return a variable-length integer, and the offset at which it ends (RFC 9000, 16)."""
    size = 1 << (payload[at] >> 6)
    value = int.from_bytes(payload[at : at + size], "big")
    return value & ((1 << (8 * size - 2)) - 1), at + size


def _udp_at(frame: bytes) -> tuple[int, int] | None:
    """Return the offsets of a frame's IP and UDP headers; None if it has none."""
    kind, ip_at = frame[12:14], _ETHERNET_BYTES
    if kind == _IPV4_TYPE and frame[ip_at + 9] == _UDP:
        return ip_at, ip_at + 4 * (frame[ip_at] & 0x0F)
    if kind == _IPV6_TYPE and frame[ip_at + 6] == _UDP:
        return ip_at, ip_at + _IPV6_BYTES
    return None
