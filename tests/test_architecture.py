"""ARCHITECTURE.md is a map of what there is: every path in it exists, and no floor is missing."""

from __future__ import annotations

import ast
import re
import runpy
import tomllib
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
PAGE = (REPOSITORY / "ARCHITECTURE.md").read_text(encoding="utf-8")
GENERATOR = runpy.run_path(str(REPOSITORY / "scripts/generate_map.py"))
SOURCE = REPOSITORY / "src/netwarp"
MOST_LINES, MOST_FILES = 160, 10
PACKAGES = sorted(file.parent for file in SOURCE.rglob("__init__.py") if file.parent != SOURCE)
OF_A_RUN = {"job.json", "records.jsonl", "status.json", "__init__.py", "lib.rs", "make docs"}


def test_the_map_is_made_of_the_code_of_today() -> None:
    assert GENERATOR["main"](["--check"]) == 0


def test_every_path_exists() -> None:
    told = set(re.findall(r"`([\w./-]*/[\w./-]*|[\w-]+\.\w+)`", PAGE)) - OF_A_RUN
    told |= {target for target in re.findall(r"\]\(([^)#]+)\)", PAGE) if "://" not in target}
    assert len(told) > 10
    assert not [path for path in told if not (REPOSITORY / path).exists()]


def test_no_floor_is_missing() -> None:
    rooms = {each.stem for each in SOURCE.iterdir() if each.suffix == ".py" or each in PACKAGES}
    for room in rooms - {"__init__"}:
        assert re.search(rf"^[ \d]{{2}}  {room} ", PAGE, re.MULTILINE), room
    for file in REPOSITORY.glob("endpoint/**/Cargo.toml"):
        folder = file.parent.relative_to(REPOSITORY)
        if "target" not in folder.parts and "package" in tomllib.loads(file.read_text()):
            assert re.search(rf"^[ \d]{{2}}  {folder} ", PAGE, re.MULTILINE), folder


def test_it_is_a_map_and_no_catalogue() -> None:
    assert len(PAGE.splitlines()) <= MOST_LINES
    assert len(set(re.findall(r"`[\w/]+\.(?:py|rs)`", PAGE))) <= MOST_FILES
    for line in PAGE.splitlines():
        assert len(line) <= 180, line


@pytest.mark.parametrize("package", PACKAGES, ids=lambda each: str(each.relative_to(SOURCE)))
def test_what_a_package_says_it_has_is_there(package: Path) -> None:
    said = ast.get_docstring(ast.parse((package / "__init__.py").read_text(encoding="utf-8")))
    assert said
    files = set(re.findall(r"`+([a-z_0-9]+\.py)`", said))
    below = {file.name for file in package.rglob("*.py")}
    assert files <= below, files - below
    if len(list(package.glob("*.py"))) > 9:
        assert files, f"{package} has many modules, and does not say where to begin"
