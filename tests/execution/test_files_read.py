"""What programs read of the machine's files is part of what a run is."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from fake_backend import FakeBackend
from netwarp import pipeline
from netwarp.backends.base import Backend
from netwarp.errors import RunDirectoryError
from netwarp.execution import files_read as module
from netwarp.execution.files_read import FilesRead, files_read
from netwarp.study import Study, study_from_mapping


class BetweenHosts(FakeBackend):
    sets_path = False


def read_by(workload: dict[str, Any], backend: Backend | None = None) -> FilesRead:
    tables = {"title": "t", "transport": "tcp", "workload": {"kind": "command", **workload}}
    study = study_from_mapping(tables)
    found = files_read([cell.template for cell in study.cells], backend or FakeBackend())
    assert found is not None
    return found


def in_folder(folder: Path) -> dict[str, Any]:
    return {"server": "x", "client": "y", "directory": str(folder)}


def of_file(path: Path) -> Study:
    return study_from_mapping(
        {
            "title": "t",
            "replicates": 1,
            "path": {"rtt": "50ms"},
            "workload": {"kind": "bulk", "file": str(path)},
            "factors": {"transport": ["tcp"]},
        }
    )


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A folder that commands name, and in which none of them starts."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    return folder


def test_a_study_of_netwarps_own_programs_reads_nothing() -> None:
    tables = {"title": "t", "workload": {"kind": "bulk", "size": "1kB"}, "transport": "tcp"}
    templates = [cell.template for cell in study_from_mapping(tables).cells]
    assert files_read(templates, FakeBackend()) is None


@pytest.mark.parametrize(
    "server",
    ["{0}/serve --port 80", "exec {0}/serve>/dev/null", ["sh", "{0}/serve"], "x --conf={0}/serve"],
)
def test_what_commands_name_is_read(elsewhere: Path, tmp_path: Path, server: Any) -> None:
    (tmp_path / "here").mkdir()
    (elsewhere / "serve").write_text("one")
    where = str(elsewhere)
    filled = [each.format(where) for each in server] if isinstance(server, list) else None
    command = filled or server.format(where)
    # pytest's folders are below the temporary directory, of which programs see this one alone.
    asked = {"server": command, "client": "true", "directory": str(tmp_path)}
    before = read_by(asked)
    (elsewhere / "serve").write_text("two")
    after = read_by(asked)
    assert after.changed_since(before.digests) == str(elsewhere / "serve")
    assert after.sha256 != before.sha256


def test_a_program_is_found_where_guests_look_for_it(tmp_path: Path) -> None:
    found = read_by({**in_folder(tmp_path), "server": "env true"})
    assert any(path.endswith("/env") for path in found.digests)


def test_all_of_the_folder_counts_but_for_what_runs_leave(tmp_path: Path) -> None:
    asked = in_folder(tmp_path)
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "page.html").write_text("one")
    before = read_by(asked)
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "server.pyc").write_text("built")
    (tmp_path / "netwarp-out").mkdir()
    (tmp_path / "netwarp-out" / "report.html").write_text("a report")
    (tmp_path / "mine" / "runs").mkdir(parents=True)
    (tmp_path / "mine" / "plan.jsonl").write_text("")
    assert read_by(asked).changed_since(before.digests) is None
    (tmp_path / "deep" / "er" / "more.html").write_text("new")
    assert read_by(asked).changed_since(before.digests) == str(tmp_path / "deep/er/more.html")


def test_a_file_that_nobody_may_read_or_that_is_no_file_is_no_hindrance(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "dangling").symlink_to("nowhere")
    found = read_by(in_folder(tmp_path))
    assert found.digests[str(tmp_path / "pipe")] == "no regular file"
    assert found.digests[str(tmp_path / "dangling")] == "No such file or directory"


def test_of_a_large_file_its_time_counts(tmp_path: Path) -> None:
    asked = in_folder(tmp_path)
    large = tmp_path / "large"
    large.touch()
    os.truncate(large, module.MOST_HASHED_BYTES + 1)
    before = read_by(asked)
    os.utime(large, ns=(1, 1))
    assert read_by(asked).changed_since(before.digests) == str(large)


def test_too_many_files_are_said_to_be_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_FILES", 3)
    for name in "abcd":
        (tmp_path / name).touch()
    found = read_by(in_folder(tmp_path))
    assert f"those in {tmp_path} included" in (found.unknown or "")


def test_what_another_host_reads_is_unknown(tmp_path: Path) -> None:
    found = read_by(in_folder(tmp_path), BetweenHosts())
    assert "another host" in (found.unknown or "")


def test_a_changed_file_is_another_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    content = tmp_path / "content"
    content.write_bytes(bytes(10_000_000))
    first = pipeline.run(of_file(content), FakeBackend())
    again = FakeBackend()
    assert pipeline.run(of_file(content), again).directory == first.directory
    assert again.ran == []
    content.write_bytes(b"1" * 10_000_000)
    changed = FakeBackend()
    assert pipeline.run(of_file(content), changed).directory != first.directory
    assert changed.ran == ["c000-r00"]


def test_a_changed_file_is_refused_where_old_runs_are(tmp_path: Path) -> None:
    content = tmp_path / "content"
    content.write_bytes(bytes(10_000_000))
    pipeline.run(of_file(content), FakeBackend(), out=tmp_path / "out")
    content.write_bytes(b"1" * 10_000_000)
    with pytest.raises(RunDirectoryError, match=f"read another {content} than today's"):
        pipeline.run(of_file(content), FakeBackend(), out=tmp_path / "out")


def test_runs_anew_replace_those_from_before(tmp_path: Path) -> None:
    content = tmp_path / "content"
    content.write_bytes(bytes(10_000_000))
    pipeline.run(of_file(content), FakeBackend(), out=tmp_path / "out")
    backend = FakeBackend()
    pipeline.run(of_file(content), backend, out=tmp_path / "out", anew=True)
    assert backend.ran == ["c000-r00"]


def test_where_nobody_can_tell_a_directory_is_a_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    content = tmp_path / "content"
    content.write_bytes(bytes(10_000_000))
    monkeypatch.setattr(module, "MOST_FILES", 0)
    places = [pipeline.run(of_file(content), FakeBackend()).directory.name for _ in range(2)]
    assert [place[-2:] for place in places] == ["-1", "-2"]
    with pytest.raises(RunDirectoryError, match="cannot be told"):
        pipeline.run(of_file(content), FakeBackend(), out=tmp_path / "netwarp-out" / places[0])
