"""Packets that are released together: when each arrives, against the closed form."""

from __future__ import annotations

import csv
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from guest.lab import Measured, run_study_cells

DELAY_NS, AGGREGATE_NS = 10_000_000, 1_000_000
COLLECTED = {"delay": "10ms", "aggregate": "1ms"}
CLOCK_NS = 5_000
"""What reading clocks adds, 256 ns each time, for all packets of a release."""


def flowed(place: Path, path: dict[str, Any], **keys: Any) -> Measured:
    """Carry out a flow of small datagrams."""
    flow: dict[str, Any] = {"kind": "flow", "payload": "100B", "interval": "300us", "count": 3000}
    flow |= {"packet_table": keys.get("direction", "down") == "down"} | keys
    (run,) = run_study_cells(place, path, transports=["udp"], **flow)
    return run


def packets(run: Measured) -> list[tuple[int, int, int]]:
    """Give the number of each packet, when it was sent, and when it arrived, in ns."""
    with (run.path / "packets.csv").open() as file:
        return [
            (int(row["number"]), int(row["sent_ns"]), int(row["received_ns"]))
            for row in csv.DictReader(file)
        ]


def waits_ns(interval_ns: int, count: int) -> list[int]:
    """Give for how long each packet is held: until the timer of the first of its release ends."""
    together = AGGREGATE_NS // interval_ns + 1
    return [AGGREGATE_NS - (number % together) * interval_ns for number in range(count)]


@pytest.mark.parametrize("interval_us", [70, 300, 990, 1500, 20_000])
def test_packets_wait_for_the_timer_of_the_first(tmp_path: Path, interval_us: int) -> None:
    found = packets(flowed(tmp_path, COLLECTED, interval=f"{interval_us}us", count=2000))
    assert [number for number, _, _ in found] == list(range(2000))
    expected_ns = waits_ns(interval_us * 1000, 2000)
    for (number, sent_ns, received_ns), wait_ns in zip(found, expected_ns, strict=True):
        assert received_ns - sent_ns == pytest.approx(DELAY_NS + wait_ns, abs=CLOCK_NS), number


PLACES: dict[str, dict[str, Any]] = {
    "alone": {},
    "ipv6": {"ip": 6},
    "jitter": {"jitter": "2ms"},
    "loss": {"loss": "5%"},
    "rate": {"rate": "20mbit"},
    "changing": {
        "rate": "20mbit",
        "timeline": [{"at": "100ms", "change": "rate", "rate": "10mbit", "direction": "down"}],
    },
    **{kind: {"rate": "20mbit", "discipline": kind} for kind in ("fq_codel", "cake", "dualpi2")},
}


@pytest.mark.parametrize("place", PLACES)
def test_releases_are_a_timer_apart_wherever_they_are(tmp_path: Path, place: str) -> None:
    found = packets(flowed(tmp_path, COLLECTED | PLACES[place]))
    arrived_ns = [received_ns for _, _, received_ns in found]
    gaps_ns = [after - before for before, after in pairwise(arrived_ns)]
    assert not [gap for gap in gaps_ns if CLOCK_NS < gap < AGGREGATE_NS - CLOCK_NS]
    assert sum(gap > CLOCK_NS for gap in gaps_ns) < len(gaps_ns) / 2
    assert sorted(found) == found


@pytest.mark.parametrize("direction", ["down", "up"])
def test_each_direction_has_its_own(tmp_path: Path, direction: str) -> None:
    path = {"delay": "10ms", f"aggregate_{direction}": "1ms"}
    for sent in ("down", "up"):
        run = flowed(tmp_path / sent, path, direction=sent, interval="20ms", count=50)
        expected_s = (DELAY_NS + (AGGREGATE_NS if sent == direction else 0)) / 1e9
        assert run.metrics["delay_s_max"] == pytest.approx(expected_s, abs=CLOCK_NS / 1e9)
        assert run.metrics["path_min_rtt_s"] == pytest.approx(0.021, abs=1e-5)


@pytest.mark.parametrize("aggregate", ["1us", "250us", "4ms", "1s", "10s"])
def test_every_transport_arrives(tmp_path: Path, aggregate: str) -> None:
    path = {"rtt": "20ms", "rate": "20mbit", "loss": "1%", "aggregate": aggregate}
    for run in run_study_cells(tmp_path, path, size="200kB"):
        assert run.metrics["completion_time_s"] > 0, run.transport
