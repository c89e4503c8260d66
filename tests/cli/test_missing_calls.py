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


def compare_without(place: Path, calls: str) -> subprocess.CompletedProcess[str]:
    """Compare, without the system calls of these ranges of numbers (x86-64)."""
    command = [sys.executable, str(WITHOUT), calls, str(NETWARP), "compare", *RUN]
    command += ["--out", str(place / "out")]
    environ = {**os.environ, "RUST_BACKTRACE": "0", "COLUMNS": "200"}
    return subprocess.run(
        command, cwd=place, env=environ, capture_output=True, text=True, check=False, timeout=300
    )


@pytest.mark.parametrize(
    ("calls", "name"),
    [
        pytest.param("73-73", "flock", id="flock"),
        pytest.param("82-82,264-264,316-316", "rename", id="rename"),
        pytest.param("88-88,266-266", "symlink", id="symlink"),
        pytest.param("203-203", "sched_setaffinity", id="sched_setaffinity"),
        pytest.param("291-291", "epoll_create1", id="epoll_create1"),
        pytest.param("317-317", "seccomp", id="seccomp"),
        pytest.param("436-436", "close_range", id="close_range"),
        pytest.param("73-73,203-203", "flock, sched_setaffinity", id="two"),
    ],
)
def test_a_call_without_which_there_are_no_runs_is_told_before_the_first(
    tmp_path: Path, calls: str, name: str
) -> None:
    """In a line, once; and nothing is left behind."""
    done = compare_without(tmp_path, calls)
    assert done.returncode == 2, done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ")
    assert f"missing here that runs need: {name};" in line
    assert done.stdout == ""
    assert not (tmp_path / "out").exists()


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
