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


@pytest.mark.parametrize(
    ("system", "machine"), [("Darwin", "arm64"), ("Linux", "aarch64"), ("MINGW64_NT", "x86_64")]
)
def test_a_runner_of_another_kind_is_refused_in_a_sentence(
    place: Path, system: str, machine: str
) -> None:
    uname = place / "uname"
    uname.write_text(f'#!/bin/sh\n[ "$1" = -s ] && echo {system} || echo {machine}\n')
    uname.chmod(0o755)
    refused = script(place, "install", NETWARP_WHEELS="/w", PATH=f"{place}:/usr/bin:/bin")
    assert refused.returncode == 2
    (line,) = refused.stderr.splitlines()
    assert f"this is {system} on {machine}: choose such a runner (runs-on: ubuntu-latest)" in line


@pytest.mark.parametrize(
    ("python", "said"),
    [
        ("import sys; sys.version_info = (3, 9, 2)", "netwarp needs Python 3.11 or later"),
        (
            "import os; del os.confstr",
            "another C library (musl, as in Alpine): choose an image of Debian",
        ),
        ("import sys; sys.maxsize = 2**31 - 1", "needs a Python of 64 bits, and this one has 32"),
    ],
)
def test_a_python_that_wheels_are_not_for_is_refused_in_a_sentence(
    place: Path, python: str, said: str
) -> None:
    """Before pip says that a wheel "is not supported on this platform"."""
    (place / "sitecustomize.py").write_text(python)
    refused = script(place, "install", NETWARP_WHEELS="/w", PYTHONPATH=str(place))
    assert refused.returncode == 2
    (line,) = refused.stderr.splitlines()
    assert said in line
