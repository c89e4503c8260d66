"""The workflow of a release: what it calls exists, and what runs anywhere does its work."""

from __future__ import annotations

import re
import subprocess
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from netwarp.version import __version__

REPOSITORY = Path(__file__).parents[1]
yaml: Any = import_module("yaml")
WORKFLOW = yaml.safe_load((REPOSITORY / ".github" / "workflows" / "release.yml").read_text())
STEPS = {
    each["name"]: each["run"] for each in WORKFLOW["jobs"]["release"]["steps"] if "run" in each
}


def test_what_it_calls_is_there() -> None:
    lines = "\n".join(STEPS.values())
    called = set(re.findall(r"scripts/[a-z_]+\.(?:py|sh)", lines))
    assert called
    assert [each for each in called if not (REPOSITORY / each).is_file()] == []
    targets = set(re.findall(r"^make ([a-z]+)$", lines, flags=re.MULTILINE))
    makefile = (REPOSITORY / "Makefile").read_text()
    assert targets
    assert [each for each in targets if not re.search(rf"^{each}:", makefile, re.MULTILINE)] == []


@pytest.mark.parametrize(("tag", "status"), [(f"v{__version__}", 0), ("v99.0.0", 1)])
def test_a_tag_of_another_version_is_refused(tag: str, status: int) -> None:
    command = ["bash", "-ec", STEPS["The tag is the version"]]
    environ = {"PATH": "/usr/bin:/bin", "GITHUB_REF_NAME": tag}
    done = subprocess.run(command, cwd=REPOSITORY, env=environ, check=False)
    assert done.returncode == status


def test_the_notes_are_the_newest_section_of_the_changelog(tmp_path: Path) -> None:
    (tmp_path / "dist").mkdir()
    (tmp_path / "CHANGELOG.md").write_text("# Log\n\n## 2.0\n\n- new\n\n## 1.0\n\n- old\n")
    (line,) = (each for each in STEPS["Publish"].splitlines() if each.startswith("awk"))
    subprocess.run(["bash", "-ec", line], cwd=tmp_path / "dist", check=True)
    assert (tmp_path / "dist" / "notes.md").read_text() == "## 2.0\n\n- new\n\n"
