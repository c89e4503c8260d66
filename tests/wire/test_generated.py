"""The endpoint's half of the wire format is what the models say today."""

from pathlib import Path

import pytest

import generate_wire


def test_the_endpoints_types_are_fresh() -> None:
    for name, text in generate_wire.files().items():
        assert (generate_wire.SOURCES / name).read_text(encoding="utf-8") == text, name


def test_nothing_generated_is_left_behind() -> None:
    folders = [generate_wire.SOURCES / folder for folder in generate_wire.FOLDERS]
    written = {
        path.relative_to(generate_wire.SOURCES).as_posix()
        for folder in folders
        for path in folder.glob("*.rs")
        if generate_wire.GENERATED in path.read_text(encoding="utf-8")
    }
    assert written == set(generate_wire.files())


def test_check_notices_a_stale_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generate_wire, "SOURCES", tmp_path)
    for folder in generate_wire.FOLDERS:
        (tmp_path / folder).mkdir()
    assert generate_wire.main(["--check"]) == 1
    assert generate_wire.main([]) == 0
    assert generate_wire.main(["--check"]) == 0
    (tmp_path / "job" / "path.rs").write_text("stale")
    assert generate_wire.main(["--check"]) == 1
    assert "endpoint/wire/src/job/path.rs is out of date" in capsys.readouterr().out
