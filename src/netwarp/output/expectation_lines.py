"""Prints expectations on a terminal: each with its answer, and a line for each condition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from netwarp.claims import Kept
from netwarp.claims.expected_sentences import WORDS, distance_text, open_text, value_text
from netwarp.wording import condition_text

if TYPE_CHECKING:
    from netwarp.claims import ExpectationResult

STYLES = {Kept.HOLDS: "green", Kept.BROKEN: "red", Kept.UNDECIDED: "yellow"}


def expectation_lines(results: Sequence[ExpectationResult]) -> list[Text | Padding]:
    """Return lines with each expectation and its answer, and below it the result under each
    condition.
    """
    lines: list[Text | Padding] = [Text("Expectations", style="bold underline")]
    for result in results:
        answer = (f"{WORDS[result.kept]}: ", STYLES[result.kept])
        lines += [Text.assemble(answer, result.text), Padding(_table(result), (0, 0, 0, 4))]
    return [*lines, Text("")]


def _table(result: ExpectationResult) -> Table:
    """Return the results of an expectation as a table, with a row for each condition."""
    table = Table.grid(padding=(0, 2, 0, 0))
    several = len(result.conditions) > 1
    for each in result.conditions:
        cells = [
            Text(condition_text(each.factors) if several else "", style="dim"),
            Text(value_text(result, each)),
            Text(distance_text(result, each)),
            Text(WORDS[each.kept] if several else "", style=STYLES[each.kept]),
            Text(open_text(each), style="dim"),
        ]
        table.add_row(*(cells if several else cells[1:3] + cells[4:]))
    return table
