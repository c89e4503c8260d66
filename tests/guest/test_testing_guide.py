"""The recipes for tests in pytest, Rust and Go, done as they stand in docs/testing.md."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from guides import DOCS, Block, blocks


def of_language(language: str) -> list[Block]:
    """Give the blocks from the first saved file of a language to the commands that follow."""
    listed = blocks(DOCS / "testing.md")
    names = {"rust": "Cargo.toml", "go": "go.mod"}
    start = next(i for i, block in enumerate(listed) if block.file == names[language])
    end = next(i for i, block in enumerate(listed) if i > start and block.language == "sh")
    return listed[start : end + 1]


def test_the_plugin_runs_a_server_and_a_client_over_a_path(tmp_path: Path) -> None:
    (test,) = (b for b in blocks(DOCS / "testing.md") if b.file == "test_fetch.py")
    slower = test.text.replace('rtt="100ms"', 'rtt="900ms"')
    assert slower != test.text
    (tmp_path / "test_fetch.py").write_text(test.text)
    (tmp_path / "test_slower.py").write_text(slower)
    pytest_of_the_suite = ["-m", "pytest", "-p", "netwarp.pytest_plugin", "-W", "error"]
    done = subprocess.run(
        [sys.executable, *pytest_of_the_suite, "-p", "no:cacheprovider"],
        cwd=tmp_path, env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert "1 failed, 1 passed" in done.stdout, done.stdout
    (_, told) = done.stdout.split("Captured netwarp call", 1)
    assert "client: curl -sSf http://server/file" in told
    assert "GET /file" in told


@pytest.mark.parametrize(("language", "compiler"), [("rust", "cargo"), ("go", "go")])
def test_the_recipe_of_a_language_can_be_followed(
    language: str, compiler: str, tmp_path: Path
) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler} here")
    *files, commands = of_language(language)
    for block in files:
        assert block.file is not None
        (tmp_path / block.file).write_text(block.text)
    if language == "rust" and not (Path.home() / ".cargo/bin/cargo").exists():
        pytest.skip("no cargo in ~/.cargo/bin here")
    # The lanes keep what they build elsewhere; a reader's cargo builds in `target`.
    environ = {key: value for key, value in os.environ.items() if key != "CARGO_TARGET_DIR"}
    environ["PATH"] = f"{Path(sys.prefix) / 'bin'}:{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-e", "-c", commands.text],
        cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "exec: the client ran" in done.stderr
    wanted = {"rust": "1 passed", "go": "--- PASS: TestAFileArrivesWholeAndInTime"}
    assert wanted[language] in done.stdout
