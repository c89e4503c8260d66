"""What `netwarp doctor` finds, without looking at the machine."""

from __future__ import annotations

import os
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest

from netwarp.errors import NetwarpError
from netwarp.machine import doctor
from netwarp.machine.doctor import Finding, describe_plugin, examine, said_once


def recorded(path: Path, entry_points: str) -> Distribution:
    """Make the record of an installation as pip writes it."""
    info = path / "netwarp-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: netwarp\nVersion: 0.1.0\n")
    (info / "entry_points.txt").write_text(entry_points)
    return Distribution.at(info)


def test_an_environment_of_before_the_plugin_is_told_with_its_remedy(tmp_path: Path) -> None:
    before = recorded(tmp_path, "[console_scripts]\nnetwarp = netwarp.cli:main\n")
    with pytest.raises(NetwarpError, match=r"had no pytest plugin.*: run `"):
        describe_plugin(before)
    assert "netwarp.pytest_plugin" in describe_plugin(distribution("netwarp"))


def test_doctor_looks_for_the_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "distribution", lambda _: recorded(tmp_path, ""))
    monkeypatch.setitem(os.environ, "NETWARP_ENDPOINT", str(tmp_path / "none"))
    found = {each.name: each for each in examine()}
    assert not found["pytest"].ok
    assert found["pytest"].optional, "no run needs it"
    told = [name for name, each in found.items() if "no endpoint program" in each.detail]
    assert told == ["endpoint"], "one problem is told once, whoever else meets it"
    assert found["native"].detail == found["remote"].detail == "the same as for endpoint"


def test_pytest_that_is_not_installed_beside_netwarp_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    look = doctor._OPTIONAL["pytest"]
    assert look().startswith("finds the fixture netwarp_path")
    monkeypatch.setattr(doctor, "find_spec", lambda _: None)
    with pytest.raises(NetwarpError, match=r"pytest is not installed .*-m pip install pytest`"):
        look()


def test_a_problem_is_told_once() -> None:
    endpoint = Finding("endpoint", ok=False, detail="it is old")
    native, remote = (Finding(name, ok=False, detail="it is old") for name in ("native", "remote"))
    other = Finding("tools", ok=False, detail="no setpriv")
    told = said_once([endpoint, other, native, remote])
    assert [each.detail for each in told] == [
        "it is old", "no setpriv", "the same as for endpoint", "the same as for endpoint"
    ]  # fmt: skip
