"""The soak: what it counts of a round, and that nothing left behind is overlooked."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from netwarp.file_trees import temporary_directory

SCRIPT = Path(__file__).parents[1] / "scripts" / "soak.py"
_spec = importlib.util.spec_from_file_location("soak", SCRIPT)
assert _spec is not None
assert _spec.loader is not None
soak = importlib.util.module_from_spec(_spec)
sys.modules["soak"] = soak
_spec.loader.exec_module(soak)

WATCH = f"""
import sys
sys.path.insert(0, {str(SCRIPT.parent)!r})
import soak
from pathlib import Path
soak.GRACE_S = 0.2
soak.adopt_orphans()
found = soak.watched(["sh", "-c", sys.argv[1]], 7, Path(sys.argv[2]))
print(found.passed, found.failed, found.processes_left, found.is_clean)
"""

DIES = """
import os, sys
from pathlib import Path
from netwarp.file_trees import temporary_directory
with temporary_directory("netwarp-memory-", Path(sys.argv[1])):
    os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("echo '5 passed in 3s'", "5 0 0 True"),
        ("echo '1 failed, 5 passed in 3s'; exit 1", "5 1 0 False"),
        ("echo '5 passed in 3s'; exit 3", "5 1 0 False"),
        ("echo 'no tests ran'", "0 0 0 False"),
        # Its parent ends at once, in a session of its own.
        ("setsid sleep 60 & echo '5 passed in 3s'", "5 0 1 False"),
    ],
)
def test_a_round_is_clean_only_if_all_passed_and_nothing_is_left(
    command: str, found: str, tmp_path: Path
) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", WATCH, command, tmp_path / "log"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert ran.stdout.strip() == found


def test_memory_that_is_in_use_is_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(soak, "SCRATCH", tmp_path)
    (tmp_path / "netwarp-0-cpu0.lock").touch()
    with temporary_directory("netwarp-memory-", tmp_path) as memory:
        assert soak.scratch_left() == set()
        killed = [sys.executable, "-c", DIES, tmp_path]
        left = soak.watched(killed, 7, tmp_path / "log")
    assert len(left.scratch_left) == 1
    assert memory.name not in left.scratch_left


def test_the_report_has_a_row_for_each_round() -> None:
    clean = soak.Round(7, passed=5)
    left = soak.Round(391, passed=5, scratch_left=["netwarp-memory-x"])
    text = soak.report([clean, left])
    assert text.startswith("# Soak: 1 of 2 rounds clean\n")
    assert "| 391 | 5 | 0 | 0.0 | 0 | 0 | 0 | 0 | netwarp-memory-x |" in text


def test_no_round_repeats_a_case_of_another_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeds: list[int] = []

    def watched(_: object, seed: int, __: object) -> object:
        seeds.append(seed)
        return soak.Round(seed, passed=1)

    monkeypatch.setattr(soak, "watched", watched)
    monkeypatch.setattr(soak, "adopt_orphans", lambda: None)
    monkeypatch.setattr(soak.time, "monotonic", lambda: 0.0 if len(seeds) < 3 else 1e9)
    monkeypatch.setattr(sys, "argv", ["soak", "--seed", "5", "--out", str(tmp_path)])
    with pytest.raises(SystemExit, match="0"):
        soak.main()
    first, second, third = seeds
    assert first == 5
    assert min(second - first, third - second) >= max(soak.RUNS, soak.MUTANTS)
