"""Texts about an interop grid that both its page and the terminal show."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from netwarp.interop.grid import Field, Grid, Result
from netwarp.interop.plan import Asked
from netwarp.interop_cases import CASES

ABBREVIATIONS = {name: case.abbreviation for name, case in CASES.items()}


def repeat_command(field: Field, out: Path, asked: Asked) -> str:
    """Return the command that repeats the first loss pattern in which a field failed."""
    first = field.failed[0]
    words = ["netwarp", "interop", "--clients", *_as_written(asked, field.client)]
    words += ["--servers", *_as_written(asked, field.server)]
    words += ["--cases", field.case, "--seed", str(asked.seed), "--pattern", str(first.pattern)]
    return shlex.join([*words, "--out", f"{out}-again"])


def _as_written(asked: Asked, name: str) -> tuple[str]:
    return (asked.written.get(name, name),)


def facts(grid: Grid) -> list[tuple[str, str]]:
    """Return facts about the grid: its stacks, results and loss patterns, as pairs of a name and a
    text.
    """
    asked, counted = grid.asked, grid.counted()
    versions = ", ".join(f"{name} {stack.version}" for name, stack in asked.stacks.items())
    results = ", ".join(f"{count} {result}" for result, count in sorted(counted.items()))
    return [
        ("Stacks", versions or "none"),
        ("Fields", results),
        ("Loss patterns", f"{asked.seeds} per field, of seed {asked.seed}"),
    ]


def cell_lines(grid: Grid, client: str, server: str) -> Iterator[tuple[Result, str]]:
    """Yield the abbreviations of a pair's test cases for each result, in the form of the runner's
    table.
    """
    of_pair = [grid.field(client, server, case) for case in grid.asked.cases]
    results: tuple[Result, ...] = ("succeeded", "unsupported", "failed")
    for result in results:
        names = [ABBREVIATIONS[field.case] for field in of_pair if field.result == result]
        if names:
            yield result, ",".join(names)
