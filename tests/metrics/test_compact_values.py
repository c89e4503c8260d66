"""A run's metrics are a mapping as any other, and small where runs have the same ones."""

from __future__ import annotations

import tracemalloc

import pytest

from netwarp.measure.compact_values import CompactValues

METRICS = {"completion_time_s": 1.5, "goodput_bit_s": 2e6, "connect_time_s": 0.25}


def test_values_are_the_mapping_they_were_made_of() -> None:
    values = CompactValues(METRICS)
    assert values == METRICS
    assert list(values) == list(METRICS)
    assert values.get("stall_s") is None
    assert dict(values) | {"stall_s": 1.0} == {**METRICS, "stall_s": 1.0}
    with pytest.raises(KeyError):
        values["stall_s"]
    assert values != CompactValues({**METRICS, "connect_time_s": 0.5})
    assert CompactValues({}) == {}


def test_runs_share_their_metrics_names() -> None:
    metrics = {f"metric_{number}": float(number) for number in range(40)}
    tracemalloc.start()
    kept = [CompactValues(metrics) for _ in range(1000)]
    size_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(kept) == 1000
    assert size_bytes / 1000 < 40 * 8 + 300
