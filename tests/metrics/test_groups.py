"""Metrics of workloads that a study names together."""

from __future__ import annotations

import pytest

from netwarp.metrics import METRICS
from netwarp.metrics.groups import metrics_of_group


def test_counts_are_added_up_and_other_metrics_are_means() -> None:
    members = [
        {"goodput_bit_s": 1e6, "retransmitted_packets": 3.0},
        {"goodput_bit_s": 3e6, "retransmitted_packets": 4.0},
    ]
    found = metrics_of_group(METRICS, members)
    assert found == {"goodput_bit_s": 2e6, "retransmitted_packets": 7.0}


def test_what_one_member_does_not_determine_is_missing() -> None:
    members: list[dict[str, float | None]] = [{"completion_time_s": 1.0}, {}]
    assert metrics_of_group(METRICS, members) == {"completion_time_s": None}


def test_quantiles_are_completion_times_that_so_many_do_not_exceed() -> None:
    members = [{"completion_time_s": float(number)} for number in range(200, 0, -1)]
    found = metrics_of_group(METRICS, members)
    quantiles = [found[f"completion_time_s_{name}"] for name in ("p50", "p95", "p99", "max")]
    assert quantiles == [100, 190, 198, 200]
    assert found["completion_time_s"] == pytest.approx(100.5)
