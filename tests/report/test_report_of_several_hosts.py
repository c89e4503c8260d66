"""What a report says of the paths between several hosts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import support
from netwarp.report.calibration import _calibrated
from netwarp.report.link_table import _rows
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


def test_each_direction_of_a_link_that_carried_something_has_a_row() -> None:
    measured = {
        "link.left-right.packets_down": 1000.0,
        "link.left-right.dropped_packets_down": 0.2,
        "link.left-right.marked_packets_down": None,
        "link.left-right.utilisation_ratio_down": 0.5,
        "link.left-right.queue_delay_s_max_down": 0.0125,
        "link.left-right.packets_up": 0.0,
    }
    (row,) = _rows(cell(measured), job_from_json(GOLDEN.read_text()))
    assert row.way == "left-right: right → left", "down is from the second end to the first"
    assert (row.rate, row.utilisation) == ("20.0 Mbit/s", "50.0 %")
    # A mean that is less than one packet is not none.
    assert (row.packets, row.dropped, row.marked) == ("1\u202f000", "0.2", "–")
    assert row.queue == "12.5 ms"
