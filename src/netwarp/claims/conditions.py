"""Groups cells into the conditions over which a claim or an expectation ranges.

The conditions are all combinations of levels of the factors that it does not name.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from netwarp.results import CellResult, Factors, Results

Condition = tuple[tuple[str, str], ...]
"""The levels of a condition, by factor."""
Conditions = dict[Condition, list[CellResult]]


class _WithFactors(Protocol):
    @property
    def factors(self) -> Factors: ...


Cell = TypeVar("Cell", bound=_WithFactors)


@dataclass(frozen=True)
class OpenCondition:
    """An undecided condition of a claim; of a trend, the undecided part may be a single step."""

    cells: frozenset[int]
    """Indices of the cells that the condition compares."""
    replicates_needed: int | None
    """Number of replicates that would decide the condition with a power of 80 %; None if too
    many.
    """
    needed_at: Callable[[float], int | None]
    """A function that returns how many replicates would decide the condition at an interim test
    (look) with this share of the error probability."""


def needed_by_all(conditions: Sequence[OpenCondition]) -> int | None:
    """Return how many replicates would decide all conditions; None if there are no conditions, or
    too many would be needed.
    """
    needed = [each.replicates_needed for each in conditions]
    known = [replicates for replicates in needed if replicates is not None]
    return max(known) if known and len(known) == len(needed) else None


def indices(*cells: CellResult) -> frozenset[int]:
    """Return the indices of cells."""
    return frozenset(cell.index for cell in cells)


def share_of_cells(results: Results, of: Collection[int]) -> float:
    """Return the share of the error probability at which cells, given by their indices, are tested
    together.
    """
    runs = (len(cell.runs) for cell in results.cells if cell.index in of)
    return results.criteria.share_of(runs)


def by_condition(results: Results, selection: Factors, named: set[str]) -> Conditions:
    """Group the selected cells by their levels of the factors that are not named, and return the
    groups.
    """
    return grouped(results.select(selection), named)


def grouped(cells: Iterable[Cell], named: Collection[str | None]) -> dict[Condition, list[Cell]]:
    """Group cells by their levels of the factors that are not named, and return the groups."""
    found: dict[Condition, list[Cell]] = {}
    for cell in cells:
        key = tuple((f, level) for f, level in cell.factors.items() if f not in named)
        found.setdefault(key, []).append(cell)
    return found


def pairs(
    results: Results, where: Factors, first: Factors, second: Factors
) -> Iterable[tuple[Factors, CellResult, CellResult]]:
    """Yield the conditions in which both selections have a cell, each with the two cells."""
    ours = by_condition(results, {**where, **first}, set(first))
    theirs = by_condition(results, {**where, **second}, set(first))
    for key, cells in ours.items():
        if key in theirs:
            yield dict(key), cells[0], theirs[key][0]


def without_partner(
    results: Results, where: Factors, first: Factors, second: Factors
) -> Iterable[tuple[Factors, CellResult]]:
    """Yield the conditions in which only one of two selections has a cell, each with that cell."""
    ours = by_condition(results, {**where, **first}, set(first))
    theirs = by_condition(results, {**where, **second}, set(first))
    for key in [*ours, *theirs]:
        if not (key in ours and key in theirs):
            yield dict(key), (ours.get(key) or theirs[key])[0]


def without_their_level(
    cells: Sequence[CellResult], others: Sequence[CellResult], factor: str
) -> list[str]:
    """Return the levels of a factor that only one of the two compared sides has."""
    ours, theirs = ({cell.factors[factor]: None for cell in each} for each in (cells, others))
    return [level for level in {**ours, **theirs} if not (level in ours and level in theirs)]
