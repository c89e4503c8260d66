"""The scripts that repeat what docs/findings.md tells: what they make of a test and of packets."""

from __future__ import annotations

import struct

import pytest

from mptcp_packets import packets
from simult_flows import NAMES, RATES_BIT_S, SENDER, case_nine
from window_stands import Paths, followed, stood_ms

SCRIPT = """\
run_test()
{
\tdo_transfer $small $large $time
\tmsg+=" - reverse direction"
\tdo_transfer $large $small $time
}

setup
run_test 10 10 0 0  20 20 "balanced bwidth"
run_test 10 3 25 1 50 30 "unbalanced bwidth"

exit $ret
"""
TOWARDS_SENDER = 4


def test_case_nine_is_the_script_without_other_cases_and_without_the_way_back() -> None:
    made = case_nine(SCRIPT)
    assert made.count("run_test ") == 1
    assert 'run_test 10 3 25 1 50 30 "case nine"' in made
    assert "do_transfer $large" not in made
    assert "do_transfer $small $large $time\n}\n" in made
    assert made.endswith("\n\nexit $ret\n")
    with pytest.raises(SystemExit, match="not written as in Linux"):
        case_nine("exit 0\n")


def packet(
    ms: float, interface: int, direction: int, source: str, destination: str, payload: int = 0,
    window: int = 0, options: bytes = b"", *, is_syn: bool = False,
) -> bytes:  # fmt: skip
    """Write a packet down as `packet_heads.c` does."""
    options += b"\x01" * (-len(options) % 4)
    tcp = struct.pack(
        ">HHIIBBHHH", 1, 2, 0, 0, (20 + len(options)) // 4 << 4, is_syn << 1, window, 0, 0
    )
    length = 20 + len(tcp) + len(options) + payload
    addresses = bytes(map(int, source.split("."))) + bytes(map(int, destination.split(".")))
    ip = struct.pack(">BBHHHBBH", 0x45, 0, length, 0, 0, 64, 6, 0) + addresses
    frame = b"\0" * 12 + b"\x08\x00" + ip + tcp + options
    head = struct.pack("<QHBBI", int(ms * 1e6), interface, direction, 0, 14 + length)
    return head + frame.ljust(96, b"\0")


def data(ms: float, interface: int, direction: int, sequence: int, payload: int) -> bytes:
    option = bytes([30, 14, 0x20, 0x04]) + struct.pack(">IIH", sequence, 0, payload)
    return packet(ms, interface, direction, SENDER, "10.0.1.1", payload, 0, option)


def acked(ms: float, data_ack: int, window: int) -> bytes:
    option = bytes([30, 8, 0x20, 0x01]) + struct.pack(">I", data_ack)
    return packet(ms, TOWARDS_SENDER, 4, "10.0.1.1", SENDER, 0, window, option)


def test_the_edge_is_followed_with_what_is_sent_beyond_it() -> None:
    scale = bytes([3, 3, 2])
    written = [
        packet(0, TOWARDS_SENDER, 4, "10.0.1.1", SENDER, options=scale, is_syn=True),
        data(10, TOWARDS_SENDER, 0, 5000, 1000),
        acked(400, 6000, 500),
        data(410, TOWARDS_SENDER, 0, 6000, 2000),
        data(420, TOWARDS_SENDER, 0, 8000, 1000),
        acked(900, 8000, 500),
        # The first of its path at 10 Mbit/s; a packet of 1054 bytes needs 0.84 ms of the rest.
        data(910, 2, 4, 6000, 1000),
        data(960, 2, 4, 8000, 1000),
    ]
    paths = Paths(NAMES, RATES_BIT_S, SENDER, TOWARDS_SENDER)
    found = followed(packets(b"".join(written)), paths)
    # Acknowledged are 1000 bytes, the window is 500 << 2: what ends behind 3000 is beyond it.
    assert found.lines == [
        (0.4, "fast: edge 3000 = data-ack 1000 + 2000"),
        (0.42, "fast: data to 4000, 1000 beyond the edge"),
        (0.9, "fast: edge 5000 = data-ack 3000 + 2000"),
    ]
    assert found.beyond == 1
    assert found.data_ack_stood == pytest.approx((0.5, 0.4))
    on_the_wire_bytes = 14 + 20 + 20 + 16 + 1000
    assert stood_ms(found.stands["fast"]) == pytest.approx(50 - on_the_wire_bytes * 8 / 10e6 * 1e3)
    assert stood_ms(found.stands["fast"], 0.5) == 0
