"""Lines that report the differences between two run directories."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from netwarp.estimate.stats import Estimate
from netwarp.output.styles import verdict_style
from netwarp.results.undecided import open_text
from netwarp.verdict_wording import verdict_text
from netwarp.wording import cell_text, cells_text, mean_text, number, number_of_cells, quantity

if TYPE_CHECKING:
    from netwarp.output.diff import CellChange, Difference


def difference_lines(found: Sequence[Difference], width: int) -> list[Text]:
    """Return lines with the conditions that differ and, for each metric, the cells that changed and
    the number of those that did not.

    Args:
        found: the differences by each metric.
        width: longest line in characters; a longer one is divided between values and verdict.
    """
    first = found[0]
    lines = [
        Text(f"{name}: {before} → {after}", style="dim") for name, before, after in first.conditions
    ]
    for each in found:
        lines += _lines_of_one(each, width)
    for which, cells in (("before", first.only_before), ("after", first.only_after)):
        if cells:
            lines.append(Text(f"only {which}: {cells_text(cells)}"))
    return lines


def _lines_of_one(found: Difference, width: int) -> Iterator[Text]:
    for cell in found.changed:
        values = f"    {both_text(cell, found)}"
        verdict = verdict_text(cell.comparison, found.metric)
        between = ", " if len(values) + len(verdict) + 2 <= width else "\n    "
        yield Text(cell_text(cell.factors, ", "), style="bold")
        yield Text.assemble(
            values, between, (verdict, verdict_style(cell.comparison, found.metric))
        )
    title = quantity(found.metric, 1).title.lower()
    if found.against:
        title += f", against {cell_text(found.against, ', ')},"
    changed, unchanged = len(found.changed), len(found.unchanged)
    yield Text(
        f"{title} of {number_of_cells(len(found.cells))}: {changed} changed, {unchanged} did not,"
        f" {len(found.cells) - changed - unchanged} undecided"
    )
    if open_ := open_text(found.family):
        yield Text(f"{open_}.", style="dim")


def both_text(cell: CellChange, found: Difference) -> str:
    """Return both values of a cell as text, in one unit; if they were divided by those of a level,
    as ratios.
    """
    if found.against:
        before, after = (
            "–" if each is None else f"{number(each.mean)}×" for each in (cell.before, cell.after)
        )
        return f"{before} → {after} {cell_text(found.against, ', ')}"
    means = [each.mean for each in (cell.before, cell.after) if each is not None]
    shown = quantity(found.metric, max(means, default=0.0))

    def text(each: Estimate | None) -> str:
        return "–" if each is None else mean_text(each, shown)

    return f"{text(cell.before)} → {text(cell.after)} {shown.unit}".rstrip()
