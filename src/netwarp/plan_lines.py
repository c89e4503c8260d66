"""Reads the lines of a plan, one for each planned run, as far as they are valid."""

import json
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

RUN_NAME = re.compile(r"c\d+-r\d+")
"""Pattern of a run's name: its cell and its replicate."""
_TYPES = {
    "run": str, "cell": int, "replicate": int, "seed": int, "factors": dict, "job_sha256": str,
}  # fmt: skip
_BITS = {"cell": 32, "replicate": 32, "seed": 64}
MOST_LINES = 1_000_000
"""Most lines of a plan that are read: many short ones would take much more memory than the file."""


def refuse_too_many_lines(text: str) -> None:
    """Refuse the text of a plan that has too many lines.

    Raises:
        ValueError: it has.
    """
    if text.count("\n") > MOST_LINES:
        raise ValueError(f"it has more than the {MOST_LINES} lines that are read")


def intact_lines(lines: Sequence[str]) -> tuple[list[dict[str, Any]], str | None]:
    """Return the lines of a plan that are planned runs, as objects.

    Returns:
        These lines, and a text on what is wrong with the others; None if there are no others.
    """
    read = [_planned_run(line) for line in lines]
    # All runs of a study have a level of each factor.
    varied = Counter(frozenset(line["factors"]) for line in read if line is not None)
    factors = max(varied, key=varied.__getitem__, default=frozenset())
    read = [line if line and line["factors"].keys() == factors else None for line in read]
    intact = [line for line in read if line is not None]
    if len(intact) == len(read):
        return intact, None
    first = read.index(None) + 1
    return intact, (
        f"{len(read) - len(intact)} of its lines are no planned runs, line {first} for one"
    )


def _planned_run(text: str) -> dict[str, Any] | None:
    """Return the planned run in a line of the plan; None if it is not a planned run."""
    try:
        line = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(line, dict):
        return None
    is_whole = all(isinstance(line.get(key), kind) for key, kind in _TYPES.items())
    if not is_whole or not RUN_NAME.fullmatch(line["run"]):
        return None
    counts = all(0 <= line[key] < 2**bits for key, bits in _BITS.items())
    random = line.get("random", [])  # not in older plans
    names = isinstance(random, list) and all(isinstance(each, str) for each in random)
    later = line.get("random_later", {})
    times = isinstance(later, dict) and all(
        isinstance(each, int | float) for each in later.values()
    )
    return line if counts and names and times else None
