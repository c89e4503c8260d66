"""Which endpoint program is used, and that one of other sources or another format is refused."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from netwarp.backends import endpoint_sources, guest_files
from netwarp.backends.endpoint_sources import STAMP, sources_sha256
from netwarp.backends.guest_files import endpoint_version, find_endpoint
from netwarp.backends.needs import ENDPOINT, Machine
from netwarp.errors import BackendError
from netwarp.wire.base import JOB_FORMAT


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Have a clone with an endpoint that was built of its sources, and return its `endpoint/`."""
    prefix, sources = tmp_path / ".venv", tmp_path / "endpoint"
    (prefix / "libexec").mkdir(parents=True)
    program = prefix / "libexec" / "netwarp-endpoint"
    program.write_text('#!/bin/sh\necho \'{"endpoint": "9.9.9", "format": 2}\'\n')
    program.chmod(0o755)
    (sources / "core").mkdir(parents=True)
    (sources / "core" / "lib.rs").write_text("fn main() {}")
    (prefix / STAMP).write_text(f"{sources_sha256(sources)}  -\n")
    monkeypatch.setattr(sys, "prefix", str(prefix))
    monkeypatch.setattr(guest_files, "REPOSITORY", tmp_path)
    return sources


def test_an_endpoint_of_older_sources_is_found_before_anything_runs(clone: Path) -> None:
    """`netwarp doctor` describes what is needed, and every execution checks it."""
    assert ENDPOINT.describe(Machine({})).startswith("netwarp-endpoint 9.9.9")
    (clone / "core" / "lib.rs").write_text("fn main() { /* as pulled */ }")
    for told in (ENDPOINT.describe, ENDPOINT.check):
        with pytest.raises(BackendError, match=r"older than its sources.*`scripts/setup\.sh rust`"):
            told(Machine({}))
    # One that is named, and one whose sources are not there, are what they are.
    named = clone.parent / ".venv" / "libexec" / "netwarp-endpoint"
    assert find_endpoint({"NETWARP_ENDPOINT": str(named)}) == named
    shutil.rmtree(clone)
    assert find_endpoint({}) == named


def test_what_builds_leave_is_no_source_and_every_name_is(clone: Path) -> None:
    before = sources_sha256(clone)
    (clone / "target").mkdir()
    (clone / "target" / "netwarp-endpoint").write_text("built")
    assert sources_sha256(clone) == before
    (clone / "core" / "lib.rs").rename(clone / "core" / "main.rs")
    assert sources_sha256(clone) != before


def test_setup_keeps_the_hash_that_endpoints_are_held_against(clone: Path) -> None:
    """It runs the file by itself, before anything is installed; and it is what `sha256sum` says."""
    (clone / ".cargo").mkdir()
    (clone / ".cargo" / "config.toml").write_text("[build]")
    here = [sys.executable, "-I", "-S", endpoint_sources.__file__, str(clone)]
    shell = "find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum"
    by_shell = subprocess.run(["bash", "-c", shell], cwd=clone, capture_output=True, check=True)
    assert subprocess.run(here, capture_output=True, check=True).stdout == by_shell.stdout


def test_an_endpoint_that_reads_other_jobs_is_refused(tmp_path: Path) -> None:
    program = tmp_path / "netwarp-endpoint"
    program.write_text('#!/bin/sh\necho \'{"endpoint": "0.0.1", "format": 1}\'\n')
    program.chmod(0o755)
    with pytest.raises(BackendError, match="reads jobs of format 1, and this netwarp writes"):
        endpoint_version(program)


def test_an_endpoint_that_has_been_replaced_is_asked_again(tmp_path: Path) -> None:
    program = tmp_path / "netwarp-endpoint"
    asked = tmp_path / "asked"

    def write(version: str) -> None:
        answer = f'{{"endpoint": "{version}", "format": {JOB_FORMAT}}}'
        program.write_text(f"#!/bin/sh\necho >> {asked}\necho '{answer}'\n")
        program.chmod(0o755)

    write("0.0.1")
    assert [endpoint_version(program)["endpoint"] for _ in range(3)] == ["0.0.1"] * 3
    assert asked.read_text() == "\n"
    write("0.0.2")
    assert endpoint_version(program)["endpoint"] == "0.0.2"
