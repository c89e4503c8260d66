"""Bounds on a study's tables: deeper nesting or larger numbers would crash programs that read it.

No study needs more than a few levels of nesting, and the functions that copy, merge and write
tables recurse once for each. Every number in a study fits 64 bits; Python refuses to print numbers
of thousands of digits.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from netwarp.fields import KeyValueError

MOST_LEVELS = 32
LARGEST_NUMBER = 2**64
SHORT_CHARACTERS = 4096
"""Maximum length of texts that are not checked: no key in a shorter text takes long to read."""
MOST_PARTS = 256
"""Maximum number of parts of a dotted key that is passed to `tomllib`. It stores every prefix of a
key, so that its memory grows with the square of this number."""
_PART = re.compile(r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')[ \t]*(\.?)[ \t]*""")


def read_tables(text: str) -> dict[str, Any]:
    """Parse TOML whose dotted keys have a bounded number of parts.

    Raises:
        KeyValueError: a key has more parts than any study needs.
        tomllib.TOMLDecodeError: it is not TOML.
        RecursionError: arrays or inline tables are nested hundreds of levels deep.
        ValueError: a number has more digits than Python reads.
    """
    if len(text) > SHORT_CHARACTERS:
        _refuse_long_keys(text)
    return tomllib.loads(text)


def _refuse_long_keys(text: str) -> None:
    parts, end, first = 0, 0, ""
    for found in _PART.finditer(text):
        if found.start() != end or not parts:
            parts, first = 0, found[0]
        parts += 1
        if parts > MOST_PARTS:
            raise too_deep(f"{first}…")
        if not found[1]:
            parts = 0
        end = found.end()


def refuse_unbounded(raw: Mapping[str, Any]) -> None:
    """Refuse tables that are nested too deeply, or that contain a number that is too large.

    Raises:
        KeyValueError: a bound is exceeded; the error names the key.
    """
    level: list[tuple[str, Any]] = list(raw.items())
    for _ in range(MOST_LEVELS):
        for key, value in level:
            if isinstance(value, int) and abs(value) > LARGEST_NUMBER:
                raise too_large(key)
        level = [inner for key, outer in level for inner in _inner_values(key, outer)]
    if level:
        # The nesting is too deep at the end of a long key, so only the key's beginning is named.
        raise too_deep(".".join(level[0][0].split(".")[:3]))


def too_deep(key: str | None = None) -> KeyValueError:
    """Return the error for a table that is nested too deeply."""
    return KeyValueError(key, None, f"nested more than {MOST_LEVELS} deep", "write it flat")


def too_large(key: str | None = None) -> KeyValueError:
    """Return the error for a number that is too large."""
    return KeyValueError(key, None, "a number beyond 64 bits", "write a smaller one")


def _inner_values(key: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        yield from ((f"{key}.{name}", inner) for name, inner in value.items())
    elif isinstance(value, list):
        yield from ((key, inner) for inner in value)
