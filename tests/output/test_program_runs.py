"""What `netwarp exec` says in its last line."""

from __future__ import annotations

from netwarp.output.program_runs import time_taken


def test_long_times_are_written_without_an_exponent() -> None:
    assert time_taken(300.348, 300.41) == "300.348 s on the run's clock, 300 s of yours"
    assert time_taken(0.1830312, 0.2811) == "0.183031 s on the run's clock, 0.28 s of yours"
