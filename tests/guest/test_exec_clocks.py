"""Clocks of programs: coarse ones that are exact, and how long a program ran."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

NETWARP = Path(sys.executable).with_name("netwarp")
PYTHON = Path(sys.executable).resolve()
EXACT = ("--set", "workload.coarse_clocks=exact")
WAITS = ("--server", "echo up; sleep 1000", "--ready", "line:up")
# 5 and 6 are CLOCK_REALTIME_COARSE and CLOCK_MONOTONIC_COARSE, which Python has no names for.
SPINS = """
import time
for coarse, exact in ((5, time.CLOCK_REALTIME), (6, time.CLOCK_MONOTONIC)):
    start = time.clock_gettime_ns(coarse)
    while time.clock_gettime_ns(coarse) < start + 100_000:
        pass
    print(0 <= time.clock_gettime_ns(exact) - time.clock_gettime_ns(coarse) + 20_000 < 40_000)
"""
SLEEPS = """
import time
for _ in range(3):
    start = time.clock_gettime_ns(6)
    time.sleep(0.0234)
    print(round((time.clock_gettime_ns(6) - start) / 1e6, 1))
"""


def run_exec(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [NETWARP, "exec", *arguments], cwd=folder, capture_output=True, text=True, check=False
    )


def test_a_program_that_waits_for_a_coarse_clock_goes_on(tmp_path: Path) -> None:
    done = run_exec(tmp_path, *EXACT, *WAITS, "--", str(PYTHON), "-c", SPINS)
    assert done.stdout == "True\nTrue\n", done.stderr


def test_a_coarse_clock_measures_as_exactly_as_others(tmp_path: Path) -> None:
    done = run_exec(tmp_path, *EXACT, *WAITS, "--", str(PYTHON), "-c", SLEEPS)
    assert done.stdout == "23.4\n23.4\n23.4\n", done.stderr


def test_by_default_a_coarse_clock_moves_at_ticks(tmp_path: Path) -> None:
    done = run_exec(tmp_path, *WAITS, "--", str(PYTHON), "-c", SLEEPS)
    slept_ms = [float(each) for each in done.stdout.split()]
    assert len(slept_ms) == 3, done.stderr
    assert {each % 10 for each in slept_ms} == {0.0}


def test_a_program_that_never_waits_runs_as_long_as_it_says(tmp_path: Path) -> None:
    """It has the CPU from its start on, so that netwarp's own process sees it only at its end."""
    spin = """
import time
start = time.monotonic_ns()
while time.monotonic_ns() < start + 300_000_000:
    pass
"""
    done = run_exec(tmp_path, *WAITS, "--json", "--", str(PYTHON), "-c", spin)
    run_time_s = json.loads(done.stdout)["metrics"]["run_time_s"]
    assert 0.3 <= run_time_s < 0.301
