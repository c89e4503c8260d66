"""Outputs that take no text, or not every character: the answer as far as it goes, or one line."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cli.conftest import Netwarp
from support import write_run_directory

NETWARP = Path(sys.prefix) / "bin" / "netwarp"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run_directory(tmp_path_factory.mktemp("recorded") / "run")


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_full_disk_is_named(recorded: Path, options: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        answer = subprocess.run(
            [NETWARP, "show", recorded, *options],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert answer.returncode == 1
    (line,) = answer.stderr.splitlines()
    assert line.startswith("error: cannot write: No space left on device")


def test_an_output_that_is_closed_takes_nothing(recorded: Path) -> None:
    command = f"'{NETWARP}' show '{recorded}' >&-"
    answer = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert (answer.returncode, answer.stderr) == (0, "")


def test_characters_an_encoding_lacks_are_replaced(netwarp: Netwarp, recorded: Path) -> None:
    answer = netwarp("show", recorded, PYTHONIOENCODING="ascii")
    assert answer.returncode == 0, answer.stderr
    assert " ? " in answer.stdout  # ±
    # JSON has escapes of its own, so nothing is lost there.
    whole = netwarp("show", recorded, "--json")
    ascii_only = netwarp("show", recorded, "--json", PYTHONIOENCODING="ascii")
    assert json.loads(ascii_only.stdout) == json.loads(whole.stdout)


def test_a_path_that_reads_as_an_emoji_is_printed_as_it_is(
    netwarp: Netwarp, recorded: Path, tmp_path: Path
) -> None:
    place = tmp_path / ":x:"
    shutil.copytree(recorded, place)
    assert f"report: {place}/report.html" in netwarp("report", place).stdout
