"""The inside of a run directory, and who may be explained."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import netwarp.library
import support
from fake_backend import FakeBackend
from netwarp.library import open_run, run
from netwarp.study import study_from_mapping
from netwarp.ui.asked import Event
from netwarp.ui.inside import WhyRun, inside

STUDY = {
    "title": "t", "replicates": 1, "transport": {"kind": "tcp"},
    "path": {"rtt": "80ms", "rate": "40mbit"}, "workload": {"size": "10MB"},
}  # fmt: skip


def _events(folder: Path, name: str, cell: str) -> list[Event]:
    asked = WhyRun(folder, name, cell)
    asked.begin()
    events = []
    while (event := asked.next_event()) is not None:
        events.append(event)
    return events


def test_the_cells_of_a_run_directory_are_named(tmp_path: Path) -> None:
    support.write_run_directory(tmp_path / "one")
    data = open_run(tmp_path / "one").data
    found = inside(data)
    assert [each["name"] for each in found["cells"]] == [
        f"c{cell.index:03d}" for cell in data.results.cells
    ]
    assert len({each["text"] for each in found["cells"]}) == len(found["cells"])
    assert json.dumps(found)


def test_a_cell_is_explained_with_progress(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    run(study_from_mapping(STUDY), FakeBackend(), out=tmp_path / "one")
    monkeypatch.setattr(netwarp.library, "backend_for", lambda *_: FakeBackend())
    before = sorted(path.name for path in (tmp_path / "one").rglob("*"))
    events = _events(tmp_path, "one", "c000")
    names = [name for name, _ in events]
    assert (names[0], names[-1]) == ("started", "why")
    assert set(names[1:-1]) == {"progress"}
    assert events[-2][1]["ended"] == events[-2][1]["of"]
    assert events[-1][1]["text"].splitlines()[0].startswith("all runs: completion time 1.9")
    assert sorted(path.name for path in (tmp_path / "one").rglob("*")) == before


@pytest.mark.parametrize(
    ("name", "cell", "said"),
    [
        ("other", "c000", "other: no run directory"),
        ("../one", "c000", "no run directory"),
        ("one", "c999", "why: CELL c999"),
        ("one", "x", "why: CELL x: neither a cell"),
    ],
)
def test_what_cannot_be_explained_is_refused(
    tmp_path: Path, name: str, cell: str, said: str
) -> None:
    support.write_run_directory(tmp_path / "one")
    ((event, what),) = _events(tmp_path, name, cell)
    assert event == "refused"
    assert said in what["message"]
