"""Words how results compare with a baseline: the cells that changed, and a count of all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from rich.text import Text

from netwarp.estimate.comparison import Verdict
from netwarp.output.baseline import Held
from netwarp.output.diff_lines import both_text
from netwarp.verdict_wording import verdict_text
from netwarp.wording import cell_text, percent, quantity

if TYPE_CHECKING:
    from pathlib import Path

    from netwarp.output.baseline import HeldAgainst, HeldByMetric, HeldCell

STYLES: Mapping[Held, str] = {
    Held.WITHIN: "dim",
    Held.BETTER: "green",
    Held.WORSE: "red",
    Held.UNDECIDED: "yellow",
    Held.MISSING: "red",
    Held.NEW: "yellow",
}
MOST_CELLS = 20
"""Most cells that are named for each metric."""


def baseline_lines(found: HeldAgainst, directory: Path) -> list[Text]:
    """Write the programs and conditions that differ, the cells that changed, and the counts.

    Args:
        found: the comparison of the results with the baseline.
        directory: the run directory, for the command that shows a cell.
    """
    lines = [Text(f"Against {found.file}", style="bold underline")]
    lines += [
        Text(f"{name}: {before} → {after}", style="dim")
        for name, before, after in found.metrics[0].difference.conditions
    ]
    for each in found.metrics:
        lines += _lines_of_one(each, directory)
        lines.append(Text(counts_text(each, found.relevant)))
    return [*lines, Text("")]


def _lines_of_one(found: HeldByMetric, directory: Path) -> Iterator[Text]:
    changed = [cell for cell in found.cells if cell.held is not Held.UNCHANGED]
    for cell in changed[:MOST_CELLS]:
        head = (f"{cell.held.value}: ", STYLES[cell.held])
        yield Text.assemble(head, cell_text(cell.factors, ", "))
        yield Text(f"    {held_text(cell, found)}")
        if command := command_of(cell, directory):
            yield Text(f"    {command}", style="dim")
    if len(changed) > MOST_CELLS:
        yield Text(f"… and {len(changed) - MOST_CELLS} more: --json has all", style="dim")


def held_text(cell: HeldCell, found: HeldByMetric) -> str:
    """Write both values of a cell and the verdict, or which of the two results lacks the cell."""
    if cell.held is Held.MISSING:
        return "only the baseline has it"
    if cell.change is None:
        return "only these results have it"
    if found.is_gone and cell.held is Held.WORSE:
        return f"{both_text(cell.change, found.difference)}, no run has it any more"
    if cell.is_same_bytes and cell.held is Held.UNCHANGED:
        return "the same records, byte for byte"
    verdict = verdict_text(cell.change.comparison, found.difference.metric)
    if cell.held is Held.WITHIN and cell.change.comparison.verdict is not Verdict.EQUIVALENT:
        relevant = percent(cell.change.comparison.relevant, 2)
        verdict = f"every replicate changed by {relevant} at most"
    return f"{both_text(cell.change, found.difference)}, {verdict}"


def command_of(cell: HeldCell, directory: Path) -> str:
    """Return the command that shows what happened in a cell; empty if the cell was not run."""
    return "" if cell.run is None else f"netwarp timeline {directory} {cell.run}"


def counts_text(found: HeldByMetric, relevant: float) -> str:
    """Write the number of cells with each result."""
    counts = found.counts
    same = sum(cell.is_same_bytes for cell in found.cells)
    unchanged = f"{counts.get(Held.UNCHANGED, 0)} unchanged"
    if counts.get(Held.UNCHANGED):
        unchanged += f" ({same} byte for byte)"
    words = {
        Held.WITHIN: f"changed by less than {percent(relevant, 2)}",
        Held.BETTER: "better",
        Held.WORSE: "worse",
        Held.UNDECIDED: "undecided",
        Held.MISSING: "missing",
        Held.NEW: "new",
    }
    listed = [unchanged, *(f"{counts[held]} {word}" for held, word in words.items()
                           if counts.get(held))]  # fmt: skip
    title = quantity(found.difference.metric, 1).title.lower()
    return f"{title} of {len(found.cells)} cells: {', '.join(listed)}"
