"""Kernels and containers that lack a system call: what is missing is said, in a line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

NETWARP = Path(sys.executable).with_name("netwarp")
WITHOUT = Path(__file__).parents[2] / "scripts" / "without_calls.py"
RUN = ("--transport", "tcp", "--size", "1kB", "--rtt", "10ms", "--replicates", "1")
NOT_THERE = "Function not implemented"


def compare_without(place: Path, calls: str) -> subprocess.CompletedProcess[str]:
    """Compare, without the system calls of these ranges of numbers (x86-64)."""
    command = [sys.executable, str(WITHOUT), calls, str(NETWARP), "compare", *RUN]
    command += ["--out", str(place / "out")]
    environ = {**os.environ, "RUST_BACKTRACE": "0", "COLUMNS": "200"}
    return subprocess.run(
        command, cwd=place, env=environ, capture_output=True, text=True, check=False, timeout=300
    )


@pytest.mark.parametrize(
    ("calls", "status", "said"),
    [
        pytest.param("73-73", 2, "(flock: Function not implemented)", id="flock"),
        pytest.param("82-82,264-264,316-316", 1, "a system call is missing here", id="rename"),
        pytest.param("88-88,266-266", 1, f"/out/runs/.c000-r00.partial/endpoint: {NOT_THERE}",
                     id="symlink"),
        pytest.param("157-157", 1, f"{NOT_THERE} (prctl, PR_SET_CHILD_SUBREAPER)", id="prctl"),
        pytest.param("203-203", 1, f"affinity: {NOT_THERE}", id="sched_setaffinity"),
        pytest.param("291-291", 1, "a system call is missing here", id="epoll_create1"),
        pytest.param("317-317", 1, "refuse system calls (seccomp)", id="seccomp"),
        pytest.param("436-436", 1, "SECCOMP userspace requested but not functional",
                     id="close_range"),
    ],
)  # fmt: skip
def test_a_call_without_which_there_are_no_runs_is_told(
    tmp_path: Path, calls: str, status: int, said: str
) -> None:
    done = compare_without(tmp_path, calls)
    assert done.returncode == status, done.stderr
    assert said in " ".join((done.stdout + done.stderr).split())
    assert "Traceback" not in done.stderr
    assert "defect" not in done.stderr


@pytest.mark.parametrize(
    "calls",
    [
        pytest.param("135-135", id="personality"),
        pytest.param("332-332", id="statx"),
        pytest.param("435-435", id="clone3"),
        pytest.param("434-434,438-438", id="pidfd"),
    ],
)
def test_other_calls_may_be_missing(tmp_path: Path, calls: str) -> None:
    done = compare_without(tmp_path, calls)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "report.html").is_file()
