"""What `netwarp exec` says in its last line."""

from __future__ import annotations

from netwarp.output.program_runs import of_path, time_taken


def test_long_times_are_written_without_an_exponent() -> None:
    assert time_taken(300.348, 300.41) == "300.348 s on the run's clock, 300 s of yours"
    assert time_taken(0.1830312, 0.2811) == "0.183031 s on the run's clock, 0.28 s of yours"


def test_a_path_between_two_hosts_is_told_by_its_length() -> None:
    counted = {
        "wire_packets_down": 7.0, "path_dropped_down": 1.0, "wire_packets_up": 5.0,
        "path_dropped_up": 0.0,
    }  # fmt: skip
    assert of_path(counted) == "7 packets down (1 dropped), 5 packets up (0 dropped)"
    assert of_path({"path_median_rtt_s": 0.0203}) == "median round trip 20.3 ms"
