"""The slowdown of transfers between several hosts, against closed forms."""

from __future__ import annotations

import pytest

from netwarp import wire
from netwarp.metrics import METRICS
from netwarp.metrics.groups import metrics_of_group
from netwarp.metrics.slowdown import slowdown_index
from netwarp.plan import plan_study
from netwarp.study import study_from_mapping

RATES = {"rate_up": "10mbit", "rate_down": "40mbit"}


def job(direction: str, **first: object) -> wire.Job:
    """Return the job of a transfer over two links: 10 Mbit/s up and 40 Mbit/s down, and 20 both
    ways, the second of them written from the server; 24 ms in all.
    """
    tables = {
        "title": "slowdown",
        "replicates": 1,
        "host": [{"name": "client"}, {"name": "server"}],
        "router": [{"name": "middle"}],
        "link": [
            {"between": ["client", "middle"], "rtt": "20ms", **RATES, **first},
            {"between": ["server", "middle"], "rtt": "4ms", "rate": "20mbit"},
        ],
        "transport": {"kind": "tcp"},
        "workload": [
            {"name": "flow", "kind": "bulk", "size": "1MB", "direction": direction}
            | {"from": "client", "to": "server"}
        ],
    }
    (run,) = plan_study(study_from_mapping(tables))
    return run.job


@pytest.mark.parametrize(("direction", "slowest_bit_s"), [("up", 10e6), ("down", 20e6)])
def test_a_slowdown_of_one_is_a_round_trip_and_the_bits_at_the_slowest_rate_of_their_way(
    direction: str, slowest_bit_s: float
) -> None:
    found = job(direction)
    best_s = 0.024 + 8e6 / slowest_bit_s
    assert slowdown_index(found, found.only, best_s, 8_000_000) == pytest.approx(1)
    assert slowdown_index(found, found.only, 3 * best_s, 8_000_000) == pytest.approx(3)
    assert slowdown_index(found, found.only, None, 8_000_000) is None


def test_a_rate_that_changes_has_no_best_time() -> None:
    change = {"at": "1s", "change": "rate", "rate": "1mbit"}
    found = job("down", timeline=[change])
    assert slowdown_index(found, found.only, 1.0, 8_000_000) is None
    other = job("up", timeline=[change])
    assert slowdown_index(other, other.only, 1.0, 8_000_000) is not None, "it changes down alone"


def test_a_group_has_quantiles_of_its_slowdowns() -> None:
    members = [{"slowdown_index": float(number)} for number in range(1, 201)]
    found = metrics_of_group(METRICS, members)
    assert found["slowdown_index"] == pytest.approx(100.5)
    assert [found[f"slowdown_index_{each}"] for each in ("p50", "p99", "max")] == [100, 198, 200]
