"""Cold neighbours: the router's own ARP packets are counted apart, and all packets add up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from guest.lab import ALL, Measured, run_study, run_study_cells
from netwarp.plan import plan_study
from netwarp.study import study_from_mapping

PATHS: dict[str, dict[str, Any]] = {
    "plain": {"rtt": "20ms"},
    "with a rate": {"rtt": "20ms", "rate": "10mbit"},
    "with a discipline": {"rtt": "20ms", "rate": "10mbit", "discipline": "fq_codel"},
    "with loss": {"rtt": "20ms", "rate": "10mbit", "loss": "5%", "loss_up": "5%"},
    "with loss by number": {"rtt": "20ms", "loss": "every 10"},
    "with overtaking": {"rtt": "20ms", "rate": "10mbit", "reorder": "10%"},
}
"""Paths whose routers keep the rate by netem, by a shaper or not at all."""


def carried_out(place: Path, path: dict[str, Any], **keys: Any) -> list[Measured]:
    return run_study_cells(place, {"neighbours": "cold", **path}, **keys or {"size": "20kB"})


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS.keys())
def test_all_packets_add_up(tmp_path: Path, path: dict[str, Any]) -> None:
    for run in carried_out(tmp_path, path):
        for way in ("down", "up"):
            counted = run.calibration(way)
            found = counted.delivered_packets + counted.dropped_packets + counted.left_packets
            assert counted.offered_packets == found + counted.unresolved_packets, counted
            # Each router asks for both hosts, or answers both, and may do so again.
            assert 1 <= counted.arp_packets <= 8, counted


def test_arp_packets_are_bytes_of_what_is_offered(tmp_path: Path) -> None:
    """Without a loss, and without a packet that waits in vain, as many bytes arrive as went in."""
    flow = {"kind": "flow", "payload": "200B", "interval": "100ms", "count": 10}
    (run,) = carried_out(tmp_path, PATHS["plain"], transports=["udp"], **flow)
    for way in ("down", "up"):
        counted = run.calibration(way)
        assert (counted.unresolved_packets, counted.left_packets) == (0, 0)
        assert counted.offered_packets == counted.delivered_packets
        assert counted.offered_bytes == counted.delivered_bytes


def test_packets_that_wait_in_vain_are_told(tmp_path: Path) -> None:
    """Ten datagrams come while the router asks for the server, and it keeps three."""
    flow = {"kind": "flow", "payload": "200B", "interval": "1ms", "count": 100, "direction": "up"}
    (run,) = carried_out(tmp_path, {"delay": "10ms"}, transports=["udp"], **flow)
    counted = run.calibration("up")
    assert counted.unresolved_packets >= 7
    assert counted.offered_packets - counted.unresolved_packets == counted.delivered_packets


def test_what_the_router_answers_for_an_address_of_nobody_adds_up(tmp_path: Path) -> None:
    """Everything to the server is lost, ARP included: the router tells the client so (ICMP)."""
    path = {"rtt": "20ms", "neighbours": "cold", "loss_up": "100%"}
    study = {"title": "t", "replicates": 1, "path": path, "transport": {"kind": "tcp"}}
    planned = plan_study(study_from_mapping(study | {"workload": {"size": "1kB"}}))
    (run,) = run_study(planned, tmp_path)
    assert run.status.outcome == "ok", run.status.reason
    down, up = run.calibration("down"), run.calibration("up")
    assert down.offered_packets == down.delivered_packets > down.arp_packets
    assert down.offered_bytes is None
    assert up.unresolved_packets > 0
    assert up.offered_packets == up.dropped_packets + up.unresolved_packets


def test_warm_neighbours_have_no_arp(tmp_path: Path) -> None:
    for run in carried_out(tmp_path, {"rtt": "20ms", "neighbours": "warm"}, transports=ALL):
        records = (run.path / "records.jsonl").read_text()
        assert "arp_packets" not in records
        assert "unresolved_packets" not in records
