"""What `netwarp exec` says in its last line, and of programs."""

from __future__ import annotations

from pathlib import Path

from netwarp.output.program_runs import hidden_file_hint, of_path, time_taken


def test_long_times_are_written_without_an_exponent() -> None:
    assert time_taken(300.348, 300.41) == "300.348 s on the run's clock in all, 300 s of yours"
    assert time_taken(1.024e-6, 0.2811).startswith("1.024 µs on the run's clock")
    assert time_taken(0.0012345, 0.2811).startswith("1.2345 ms on the run's clock")
    assert time_taken(0.1830312, 0.2811) == "0.183031 s on the run's clock in all, 0.28 s of yours"


def test_a_path_between_two_hosts_is_told_by_its_length() -> None:
    counted = {
        "wire_packets_down": 90.0, "path_dropped_down": 46.0, "path_overflow_down": 38.0,
        "wire_packets_up": 5.0, "path_dropped_up": 0.0, "path_overflow_up": 0.0,
    }  # fmt: skip
    assert of_path(counted) == "90 packets down (8 lost, 38 queue full), 5 packets up (0 dropped)"
    del counted["path_overflow_down"]
    assert of_path(counted).startswith("90 packets down (46 dropped)"), "the kernel does not say"
    assert of_path({"path_median_rtt_s": 0.0203}) == "median round trip 20.3 ms"


def test_a_file_that_programs_do_not_see_is_named(tmp_path: Path) -> None:
    def hint(stderr: str) -> str:
        return hidden_file_hint({"client": {"stderr": stderr}, "server": {"stderr": ""}})

    program = tmp_path / "client.py"  # pytest's folders are below the temporary directory
    program.touch()
    for said in (
        f"sh: 1: {program}: not found",
        f"python3: can't open file '{program}': [Errno 2] No such file or directory",
        f"FileNotFoundError: [Errno 2] No such file or directory: '{program}'",
    ):
        assert f"{program} is on this machine" in hint(said)
    assert hint(f"sh: 1: {program}x: not found") == ""
    assert hint(f"reading {program}") == ""
