"""Bounds on a study's tables: deeper nesting or larger numbers would crash programs that read it.

No study needs more than a few levels of nesting, and the functions that copy, merge and write
tables recurse once for each. Every number in a study fits 64 bits; Python refuses to print numbers
of thousands of digits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from netwarp.fields import KeyValueError

MOST_LEVELS = 32
LARGEST_NUMBER = 2**64


def refuse_unbounded(raw: Mapping[str, Any]) -> None:
    """Refuse tables that are nested too deeply, or hold a number that is too large.

    Raises:
        KeyValueError: a bound is exceeded; the error names the top-level key.
    """
    for key, value in raw.items():
        level = [value]
        for _ in range(MOST_LEVELS):
            if any(isinstance(each, int) and abs(each) > LARGEST_NUMBER for each in level):
                raise too_large(key)
            level = [inner for outer in level for inner in _inside(outer)]
        if level:
            raise too_deep(key)


def too_deep(key: str | None = None) -> KeyValueError:
    """Make the error for a table that is nested too deeply."""
    return KeyValueError(key, None, f"nested more than {MOST_LEVELS} deep", "write it flat")


def too_large(key: str | None = None) -> KeyValueError:
    """Make the error for a number that is too large."""
    return KeyValueError(key, None, "a number beyond 64 bits", "write a smaller one")


def _inside(value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        return list(value.values())
    return value if isinstance(value, list) else []
