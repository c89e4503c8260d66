"""Captures are the wire as Wireshark sees it, and say what the calibration records say."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from guest.lab import ALL, Measured, run_study, run_study_cells
from guest.tshark import CAPTURE_FILE, INTERFACES, fields
from netwarp.plan import plan_study
from netwarp.run_directory import EPOCH_NS, RECORDS_FILE
from netwarp.study import study_from_mapping
from netwarp.wire import Calibration

LOSSY = {"rtt": "40ms", "loss_down": "3%", "loss_up": "2%", "rate": "20mbit"}
# Where each direction is seen before and after its impairment.
OFFERED = {"down": "server-side-in", "up": "client-side-in"}
DELIVERED = {"down": "client-side-out", "up": "server-side-out"}


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> list[Measured]:
    return run_study_cells(tmp_path_factory.mktemp("captured"), LOSSY, capture=True)


def test_tshark_counts_what_the_kernel_counted(captured: list[Measured]) -> None:
    """Packets and bytes, headers included: what a `wire_packets` or `wire_bytes` metric means."""
    for run in captured:
        packets: Counter[str] = Counter()
        sizes: Counter[str] = Counter()
        for interface, length in fields(run.path, "frame.interface_name", "frame.len"):
            packets[interface] += 1
            sizes[interface] += int(length)
        assert set(packets) == set(INTERFACES)
        for direction in ("down", "up"):
            counted = run.calibration(direction)
            offered, delivered = OFFERED[direction], DELIVERED[direction]
            assert packets[offered] == counted.offered_packets, f"{run.transport} {direction}"
            assert sizes[offered] == counted.offered_bytes, f"{run.transport} {direction}"
            assert packets[delivered] == counted.delivered_packets, f"{run.transport} {direction}"
            assert sizes[delivered] == counted.delivered_bytes, f"{run.transport} {direction}"
            assert counted.dropped_packets > 0, f"{run.transport}: nothing was put to the test"


def test_packets_say_which_way_they_went(captured: list[Measured]) -> None:
    inbound, outbound = "0x00000001", "0x00000002"
    ways = set(fields(captured[0].path, "frame.interface_name", "frame.packet_flags"))
    assert ways == {
        ("client-side-in", inbound),
        ("client-side-out", outbound),
        ("server-side-in", inbound),
        ("server-side-out", outbound),
    }


def test_times_are_the_guests_and_show_the_delay(captured: list[Measured]) -> None:
    for run in captured:
        rows = fields(run.path, "frame.time_epoch", "frame.interface_name", "frame.len")
        times_s = [float(time) for time, _, _ in rows]
        assert times_s == sorted(times_s)
        assert 0 < times_s[0] - EPOCH_NS / 1e9 < 1
        # The first packet comes in from the client and goes out to the server a delay later, and
        # the time it takes to send it.
        _, name, length = rows[0]
        assert name == "client-side-in"
        arrived_s = next(float(time) for time, name, _ in rows if name == "server-side-out")
        expected_s = 0.020 + int(length) * 8 / 20e6
        assert arrived_s - times_s[0] == pytest.approx(expected_s, abs=2e-6)


def test_a_capture_changes_no_record(captured: list[Measured], tmp_path: Path) -> None:
    plain = run_study_cells(tmp_path, LOSSY)
    assert [run.transport for run in plain] == list(ALL)
    for with_capture, without in zip(captured, plain, strict=True):
        assert not (without.path / CAPTURE_FILE).exists()
        records = [(run.path / RECORDS_FILE).read_bytes() for run in (with_capture, without)]
        assert records[0] == records[1], without.transport


def test_the_captures_secrets_decrypt_it(captured: list[Measured]) -> None:
    """TLS 1.3's Finished (RFC 8446, 4.4.4) and QUIC's streams (RFC 9000, 19.8) are encrypted."""
    encrypted = {"tls": "tls.handshake.type == 20", "quic": "quic.stream_data"}
    for transport, only in encrypted.items():
        run = next(each for each in captured if each.transport == transport)
        assert fields(run.path, "frame.number", only=only), transport


def test_sctp_bundles_small_messages(tmp_path: Path) -> None:
    """Chunks of 256 bytes share packets up to the MTU: at most five in 1500 bytes."""
    sctp = {"kind": "sctp", "max_message": "256B", "label": "bundling"}
    (run,) = run_study_cells(
        tmp_path, {"rtt": "20ms"}, transports=[sctp], size="512kB", capture=True
    )
    data = "sctp.chunk_type == 0 && frame.interface_name == server-side-in"
    rows = fields(run.path, "sctp.data_tsn_raw", "frame.len", only=data)
    chunks = [len(tsns.split(",")) for tsns, _ in rows]
    messages = len({tsn for tsns, _ in rows for tsn in tsns.split(",")})
    assert messages == 512_000 // 256
    assert max(chunks) == (1500 - 20 - 12) // (16 + 256) == 5
    assert len(rows) < messages / 3
    assert max(int(length) for _, length in rows) <= 1514


def test_a_capture_that_memory_cannot_hold_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="capture a smaller workload"):
        run_study_cells(tmp_path, {"rtt": "20ms"}, transports=["tcp"], size="1GB", capture=True)


def test_a_networks_routers_are_captured_and_change_no_record(tmp_path: Path) -> None:
    """What each router forwards on each of its links is what the kernel counted there."""
    tables: dict[str, Any] = {
        "title": "guest test",
        "replicates": 1,
        "transport": {"kind": "tls"},
        "path": {"rate": "20mbit", "queue": "20p", "loss_down": "1%"},
        "topology": {"shape": "dumbbell", "rtts": ["20ms", "60ms"]},
        "workload": [
            {"kind": "bulk", "size": "500kB", "name": "flow", "from": "client", "to": "server"}
        ],
    }
    runs = []
    for more in ({}, {"capture": "pcap"}):
        study = study_from_mapping(tables | more)
        runs += run_study(plan_study(study), tmp_path / f"{bool(more)}", jobs=1)
    plain, captured = runs
    assert captured.status.outcome == "ok", captured.status.reason
    assert captured.records == plain.records
    packets = Counter(name for (name,) in fields(captured.path, "frame.interface_name"))
    network = captured.planned.job.network
    assert network is not None
    expected: dict[str, int] = {}
    for record in captured.records:
        if isinstance(record, Calibration):
            link = network.links[record.path]
            forth = record.direction == "up"
            sender, receiver = (link.first, link.second) if forth else (link.second, link.first)
            if sender in network.routers:
                expected[f"{sender}-to-{receiver}"] = record.delivered_packets
    assert {name: count for name, count in packets.items() if "-to-" in name} == expected
    assert any("-from-client1" in name for name in packets)
    assert fields(captured.path, "tls.handshake.type", only="tls.handshake.type == 20"), "no keys"
