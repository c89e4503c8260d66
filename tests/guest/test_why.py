"""`netwarp why` in real guests: planted causes are named first, and the command answers."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from netwarp.backends.virtual import VirtualBackend

NETWARP = str(Path(sys.prefix) / "bin" / "netwarp")
SCRIPT = runpy.run_path(str(Path(__file__).parents[2] / "scripts" / "planted_causes.py"))
EXACT = ("small window", "tiny queue", "outage", "late dial", "small first flight")
"""Causes in which nothing is random, so that a trial takes seconds."""


def _first_of(name: str) -> int:
    """Return the number of the first trial of seed 1 with a cause."""
    return next(number for number in range(1000) if SCRIPT["drawn"](1, number).planted.name == name)


@pytest.mark.parametrize("name", EXACT)
def test_a_planted_cause_is_named_first(name: str) -> None:
    drawn = SCRIPT["drawn"](1, _first_of(name))
    found = SCRIPT["answer"](drawn.study, VirtualBackend()).first
    assert found is not None
    assert found.lifts[0].name == drawn.planted.lift


def test_the_command_names_the_window_and_leaves_the_directory_as_it_was(tmp_path: Path) -> None:
    out = tmp_path / "out"
    of_path = ("--rtt", "80ms", "--rate", "40mbit", "--replicates", "2", "--out", str(out))
    small = ("--set", "transport.buffer=64kB")
    made = subprocess.run(
        [NETWARP, "compare", "--transport", "tcp", "--size", "2MB", *of_path, *small],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    before = sorted(path for path in out.rglob("*"))
    asked = [NETWARP, "why", str(out), "--json"]
    answer = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    told = json.loads(answer.stdout)
    assert told["first"] == "window"
    assert told["time_shares"]["rwnd"] > 0.3
    assert sum(told["time_shares"].values()) == pytest.approx(1)
    assert sorted(path for path in out.rglob("*")) == before
