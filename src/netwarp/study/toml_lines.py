"""Finds the line numbers of keys in a TOML file; `tomllib` returns values without positions.

The file is known to be valid TOML, so it is enough to split it into statements: table headers, and
keys whose values may have strings and brackets over several lines.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

NO_LINE = 0
_PART = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
_DOTTED = rf"{_PART}(?:\s*\.\s*{_PART})*"
_HEADER = re.compile(rf"\s*(\[\[?)\s*({_DOTTED})\s*\]")
_KEY = re.compile(rf"\s*({_DOTTED})\s*=")
_MULTILINE = ('"""', "'''")
# Tokens that determine where a statement ends: strings, complete or only opened; comments;
# brackets.
_TOKEN = re.compile(r'"{3}|\'{3}|"(?:[^"\\]|\\.)*"|\'[^\']*\'|#.*|[\[{]|[\]}]')


def key_lines(text: str) -> Mapping[str, int]:
    """Return the line, from 1, of each table and key.

    Keys are dotted and without quotes; tables of an array of tables are numbered from 0:
    ``path.timeline.2.at``. Keys inside an inline table or array are not listed.
    """
    lines: dict[str, int] = {}
    tables_of: dict[str, int] = {}
    table = ""
    for number, statement in _statements(text):
        header = _HEADER.match(statement)
        if header is None:
            key = _KEY.match(statement)
            if key is not None:
                _note(lines, table, key[1], number)
            continue
        table = _numbered(_parts(header[2]), tables_of, is_array=header[1] == "[[")
        _note(lines, "", table, number)
    return lines


_PLACE = re.compile(r"at line (\d+), column \d+")
_UNQUOTED = re.compile(rf"\s*({_DOTTED})\s*=\s*([\w%.+/-]*[A-Za-z%][\w%.+/-]*)\s*(?:#.*)?$")
_LONG_NUMBER = re.compile(r"[0-9_]{4300,}")


def syntax_remedy(text: str, error: str) -> str:
    """Return a remedy for a syntax error: quotes, if a value looks like a quantity or a word. None
    if there is no such value.

    Args:
        text: the text of the file.
        error: the message of `tomllib`, with the place.
    """
    place = _PLACE.search(error)
    lines = text.split("\n")
    if place is not None and int(place[1]) <= len(lines):
        bare = _UNQUOTED.match(lines[int(place[1]) - 1])
        if bare is not None:
            return f'quote it: {bare[1]} = "{bare[2]}"'
    return "mend the syntax there"


def key_of_long_number(text: str) -> str | None:
    """Return the key of a number that has more digits than Python can read; None if there is
    none.
    """
    found = _LONG_NUMBER.search(text)
    if found is None:
        return None
    line = text.count("\n", 0, found.start()) + 1
    before = [key for key, at in key_lines(text).items() if at <= line]
    return before[-1] if before else None


def study_lines(
    text: str, overrides: Sequence[str] = (), *, quick: bool = False
) -> Mapping[str, int]:
    """Return the lines of the keys that a study uses. With `quick`, keys in ``[quick]`` have
    precedence.

    A key that the command line sets (``KEY=VALUE``) has no line.
    """
    found = key_lines(text)
    lines = dict(found)
    for key, line in found.items() if quick else ():
        is_table = any(other.startswith(f"{key}.") for other in found)
        if key.startswith("quick.") and not is_table:
            lines[key.removeprefix("quick.")] = line
    for override in overrides:
        name = override.partition("=")[0].strip().replace('"', "")
        lines = {key: line for key, line in lines.items() if not key.startswith(f"{name}.")}
        lines[name] = NO_LINE
    return lines


def line_of(lines: Mapping[str, int], key: str) -> int | None:
    """Return the line of a dotted key, or of the innermost table or key that contains it."""
    wanted = key.replace('"', "")
    while wanted and wanted not in lines:
        wanted = wanted.rpartition(".")[0]
    return lines.get(wanted, NO_LINE) or None


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line number and the first line of each statement."""
    depth = 0
    string_end = ""
    for number, line in enumerate(text.split("\n"), start=1):
        if depth == 0 and not string_end and line.strip():
            yield number, line
        is_header = depth == 0 and not string_end and _HEADER.match(line) is not None
        rest = "" if is_header else line
        while rest:
            if string_end:
                found = rest.find(string_end)
                rest = rest[found + 3 :] if found >= 0 else ""
                string_end = "" if found >= 0 else string_end
                continue
            token = _TOKEN.search(rest)
            if token is None:
                break
            rest = rest[token.end() :]
            if token[0] in _MULTILINE:
                string_end = token[0]
            elif token[0] in ("[", "{"):
                depth += 1
            elif token[0] in ("]", "}"):
                depth -= 1


def _note(lines: dict[str, int], table: str, key: str, number: int) -> None:
    path = table
    for part in _parts(key):
        path = f"{path}.{part}" if path else part
        lines.setdefault(path, number)


def _numbered(parts: list[str], tables_of: dict[str, int], *, is_array: bool) -> str:
    """Return the dotted name in a table's header, in which the name of each array of tables is
    followed by an index.
    """
    path = ""
    for place, part in enumerate(parts):
        path = f"{path}.{part}" if path else part
        if is_array and place == len(parts) - 1:
            tables_of[path] = tables_of.get(path, -1) + 1
        if path in tables_of:
            path = f"{path}.{tables_of[path]}"
    return path


def _parts(dotted: str) -> list[str]:
    return [part.strip("\"'") for part in re.findall(_PART, dotted)]
