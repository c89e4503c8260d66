"""Packets that are lost by number are those numbers, no others, and the counters say so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from guest.lab import run_study_cells
from guest.tshark import fields
from netwarp.wire import QueueSamples

TRANSPORTS = ("tcp", "tls", "sctp", "quic", "udp")
PATHS: dict[str, dict[str, Any]] = {
    "unlimited": {"rtt": "20ms"},
    "rate": {"rtt": "20ms", "rate": "20mbit"},
    "shaper": {"rtt": "20ms", "rate": "20mbit", "discipline": "fq_codel"},
}


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_every_nth_packet_of_each_direction_is_lost(
    tmp_path: Path, path: dict[str, Any], transport: str
) -> None:
    asked = path | {"loss": "every 50", "loss_up": "every 33"}
    workload: dict[str, Any] = (
        {"kind": "flow", "interval": "1ms", "count": 500} if transport == "udp" else {}
    )
    (run,) = run_study_cells(tmp_path, asked, transports=[transport], **workload)
    for direction, every in (("down", 50), ("up", 33)):
        counted = run.calibration(direction)
        assert counted.lost_packets == counted.offered_packets // every, direction
        assert counted.dropped_packets >= counted.offered_packets // every
    assert run.calibration("down").offered_packets >= 9 * 50


def test_a_list_names_the_packets_that_are_lost(tmp_path: Path) -> None:
    asked = {"rtt": "20ms", "loss": "packets 5 9 20 100000"}
    (run,) = run_study_cells(tmp_path, asked, transports=["tcp"], capture=True)
    # Linux numbers the packets of a TCP connection in their IP headers, the SYN-ACK but for.
    rows = fields(run.path, "frame.interface_name", "ip.id")
    delivered = {number for name, number in rows if name == "client-side-out"}
    offered = [number for name, number in rows if name == "server-side-in"]
    lost = [place for place, number in enumerate(offered, 1) if number not in delivered]
    assert lost == [5, 9, 20]
    assert run.calibration("down").lost_packets == 3


def test_what_is_lost_by_number_repeats_with_every_seed(tmp_path: Path) -> None:
    asked = {"rtt": "20ms", "loss": "every 40"}
    runs = run_study_cells(tmp_path, asked, transports=["tcp"], replicates=3)
    assert len({run.metrics["completion_time_s"] for run in runs}) == 1
    assert runs[0].planned.random == ()


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
def test_samples_count_what_is_lost_by_number_as_it_is_lost(
    tmp_path: Path, path: dict[str, Any]
) -> None:
    asked = path | {"loss": "packets 50 60"}
    (run,) = run_study_cells(tmp_path, asked, transports=["tcp"])
    (samples,) = (
        each for each in run.records if isinstance(each, QueueSamples) and each.direction == "down"
    )
    dropped = run.calibration("down").dropped_packets
    assert samples.dropped_packets[0] == 0
    assert samples.dropped_packets[-1] == dropped >= 2
