"""Bounds on a study's tables: what is deeper or larger would stop a program that reads it.

Nothing in a study goes deeper than a few levels, and what copies, merges and writes tables calls
itself once for each. Every number in it fits 64 bits; Python cannot write one of thousands of
digits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from netwarp.fields import KeyValueError

MOST_LEVELS = 32
LARGEST_NUMBER = 2**64


def refuse_unbounded(raw: Mapping[str, Any]) -> None:
    """Refuse tables that are nested too deep, or hold a number that is too large.

    Raises:
        KeyValueError: it names the top-level key.
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
    """Describe what is nested too deep."""
    return KeyValueError(key, None, f"nested more than {MOST_LEVELS} deep", "write it flat")


def too_large(key: str | None = None) -> KeyValueError:
    """Describe a number that is too large."""
    return KeyValueError(key, None, "a number beyond 64 bits", "write a smaller one")


def _inside(value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        return list(value.values())
    return value if isinstance(value, list) else []
