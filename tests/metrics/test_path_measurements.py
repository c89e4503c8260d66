"""What was measured around a run between two hosts, as metrics and as a mark on the run."""

from __future__ import annotations

from pathlib import Path

import pytest

from netwarp.measure.run_records import RunRecords
from netwarp.measure.two_hosts import disturbance
from netwarp.metrics.registry import METRICS
from netwarp.wire import PathMeasurement, job_from_json, read_records
from netwarp.workloads import workload_of

GOLDEN = Path(__file__).parents[1] / "golden"
JOB = job_from_json((GOLDEN / "job-bulk-quic.json").read_text())
BEFORE, IMPOSED, NOTHING = (
    record
    for record in read_records(GOLDEN / "records-remote.jsonl")
    if isinstance(record, PathMeasurement)
)


def metric(name: str, *measurements: PathMeasurement) -> float | None:
    records = RunRecords(JOB, measurements, workload_of(JOB))
    return METRICS[name].measure(records)


def test_losses_are_of_each_direction() -> None:
    assert metric("probed_loss_up", BEFORE) == pytest.approx(1 / 50)
    assert metric("probed_loss_down", BEFORE) == pytest.approx(1 / 49)
    assert metric("probed_loss_up", BEFORE, NOTHING) == pytest.approx(51 / 100)
    assert metric("probed_loss_up") is None


def test_times_and_rates_are_those_that_are_known() -> None:
    assert metric("path_min_rtt_s", BEFORE, NOTHING) == pytest.approx(121_700e-9)
    assert metric("path_median_rtt_s", BEFORE, NOTHING) == pytest.approx(167_639e-9)
    assert metric("probed_rate_up_bit_s", NOTHING, BEFORE) == 1_809_247_076
    assert metric("probed_rate_up_bit_s", NOTHING) is None
    assert metric("clock_uncertainty_s", BEFORE, NOTHING) == pytest.approx(59_764e-9)


def test_what_hosts_impose_is_no_part_of_the_network_and_no_disturbance() -> None:
    around = (BEFORE, IMPOSED, BEFORE)
    assert metric("path_imposed_rtt_s", *around) == pytest.approx(0.04)
    assert metric("path_imposed_rtt_s", BEFORE, BEFORE) is None
    assert metric("path_imposed_rtt_s", IMPOSED, NOTHING) is None
    for name in ("path_min_rtt_s", "path_median_rtt_s", "path_rtt_s_p90", "clock_uncertainty_s"):
        assert metric(name, *around) == metric(name, BEFORE, BEFORE)
    assert metric("disturbed_ratio", *around) == 0
    assert metric("client_busy_ratio", *around) == 0.5


def changed(**fields: object) -> PathMeasurement:
    return BEFORE.model_copy(update=fields)


@pytest.mark.parametrize(
    ("after", "why"),
    [
        (BEFORE, None),
        (changed(median_rtt_ns=600_000), None),  # hosts alone do that
        (changed(median_rtt_ns=900_000), "round-trip time was 0.17 ms before the run, 0.90 ms"),
        (changed(received=45), "were lost"),
        (NOTHING, "100% after it"),
    ],
)
def test_a_run_is_disturbed_when_the_path_changed(after: PathMeasurement, why: str | None) -> None:
    found = disturbance(BEFORE, after)
    assert found is None if why is None else (found is not None and why in found)
    assert metric("disturbed_ratio", BEFORE, after) == (0 if why is None else 1)


def test_a_long_path_may_vary_by_its_own_measure() -> None:
    long = changed(median_rtt_ns=100_000_000)
    assert disturbance(long, changed(median_rtt_ns=120_000_000)) is None
    assert disturbance(long, changed(median_rtt_ns=126_000_000)) is not None
