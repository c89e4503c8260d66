"""Writes the map in ARCHITECTURE.md: the floors of packages and crates, and what each of them is.

Packages and their order are the import contract's in pyproject.toml; crates and theirs are those of
the Cargo.toml files. What one is and what holds in it are the first and the `Invariant` paragraphs
of its documentation. With --check nothing is written, and a stale map fails.
"""

from __future__ import annotations

import ast
import sys
import textwrap
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[1]
PAGE = REPOSITORY / "ARCHITECTURE.md"
BEGIN = "<!-- The map: written by scripts/generate_map.py from docstrings and contracts. -->\n"
END = "<!-- End of the map. -->\n"
WIDTH = 170


def floors_of_python() -> list[list[str]]:
    """Give the packages and modules of netwarp, floor by floor from the top."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    (layers,) = (
        contract["layers"]
        for contract in project["tool"]["importlinter"]["contracts"]
        if contract["type"] == "layers"
    )
    return [[name.strip() for name in layer.split("|")] for layer in layers]


def crates() -> dict[str, Path]:
    """Give the folders of the crates, by name."""
    files = [
        file
        for top in ("endpoint", "stacks")
        for file in sorted((REPOSITORY / top).glob("**/Cargo.toml"))
        if "target" not in file.relative_to(REPOSITORY).parts
    ]
    named = {_toml(file).get("package", {}).get("name"): file.parent for file in files}
    return {name: folder for name, folder in named.items() if name}


def floors_of_crates() -> list[list[str]]:
    """Give the crates floor by floor from the top: each stands above those that it needs."""
    known = crates()
    needs = {name: known.keys() & _needed(folder) for name, folder in known.items()}
    heights: dict[str, int] = {}
    while len(heights) < len(known):
        for name in known.keys() - heights.keys():
            if needs[name] <= heights.keys():
                heights[name] = max((heights[each] + 1 for each in needs[name]), default=0)
    top = max(heights.values())
    return [sorted(n for n in known if heights[n] == height) for height in range(top, -1, -1)]


def what_it_is(documentation: str) -> tuple[str, list[str]]:
    """Give the first sentence of a documentation, and its paragraphs about invariants."""
    first, *more = (" ".join(each.split()) for each in documentation.split("\n\n"))
    plain = [each.replace("**", "") for each in more]
    return first, [each for each in plain if each.startswith("Invariant")]


def the_map() -> str:
    """Make the text between the marks."""
    known = crates()
    python = {name: _docstring(name) for floor in floors_of_python() for name in floor}
    rust = {name: _crate_documentation(folder) for name, folder in known.items()}
    paths = {name: str(folder.relative_to(REPOSITORY)) for name, folder in known.items()}
    lines = ["```", "src/netwarp: a floor knows those below it"]
    lines += _floors(floors_of_python(), python, dict.fromkeys(python, ""))
    lines += ["", "crates: one stands above those that it needs"]
    lines += [*_floors(floors_of_crates(), rust, paths), "```", ""]
    return "\n".join(lines)


def _floors(
    floors: Sequence[Sequence[str]], told: Mapping[str, str], paths: Mapping[str, str]
) -> Iterator[str]:
    shown = {name: paths[name] or name for name in told}
    column = max(map(len, shown.values())) + 6
    for number, floor in zip(range(len(floors) - 1, -1, -1), floors, strict=True):
        for place, name in enumerate(floor):
            head = f"{number:2}" if place == 0 else "  "
            first, invariants = what_it_is(told[name])
            for part, text in enumerate((first, *invariants)):
                for line, words in enumerate(textwrap.wrap(text, WIDTH - column)):
                    left = f"{head}  {shown[name]}" if part == line == 0 else ""
                    yield f"{left:{column}}{words}"


def _docstring(name: str) -> str:
    module = REPOSITORY / "src/netwarp" / name
    file = module / "__init__.py" if module.is_dir() else module.with_suffix(".py")
    return ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""


def _crate_documentation(folder: Path) -> str:
    file = next(each for each in (folder / "src/lib.rs", folder / "src/main.rs") if each.exists())
    lines = file.read_text(encoding="utf-8").splitlines()
    return "\n".join(line[3:].strip() for line in lines if line.startswith("//!"))


def _needed(folder: Path) -> set[str]:
    """Name what a crate needs, also where it calls it otherwise."""
    needed = _toml(folder / "Cargo.toml").get("dependencies", {}).items()
    return {each.get("package", name) if isinstance(each, dict) else name for name, each in needed}


def _toml(file: Path) -> dict[str, Any]:
    return tomllib.loads(file.read_text(encoding="utf-8"))


def page() -> str:
    """Make the page, with a map of today."""
    before, begin, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    return before + begin + the_map() + END + rest.partition(END)[2]


def main(arguments: list[str]) -> int:
    """Write the page, or check it; give the exit status."""
    is_fresh = PAGE.read_text(encoding="utf-8") == page()
    if "--check" not in arguments:
        PAGE.write_text(page(), encoding="utf-8")
    elif not is_fresh:
        print("ARCHITECTURE.md is out of date: run `python scripts/generate_map.py`")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
