"""Prints for the bench's tables: cells, and on a terminal how far it is."""

from __future__ import annotations

import sys


def cell(value: float | None, width: int, digits: int) -> str:
    """Align a number to the right; a dash stands for none."""
    return f"{'–':>{width}}" if value is None else f"{value:{width}.{digits}f}"


def tell(text: str) -> None:
    """Say how far it is, where somebody watches."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}\r", end="", file=sys.stderr, flush=True)
