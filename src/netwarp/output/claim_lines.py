"""Claims with their verdicts, as `run` and `show` print them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.text import Text

if TYPE_CHECKING:
    from netwarp.claims import ClaimResult

STYLES = {
    "reproduced": "green",
    "smaller": "green dim",
    "larger": "green dim",
    "size-undecided": "green dim",
    "partly": "yellow",
    "depends": "magenta",
    "equivalent": "cyan",
    "undecided": "yellow dim",
    "partly-reversed": "red dim",
    "reversed": "red",
    "not-testable": "dim",
    "failed": "red bold",
}
"""Styles of the words for verdicts; verdicts that are not listed are printed without a style."""


def claim_lines(claims: Sequence[ClaimResult]) -> list[Text | Padding]:
    """Return lines with each claim and its verdict, and below it the numbers on which the verdict
    is based.
    """
    lines: list[Text | Padding] = [Text("Claims", style="bold underline")]
    for result in claims:
        verdict = (f"{result.word}: ", STYLES.get(result.verdict, ""))
        lines.append(Text.assemble(verdict, result.claim.text))
        found = Text.assemble(("found: ", "dim bold"), (result.found, "dim"))
        lines.append(Padding(found, (0, 0, 0, 4)))
    return [*lines, Text("")]
