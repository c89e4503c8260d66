"""Texts on how results compare with a baseline: the cells that changed, and how many cells are
unchanged, better, worse and so on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from rich.text import Text

from netwarp.estimate.comparison import Verdict
from netwarp.output.baseline import Standing
from netwarp.output.diff_lines import both_text
from netwarp.results.undecided import open_text
from netwarp.verdict_wording import verdict_text
from netwarp.wording import cell_text, number_of_cells, percent, quantity

if TYPE_CHECKING:
    from pathlib import Path

    from netwarp.output.baseline import BaselineByMetric, BaselineComparison, CellStanding

STYLES: Mapping[Standing, str] = {
    Standing.WITHIN: "dim",
    Standing.BETTER: "green",
    Standing.WORSE: "red",
    Standing.UNDECIDED: "yellow",
    Standing.MISSING: "red",
    Standing.NEW: "yellow",
}
MOST_CELLS = 20
"""Maximum number of cells that are printed for each metric."""


def baseline_lines(found: BaselineComparison, directory: Path) -> list[Text]:
    """Return the lines of a comparison with a baseline: the programs and conditions that differ,
    the cells that changed, and how many cells are unchanged, better, worse and so on.

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


def _lines_of_one(found: BaselineByMetric, directory: Path) -> Iterator[Text]:
    changed = [cell for cell in found.cells if cell.standing is not Standing.UNCHANGED]
    for cell in changed[:MOST_CELLS]:
        head = (f"{cell.standing.value}: ", STYLES[cell.standing])
        yield Text.assemble(head, cell_text(cell.factors, ", "))
        yield Text(f"    {standing_text(cell, found)}")
        if command := command_of(cell, directory):
            yield Text(f"    {command}", style="dim")
    if len(changed) > MOST_CELLS:
        yield Text(f"… and {len(changed) - MOST_CELLS} more: --json has all", style="dim")


def standing_text(cell: CellStanding, found: BaselineByMetric) -> str:
    """Return as text both values of a cell and the verdict, or that only one of the two results has
    the cell.
    """
    if cell.standing is Standing.MISSING:
        return "only the baseline has it"
    if cell.change is None:
        return "only these results have it"
    if found.is_gone and cell.standing is Standing.WORSE:
        return f"{both_text(cell.change, found.difference)}, no run has it any more"
    if cell.is_same_bytes and cell.standing is Standing.UNCHANGED:
        return "the same records, byte for byte"
    verdict = verdict_text(cell.change.comparison, found.difference.metric)
    if (
        cell.standing is Standing.WITHIN
        and cell.change.comparison.verdict is not Verdict.EQUIVALENT
    ):
        relevant = percent(cell.change.comparison.relevant, 2)
        verdict = f"every replicate changed by {relevant} at most"
    return f"{both_text(cell.change, found.difference)}, {verdict}"


def command_of(cell: CellStanding, directory: Path) -> str:
    """Return the command that shows what happened in a cell; empty if the cell was not run."""
    return "" if cell.run is None else f"netwarp timeline {directory} {cell.run}"


def counts_text(found: BaselineByMetric, relevant: float) -> str:
    """Return as text how many cells are unchanged, better, worse and so on."""
    counts = found.counts
    same = sum(cell.is_same_bytes for cell in found.cells)
    unchanged = f"{counts.get(Standing.UNCHANGED, 0)} unchanged"
    if counts.get(Standing.UNCHANGED):
        unchanged += f" ({same} byte for byte)"
    words = {
        Standing.WITHIN: f"changed by less than {percent(relevant, 2)}",
        Standing.BETTER: "better",
        Standing.WORSE: "worse",
        Standing.UNDECIDED: "undecided",
        Standing.MISSING: "missing",
        Standing.NEW: "new",
    }
    listed = [unchanged, *(f"{counts[standing]} {word}" for standing, word in words.items()
                           if counts.get(standing))]  # fmt: skip
    title = quantity(found.difference.metric, 1).title.lower()
    text = f"{title} of {number_of_cells(len(found.cells))}: {', '.join(listed)}"
    family = [cell.change.comparison for cell in found.cells if cell.change is not None]
    needed = open_text(family) if counts.get(Standing.UNDECIDED) else None
    return text if needed is None else f"{text}. {needed}, in the baseline too (--replicates)."
