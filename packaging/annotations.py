"""Prints the test cases that did not pass as annotations of GitHub: `annotations.py JUNIT STUDY`.

An expectation points at its line of the study, where it stands there. Only the standard library is
imported.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

LEVELS = {"failure": "error", "error": "warning"}
"""GitHub's level, by the element of JUnit: what is undecided is a warning."""


def annotations(junit: str, study: Path) -> Iterator[str]:
    """Return a line for each test case that did not pass."""
    try:
        lines = study.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        lines = []
    for case in ElementTree.fromstring(junit).iter("testcase"):  # noqa: S314 - netwarp wrote it
        for element, level in LEVELS.items():
            found = case.find(element)
            if found is not None:
                name = case.get("name", "")
                place = _place(study, lines, name)
                message = _escaped(found.get("message", ""))
                yield f"::{level} {place}title={_escaped(name, ':,')}::{message}"


def _place(study: Path, lines: list[str], name: str) -> str:
    at = [number for number, line in enumerate(lines, 1) if f'"{name}"' in line]
    return f"file={_escaped(str(study), ':,')},line={at[0]}," if at else ""


def _escaped(text: str, also: str = "") -> str:
    for character in f"%\r\n{also}":
        text = text.replace(character, f"%{ord(character):02X}")
    return text


if __name__ == "__main__":
    file = Path(sys.argv[1])
    if file.is_file():  # not where the command was refused before anything ran
        for line in annotations(file.read_text(encoding="utf-8"), Path(sys.argv[2])):
            sys.stdout.write(f"{line}\n")
