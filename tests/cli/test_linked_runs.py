"""A run directory of somebody else's whose runs are links to runs that lie elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.conftest import Netwarp
from netwarp.execution.outcome import read_outcome
from netwarp.run_directory import RunDirectory, is_run_directory
from netwarp.ui import studies
from support import write_run_directory

READ = {
    "show": ["show", "run"],
    "report": ["report", "run"],
    "why": ["why", "run", "c000"],
    "diff": ["diff", "other", "run"],
    "timeline": ["timeline", "run", "c000-r00"],
    "export": ["export", "run"],
    "verify": ["verify", "run"],
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for name in ("other", "run"):
        write_run_directory(tmp_path / name)
    return tmp_path / "run"


@pytest.mark.parametrize("name", READ)
def test_runs_behind_a_link_are_not_read(netwarp: Netwarp, place: Path, name: str) -> None:
    (place / "runs").rename(place.parent / "secret")
    (place / "runs").symlink_to(place.parent / "secret")
    (place / "report.html").unlink(missing_ok=True)
    answer = netwarp(*READ[name])
    assert answer.returncode not in (0, None)
    (line,) = answer.stderr.splitlines()
    assert f"cannot read the runs in {READ[name][READ[name].index('run')]}/runs" in line
    assert "symbolic link" in line
    assert not answer.stdout
    assert not (place / "report.html").exists()


def test_a_run_behind_a_link_is_not_read(netwarp: Netwarp, place: Path) -> None:
    (run, *_) = sorted(path.name for path in (place / "runs").iterdir())
    (place / "runs" / run).rename(place.parent / "secret")
    (place / "runs" / run).symlink_to(place.parent / "secret")
    paths = RunDirectory(place)
    assert read_outcome(paths, run) is None
    assert "symbolic link" in paths.damage[place / "runs" / run]
    answer = netwarp("show", "run")
    assert answer.returncode == 0
    assert f"runs/{run}" in answer.stderr
    assert "the rest was not done" in answer.stdout


def test_the_local_pages_do_not_list_it(place: Path) -> None:
    assert is_run_directory(place)
    (place / "runs").rename(place.parent / "secret")
    (place / "runs").symlink_to(place.parent / "secret")
    assert [each["name"] for each in studies.kept(place.parent)] == ["other"]
