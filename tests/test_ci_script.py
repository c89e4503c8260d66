"""The script for jobs of continuous integration: what it leaves, replaces and refuses."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "packaging" / "ci.sh"
JUNIT = '<testsuites><testcase name="old"><failure message="of before"/></testcase></testsuites>'
PROGRAM = """#!/bin/sh
[ ! -e netwarp-ci/summary.md ] || { echo "error: another file is there" >&2; exit 2; }
echo "netwarp $*"
exit ${STATUS-0}
"""
"""A netwarp that refuses to replace a summary which it did not write, as the real one does."""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    program = tmp_path / "home" / "bin" / "netwarp"
    program.parent.mkdir(parents=True)
    program.write_text(PROGRAM)
    program.chmod(0o755)
    return tmp_path


def script(place: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    given = {"PATH": "/usr/bin:/bin", "HOME": str(place), "NETWARP_HOME": str(place / "home")}
    return subprocess.run(
        ["sh", SCRIPT, *words], cwd=place, env=given | environment, check=False,
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip


def test_a_command_after_another_is_neither_refused_nor_annotated_with_it(place: Path) -> None:
    assert script(place, "run", "doctor").returncode == 0
    assert "doctor" in (place / "netwarp-ci" / "summary.md").read_text()
    (place / "netwarp-ci" / "junit.xml").write_text(JUNIT)
    refused = script(place, "run", "compare", "--transport", "no", STATUS="2")
    assert refused.returncode == 2
    assert refused.stdout.startswith("netwarp compare --transport no --out netwarp-ci/results")
    assert "of before" not in refused.stdout


@pytest.mark.parametrize("files", [(), ("netwarp-0.1.0-py3-none-any.whl",)])
def test_a_directory_without_both_wheels_is_refused_at_once(
    place: Path, files: tuple[str, ...]
) -> None:
    wheels = place / "wheels"
    wheels.mkdir()
    for name in files:
        (wheels / name).touch()
    refused = script(place, "install", NETWARP_WHEELS=str(wheels))
    lacking = "netwarp_kernel" if files else "netwarp"
    assert refused.returncode == 2
    assert f"where no {lacking}-*.whl is" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1


def test_a_directory_that_is_not_there_is_not_taken_for_a_url(place: Path) -> None:
    refused = script(place, "install", NETWARP_WHEELS="/nosuch")
    assert refused.returncode == 2
    assert "NETWARP_WHEELS is /nosuch, where no netwarp-*.whl is" in refused.stderr
