"""Zero bytes behind the last QUIC packet of a datagram are left out before tshark reads it."""

from __future__ import annotations

import struct

import pytest

from netwarp.interop.padding import padding_bytes, without_padding

CID = bytes.fromhex("08 c74902f64a196e5b 08 ec0220541bfb7c2b")


def long(kind: int, content: bytes, *, version: int = 1, token: bytes | None = None) -> bytes:
    """Make a packet with a long header, whose length has two bytes."""
    between = b"" if token is None else bytes([len(token)]) + token
    head = bytes([0xC0 | kind << 4]) + struct.pack(">I", version) + CID + between
    return head + struct.pack(">H", 0x4000 | len(content)) + content


INITIAL = long(0, b"\x17" * 300, token=b"")
WITH_TOKEN = long(0, b"\x17" * 40, token=b"abc")
HANDSHAKE = long(2, b"\x23" * 200 + bytes(9))
SHORT = b"\x40" + bytes(30)
INITIAL_V2 = long(1, b"\x17" * 30, version=0x6B3343CF, token=b"")


@pytest.mark.parametrize(
    ("payload", "padding"),
    [
        (INITIAL, 0),
        (INITIAL + bytes(700), 700),
        (INITIAL + HANDSHAKE + bytes(3), 3),
        (WITH_TOKEN + HANDSHAKE, 0),
        (WITH_TOKEN + bytes(60), 60),
        (INITIAL_V2 + bytes(21), 21),
        (INITIAL + HANDSHAKE + SHORT, 0),
        (INITIAL + SHORT + bytes(5), 0),
        (SHORT, 0),
        (bytes(50), 0),
        (INITIAL[:12], 0),
        (long(3, b"token", version=1) + bytes(4), 0),
        (long(0, b"", version=0, token=b"") + bytes(4), 0),
        (b"", 0),
    ],
)
def test_only_zero_bytes_behind_packets_with_long_headers_are_padding(
    payload: bytes, padding: int
) -> None:
    assert padding_bytes(payload) == padding


@pytest.mark.parametrize("is_ipv6", [False, True])
def test_lengths_of_ip_and_udp_leave_the_padding_out(is_ipv6: bool) -> None:
    def frame(udp_bytes: int, payload: bytes) -> bytes:
        udp = struct.pack(">HHHH", 443, 443, udp_bytes, 0) + payload
        if is_ipv6:
            ip = struct.pack(">IHBB", 0x6 << 28, udp_bytes, 17, 64) + bytes(32)
            return bytes(12) + b"\x86\xdd" + ip + udp
        ip = struct.pack(">BBHHHBBH", 0x45, 0, udp_bytes + 20, 0, 0, 64, 17, 0) + bytes(8)
        return bytes(12) + b"\x08\x00" + ip + udp

    padded = INITIAL + bytes(100)
    assert without_padding(frame(8 + len(padded), padded)) == frame(8 + len(INITIAL), padded)
    whole = frame(8 + len(INITIAL), INITIAL)
    assert without_padding(whole) == whole


def test_other_frames_stay_as_they_are() -> None:
    arp = bytes(12) + b"\x08\x06" + bytes(28)
    assert without_padding(arp) == arp
