"""What a report says of the paths between several hosts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import support
from netwarp.report.calibration import _calibrated
from netwarp.results.results import CellResult, RunResult
from netwarp.wire import job_from_json

GOLDEN = Path(__file__).parents[1] / "golden" / "job-dumbbell.json"
MEASURED: dict[str, float | None] = {
    "path_packets_down": 1000.0,
    "path_dropped_down": 10.0,
    "path_overflow_down": 0.0,
    "path_rate_down_bit_s": 9e6,
    "near.path_min_rtt_s": 0.0201,
    "far.path_min_rtt_s": 0.1602,
}


def cell(metrics: dict[str, float | None]) -> CellResult:
    run: RunResult = replace(support.results().runs[0], metrics=metrics)
    return CellResult(0, run.factors, (run,))


def test_the_path_is_the_bottleneck_with_the_round_trip_times_of_the_hosts() -> None:
    """The other links have neither a rate nor a loss, and what is not counted is not said."""
    row = _calibrated(cell(MEASURED), "down", job_from_json(GOLDEN.read_text()), 0.95)
    assert (row.configured_loss, row.loss, row.loss_mark) == ("1.00 %", "1.00 %", "good")
    assert row.configured_rtt == "20.00 ms or 160.0 ms or 90.00 ms"
    assert (row.rtt, row.rtt_mark) == ("20.100 ms", "good")
    assert (row.frame, row.frame_mark) == ("not counted", "none")
