"""The run directories that a page lists, and the studies that it runs."""

from __future__ import annotations

from pathlib import Path

import pytest

import netwarp.library
import support
from fake_backend import FakeBackend
from netwarp.errors import InputError
from netwarp.ui import studies
from netwarp.ui.studies import StudyRun


def test_run_directories_are_listed_with_their_titles(tmp_path: Path) -> None:
    support.write_run_directory(tmp_path / "one")
    (tmp_path / "else").mkdir()
    (found,) = studies.kept(tmp_path)
    assert found["name"] == "one"
    assert found["title"] == support.STUDY["title"]
    assert 0 < found["runs"] <= found["planned"]
    assert studies.kept(tmp_path / "missing") == []


@pytest.mark.parametrize("name", ["", ".", "..", "../one", "one/", "else", "/etc", ".one"])
def test_what_is_no_run_directory_of_the_folder_is_refused(tmp_path: Path, name: str) -> None:
    support.write_run_directory(tmp_path / "one")
    (tmp_path / "else").mkdir()
    with pytest.raises(InputError, match="no run directory"):
        studies.kept_at(tmp_path, name)
    assert studies.kept_at(tmp_path, "one") == tmp_path / "one"


def test_two_directories_are_compared_as_diff_does(tmp_path: Path) -> None:
    for name in ("one", "two"):
        support.write_run_directory(tmp_path / name)
    text = studies.differences_text(tmp_path, "one", "two")
    assert "24 cells: 0 changed" in text


def test_scorecards_are_found_and_nothing_else(tmp_path: Path) -> None:
    for place in (
        "reproduce/scorecard.html",
        "reproduce/park-2008/scorecard.html",
        "scorecard.html",
    ):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).touch()
    assert studies.scorecards(tmp_path) == [
        "reproduce/park-2008/scorecard.html", "reproduce/scorecard.html",
    ]  # fmt: skip


def test_shipped_studies_have_questions() -> None:
    found = {each["name"]: each for each in studies.shipped()}
    assert found["handover"]["has_quick"]
    assert all(each["question"].endswith("?") for each in found.values())


def test_a_study_is_run_with_progress_and_its_report(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    study = tmp_path / "mine.toml"
    study.write_text(
        '# Which?\ntitle = "Mine"\nreplicates = 2\n[path]\nrtt = "50ms"\nloss = "1%"\n'
        '[workload]\nkind = "bulk"\nsize = "10MB"\n[factors]\ntransport = ["tcp", "quic"]\n'
    )
    monkeypatch.setattr("netwarp.sources.shipped.shipped_studies", lambda: {"mine": study})
    monkeypatch.setattr(netwarp.library, "backend_for", lambda *_: FakeBackend())
    begun = StudyRun("mine", quick=False, into=tmp_path / "out")
    begun.begin()
    events = []
    while (event := begun.next_event()) is not None:
        events.append(event)
    assert [name for name, _ in events] == ["started", *["progress"] * 4, "drawing", "kept"]
    assert events[-2 - 1][1] == {"ended": 4, "of": 4, "failed": 0}
    directory = studies.kept_at(tmp_path / "out", events[-1][1]["name"])
    assert (directory / "report.html").is_file()
    unknown = StudyRun("other", quick=False, into=tmp_path / "out")
    unknown.begin()
    assert unknown.next_event() == (
        "refused", {"message": "other: no study of this name", "option": "other"},
    )  # fmt: skip
