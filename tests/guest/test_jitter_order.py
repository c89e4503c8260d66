"""Delays that vary: in order, and with the distribution that the closed form gives."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import norm

from closed_form import in_order_share, uniform_share
from guest.lab import Measured, run_study_cells

PACKETS = 100_000
MEAN_S, SPREAD_S = 10e-3, 2e-3
VARIED = {"delay": "10ms", "jitter": "2ms"}
BOUND = 0.01
"""Largest difference between the shares of delays up to any length, measured and expected. A
sample of 100 000 independent delays is within 0.0043 with a probability of 95 % (Kolmogorov)."""


def flowed(place: Path, path: dict[str, Any], **keys: Any) -> Measured:
    """Carry out a flow of small datagrams, and keep the table of its packets."""
    flow: dict[str, Any] = {"kind": "flow", "payload": "100B", "interval": "5ms", "count": PACKETS}
    flow |= {"packet_table": True} | keys
    (run,) = run_study_cells(place, path, transports=["udp"], **flow)
    return run


def packets(run: Measured) -> list[tuple[int, float]]:
    """Give the number and the delay in s of each packet, in the order in which they arrived."""
    with (run.path / "packets.csv").open() as file:
        return [
            (int(row["number"]), (int(row["received_ns"]) - int(row["sent_ns"])) / 1e9)
            for row in csv.DictReader(file)
        ]


def overtaken(found: Sequence[tuple[int, float]]) -> int:
    """Count the packets that arrived before the one sent before them."""
    return sum(after < before for (before, _), (after, _) in pairwise(found))


def largest_difference(delays_s: Sequence[float], share: Callable[[float], float]) -> float:
    """Give Kolmogorov's distance of the delays from a distribution."""
    count = len(delays_s)
    found = enumerate(sorted(delays_s))
    return max(
        max(abs(share(delay_s) - rank / count), abs(share(delay_s) - (rank + 1) / count))
        for rank, delay_s in found
    )


def uniform(delay_s: float) -> float:
    return uniform_share(delay_s, mean_s=MEAN_S, spread_s=SPREAD_S)


def normal(delay_s: float) -> float:
    return float(norm.cdf(delay_s, MEAN_S, SPREAD_S))


def test_packets_far_apart_have_the_delays_that_were_asked_for(tmp_path: Path) -> None:
    found = packets(flowed(tmp_path, VARIED))
    assert [number for number, _ in found] == list(range(PACKETS))
    assert largest_difference([delay_s for _, delay_s in found], uniform) < BOUND


def test_so_they_have_where_the_delay_is_normal(tmp_path: Path) -> None:
    found = packets(flowed(tmp_path, VARIED | {"distribution": "normal"}, interval="20ms"))
    assert overtaken(found) == 0
    assert largest_difference([delay_s for _, delay_s in found], normal) < BOUND


@pytest.mark.parametrize("interval_s", [1e-3, 0.2e-3])
def test_packets_close_together_wait_for_those_before_them(
    tmp_path: Path, interval_s: float
) -> None:
    found = packets(flowed(tmp_path, VARIED, interval=f"{round(interval_s * 1e6)}us"))
    assert [number for number, _ in found] == list(range(PACKETS))

    def expected(delay_s: float) -> float:
        return in_order_share(delay_s, mean_s=MEAN_S, spread_s=SPREAD_S, interval_s=interval_s)

    delays_s = [delay_s for _, delay_s in found]
    assert largest_difference(delays_s, expected) < BOUND
    assert largest_difference(delays_s, uniform) > 5 * BOUND


PLACES: dict[str, dict[str, Any]] = {
    "alone": {},
    "ipv6": {"ip": 6},
    "rate": {"rate": "100mbit"},
    "losses": {"loss": "5%", "duplicate": "2%"},
    "changing": {
        "rate": "100mbit",
        "timeline": [{"at": "100ms", "change": "rate", "rate": "50mbit", "direction": "down"}],
    },
    **{
        kind: {"rate": "100mbit", "discipline": kind}
        for kind in ("codel", "fq_codel", "cake", "red")
    },
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("direction", ["down", "up"])
def test_no_packet_overtakes(tmp_path: Path, place: str, direction: str) -> None:
    keys: dict[str, Any] = {"count": 5000, "interval": "100us", "direction": direction}
    keys["packet_table"] = direction == "down"
    run = flowed(tmp_path, VARIED | PLACES[place], **keys)
    assert run.metrics["reordered_packets"] == 0
    if direction == "down":
        assert overtaken(packets(run)) == 0


@pytest.mark.parametrize("discipline", [None, "fq_codel"])
def test_packets_overtake_where_they_may(tmp_path: Path, discipline: str | None) -> None:
    """Otherwise the tests above would show nothing."""
    path = VARIED | {"jitter_order": "free"}
    if discipline is not None:
        path |= {"rate": "100mbit", "discipline": discipline}
    run = flowed(tmp_path, path, count=5000, interval="100us")
    assert run.metrics["reordered_packets"] > 1000
    assert overtaken(packets(run)) > 1000


SHORTER: dict[str, dict[str, Any]] = {
    "timeline": {"rtt": "200ms", "timeline": [{"at": "200ms", "change": "delay", "rtt": "20ms"}]},
    "redraw": {"redraw": {"mean": "200ms", "deviation": "60ms", "period": "100ms"}},
}


@pytest.mark.parametrize("change", SHORTER)
def test_no_packet_overtakes_at_a_rate_when_the_delay_becomes_shorter(
    tmp_path: Path, change: str
) -> None:
    places = {
        "rate": {"rate": "5mbit", "queue": "200p"},
        "bytes": {"rate": "5mbit", "queue": "50kB"},
        "codel": {"rate": "5mbit", "discipline": "codel"},
    }
    for place, path in places.items():
        run = flowed(tmp_path / place, SHORTER[change] | path, count=500, interval="1ms")
        assert overtaken(packets(run)) == 0, place
    run = flowed(tmp_path / "unlimited", SHORTER[change], count=500, interval="1ms")
    assert overtaken(packets(run)) > 0, "otherwise the rest would show nothing"
