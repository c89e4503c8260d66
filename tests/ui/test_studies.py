"""The run directories that a page lists, and the studies that it runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import netwarp.library
import support
from fake_backend import FakeBackend
from netwarp.errors import InputError
from netwarp.sources.scorecard import MEANINGS
from netwarp.ui import studies
from netwarp.ui.asked import Asked, Event
from netwarp.ui.reproducing import SourceRun
from netwarp.ui.studies import StudyRun


def test_run_directories_are_listed_with_their_titles(tmp_path: Path) -> None:
    support.write_run_directory(tmp_path / "one")
    (tmp_path / "else").mkdir()
    (found,) = studies.kept(tmp_path)
    assert found["name"] == "one"
    assert found["title"] == support.STUDY["title"]
    assert 0 < found["runs"] <= found["planned"]
    assert studies.kept(tmp_path / "missing") == []


@pytest.mark.parametrize("line", [["netwarp", "run", "s"], ["netwarp", "run", "s", "--quick"]])
def test_a_smaller_version_is_listed_as_one(tmp_path: Path, line: list[str]) -> None:
    place = tmp_path / "one"
    support.write_run_directory(place)
    provenance = json.loads((place / "provenance.json").read_text())
    (place / "provenance.json").write_text(json.dumps(provenance | {"command_line": line}))
    (found,) = studies.kept(tmp_path)
    assert found["is_quick"] == ("--quick" in line)


@pytest.mark.parametrize("name", ["", ".", "..", "../one", "one/", "else", "/etc", ".one"])
def test_what_is_no_run_directory_of_the_folder_is_refused(tmp_path: Path, name: str) -> None:
    support.write_run_directory(tmp_path / "one")
    (tmp_path / "else").mkdir()
    with pytest.raises(InputError, match="no run directory"):
        studies.kept_at(tmp_path, name)
    assert studies.kept_at(tmp_path, "one") == tmp_path / "one"


def test_a_plan_of_too_many_runs_is_not_shown(tmp_path: Path) -> None:
    """The list does not read it, either: lines that are no planned runs count."""
    made = tmp_path / "long"
    (made / "runs").mkdir(parents=True)
    (made / "plan.jsonl").write_text("\n" * (studies.MOST_RUNS + 1))
    with pytest.raises(InputError, match="at most 100000 planned runs"):
        studies.kept_at(tmp_path, "long")


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
    assert events[-2 - 1][1] == {"ended": 4, "of": 4, "failed": 0, "kept": 0}
    directory = studies.kept_at(tmp_path / "out", events[-1][1]["name"])
    assert events[0][1]["expected"].endswith(f"into {directory}")
    assert (directory / "report.html").is_file()
    unknown = StudyRun("other", quick=False, into=tmp_path / "out")
    unknown.begin()
    assert unknown.next_event() == (
        "refused", {"message": "other: no study of this name", "option": "other"},
    )  # fmt: skip


def _events(begun: Asked) -> list[Event]:
    begun.begin()
    events = []
    while (event := begun.next_event()) is not None:
        events.append(event)
    return events


@pytest.fixture
def source(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A source of two studies, the first with a control, which is the only one that is shipped."""
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "source.toml").write_text(
        'title = "Mine"\nauthors = "Me"\npublished = "2026"\nmethod = "None."\n'
        'differs = "Nothing."\nstudies = ["one", "two"]\n'
    )
    text = (
        '# Which?\ntitle = "One"\nreplicates = 2\n[path]\nrtt = "50ms"\nloss = "1%"\n'
        '[workload]\nkind = "bulk"\nsize = "10MB"\n[factors]\ntransport = ["tcp", "quic"]\n'
        '[[claim]]\ntext = "QUIC is sooner done"\nmetric = "completion_time_s"\n'
        'less = { transport = "quic" }\nthan = { transport = "tcp" }\n'
    )
    (folder / "one.toml").write_text(
        f'{text}why = "losses"\ncontrol = "calm"\nunder_control = "lower"\n[[control]]\n'
        'id = "calm"\ntext = "without losses"\nchange = { path.loss = "0%" }\n'
    )
    (folder / "two.toml").write_text(text.replace("One", "Two"))
    monkeypatch.setattr("netwarp.sources.find_sources", lambda: {"mine": folder})
    return folder


def test_a_source_is_reproduced_with_progress_and_its_scorecard(
    source: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(netwarp.library, "backend_for", lambda *_: FakeBackend())
    events = _events(SourceRun(source.name, tmp_path / "out"))
    of_a_study = ["study", *["progress"] * 4, "judged"]
    assert [name for name, _ in events] == ["started", *of_a_study * 3, "scorecard"]
    judged = [said for name, said in events if name == "judged"]
    # Each is judged before the next is run; the control comes last, and its study is judged again.
    assert [(said["title"], said["left"]) for said in judged] == [
        ("One", 1), ("Two", 0), ("One", 0),
    ]  # fmt: skip
    for said in judged:
        (row,) = said["rows"]
        assert row["text"] == "QUIC is sooner done"
        assert row["word"] in (*MEANINGS, "supported", "not-supported")
        assert row["found"]
    card = events[-1][1]["path"]
    assert studies.scorecards(tmp_path / "out") == [card] == ["reproduce/mine-quick/scorecard.html"]


def test_what_is_no_shipped_source_is_refused(source: Path, tmp_path: Path) -> None:
    for name in ("other", str(source), "../mine", "all"):
        ((event, said),) = _events(SourceRun(name, tmp_path / "out"))
        assert (event, said["message"]) == ("refused", f"{name}: no source of this name")
