"""The guides, done as a reader does them: files saved, commands typed, Python run, in order."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from guides import DOCS, REPOSITORY, blocks, commands

TYPED = ("tutorial", "recipes", "results", "pages", "role-protocol", "testing", "why")


@pytest.mark.parametrize("name", TYPED)
def test_a_guide_can_be_followed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for block in blocks(DOCS / f"{name}.md"):
        if block.file is not None:
            Path(block.file).write_text(block.text)
        for arguments in block.typed:
            answer = subprocess.run(
                [Path(sys.prefix) / "bin" / arguments[0], *arguments[1:]],
                env={**os.environ, "NO_COLOR": "1"},
                capture_output=True, text=True, timeout=300, check=False,
            )  # fmt: skip
            assert answer.returncode == 0, f"{arguments}: {answer.stderr}"
            assert answer.stdout, arguments
            assert "warning:" not in answer.stderr, f"{arguments}: {answer.stderr}"
        if block.language == "python":
            exec(block.text, {})  # noqa: S102 - our own documentation


def test_the_first_command_of_exec_fetches_a_file_in_an_empty_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first, again = (
        next(each for each in commands(guide) if each[1] == "exec" and "curl" in each)
        for guide in (REPOSITORY / "README.md", DOCS / "exec.md")
    )
    assert first == again
    answer = subprocess.run(
        [Path(sys.prefix) / "bin" / first[0], first[1], "--json", *first[2:]],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert answer.returncode == 0, answer.stderr
    assert json.loads(answer.stdout)["metrics"]["wire_bytes_down"] > 10 << 20


def test_every_guide_with_a_prompt_is_typed() -> None:
    assert {guide.stem for guide in DOCS.glob("*.md") if any(b.typed for b in blocks(guide))} == {
        *TYPED
    }
