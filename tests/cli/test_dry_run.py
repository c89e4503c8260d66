"""What a command says beforehand: what it would run, and what it leaves out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.conftest import Netwarp
from fuzz.toml import to_toml
from support import STUDY, write_run_directory


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run_directory(tmp_path_factory.mktemp("recorded") / "run")


def test_a_dry_run_writes_nothing_and_a_run_says_that_it_leaves_controls_out(
    netwarp: Netwarp, recorded: Path, tmp_path: Path
) -> None:
    control = {"id": "far", "text": "a far server", "change": {"path": {"delay_up": "1s"}}}
    reason = {"why": "it is near", "control": "far", "under_control": "higher"}
    claim, *others = STUDY["claim"]
    study = STUDY | {"claim": [claim | reason, *others], "control": [control]}
    (tmp_path / "study.toml").write_text(to_toml(study))
    command = ("run", "study.toml", "--backend", f"replay:{recorded}", "--out", "out")
    dry = netwarp(*command, "--dry-run", "--json")
    assert dry.returncode == 0, dry.stderr
    found = json.loads(dry.stdout)
    assert (found["out"], found["runs"], found["kept"]) == ("out", 240, 0)
    assert netwarp(*command, "--dry-run").stdout.strip() == found["text"]
    assert not (tmp_path / "out").exists()
    done = netwarp(*command)
    (line,) = [each for each in done.stderr.splitlines() if "control" in each]
    assert line.startswith("warning: `netwarp run` leaves out the study's 1 control")
    again = netwarp(*command, "--dry-run", "--json")
    assert json.loads(again.stdout)["kept"] == 240


@pytest.mark.parametrize(
    ("out", "why"),
    [
        ("file", "cannot write to file (it is a file, not a directory)"),
        ("file/run", "cannot write to file (it is a file, not a directory)"),
        ("others", "others is no run directory and has files of others (thesis.tex for one)"),
    ],
)
def test_a_dry_run_refuses_the_directories_that_a_run_refuses(
    netwarp: Netwarp, recorded: Path, tmp_path: Path, out: str, why: str
) -> None:
    (tmp_path / "study.toml").write_text(to_toml(STUDY))
    (tmp_path / "file").touch()
    (tmp_path / "others").mkdir()
    (tmp_path / "others" / "thesis.tex").touch()
    command = ("run", "study.toml", "--backend", f"replay:{recorded}", "--out", out)
    for options in ((), ("--dry-run",)):
        done = netwarp(*command, *options)
        assert done.returncode == 2
        assert why in done.stderr


def test_a_dry_run_names_its_directory_in_one_line(
    netwarp: Netwarp, recorded: Path, tmp_path: Path
) -> None:
    (tmp_path / "study.toml").write_text(to_toml(STUDY))
    command = ("run", "study.toml", "--backend", f"replay:{recorded}", "--out", "a\nb")
    assert netwarp(*command, "--dry-run").stdout.count("\n") == 1
