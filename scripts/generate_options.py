"""Writes src/netwarp/options/keywords.py, the options of the library's calls as types.

With --check it writes nothing and fails when the file is not what it would write.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from netwarp import options
from netwarp.options import Takes
from netwarp.options.study import PATH

FILE = Path(__file__).resolve().parents[1] / "src/netwarp/options/keywords.py"
INTRO = '''\
"""The options of the library's calls as types, written by scripts/generate_options.py.

`backend` and `executor` are not here: calls take opened ones as well as names.
"""

from collections.abc import Sequence
from os import PathLike
from typing import TypedDict

Levels = str | int | float | Sequence[str | int | float]
"""One level, or several, which make a factor."""
'''
TAKEN_OPENED = ("backend", "executor")
PYTHON_TYPES = {
    Takes.LEVELS: "Levels",
    Takes.TEXT: "str | None",
    Takes.TEXTS: "str | Sequence[str]",
    Takes.PATH: "str | PathLike[str] | None",
    Takes.WHOLE: "int | None",
    Takes.FLAG: "bool",
}


def keywords() -> Iterator[str]:
    """Yield the lines of a class for the options of each call; those that define the study are in a
    class of their own.
    """
    yield INTRO
    yield from _keyword_class("PathOptions", "TypedDict", "that define the path", PATH)
    for call in ("compare", "exec", "run"):
        rows = [row for row in getattr(options, call.upper()) if row.name not in TAKEN_OPENED]
        name, base = f"{call.capitalize()}Options", "TypedDict"
        if call in ("compare", "exec"):
            of_study = [row for row in rows if row.defines_study]
            base = f"{call.capitalize()}StudyOptions"
            own = [row for row in of_study if not row.key.startswith("path.")]
            yield from _keyword_class(
                base, "PathOptions", f"of `{call}` that define the study", own
            )
            rows = [row for row in rows if row not in of_study]
        yield from _keyword_class(name, base, f"of `{call}`", rows)


def _keyword_class(
    name: str, base: str, which: str, rows: Iterable[options.Option]
) -> Iterator[str]:
    yield from (
        "",
        f"class {name}({base}, total=False):",
        f'    """Options {which}, by name; see the table of options."""',
        "",
    )
    yield from (f"    {row.name}: {PYTHON_TYPES[row.takes]}" for row in rows)
    yield ""


def text() -> str:
    """Make the text of the file."""
    return "\n".join(keywords())


def main(arguments: list[str]) -> int:
    """Write the file, or check it; give the exit status."""
    if "--check" not in arguments:
        FILE.write_text(text(), encoding="utf-8")
        return 0
    is_fresh = FILE.read_text(encoding="utf-8") == text()
    if not is_fresh:
        print(f"{FILE.name} is out of date: run `python scripts/generate_options.py`")
    return int(not is_fresh)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
