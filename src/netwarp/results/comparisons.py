"""The contenders of a study against the first of them, condition by condition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from netwarp.estimate.comparison import Comparison, compare, holm
from netwarp.metrics import MAIN_METRICS, METRICS

if TYPE_CHECKING:
    from netwarp.results.results import CellResult, Factors, Results


@dataclass(frozen=True)
class ContenderResult:
    """One contender under one condition; the first has nothing to be compared with."""

    cell: CellResult
    label: str
    comparison: Comparison | None


@dataclass(frozen=True)
class ConditionGroup:
    """All contenders under one condition."""

    condition: Factors
    contenders: tuple[ContenderResult, ...]


@dataclass(frozen=True)
class Comparisons:
    """All conditions. The comparisons are one family: their verdicts are Holm-adjusted."""

    metric: str
    factor: str
    first: str
    groups: tuple[ConditionGroup, ...]

    @property
    def comparisons(self) -> list[Comparison]:
        """Of all contenders under all conditions."""
        return [e.comparison for group in self.groups for e in group.contenders if e.comparison]

    @property
    def tested(self) -> int:
        """Size of the family: comparisons with a p-value."""
        return sum(comparison.p is not None for comparison in self.comparisons)


def compare_contenders(results: Results, metric: str | None = None) -> Comparisons:
    """Compare every contender with the first one under each condition.

    Args:
        results: of a study.
        metric: None for the main one, see `main_metric`.
    """
    chosen = metric or main_metric(results)
    factor = results.contender_factor or "transport"
    first = next(iter(results.factors.get(factor, ("",))))
    relevant = results.criteria.relevant
    compared: list[list[tuple[CellResult, Comparison | None]]] = []
    for _, cells in results.conditions():
        base = next((cell for cell in cells if cell.factors.get(factor, "") == first), None)
        compared.append(
            [
                (cell, None)
                if base is None or cell is base
                else (
                    cell,
                    compare(base.samples(chosen), cell.samples(chosen), relevant),
                )
                for cell in cells
            ]
        )
    adjusted = iter(holm([c for group in compared for _, c in group if c is not None]))
    groups = tuple(
        ConditionGroup(
            condition,
            tuple(
                ContenderResult(cell, cell.factors.get(factor, ""), next(adjusted) if c else None)
                for cell, c in group
            ),
        )
        for (condition, _), group in zip(results.conditions(), compared, strict=True)
    )
    return Comparisons(chosen, factor, first, groups)


def main_metric(results: Results) -> str:
    """Choose what a study is first of all about: the completion time, of streams the loading delay.

    A metric that the study itself names comes before all, one of a single workload among several
    after those of all; where there is nothing of these, it is the first that any run has.
    """
    there = set(results.metrics)
    own = (metric for metric in results.metrics if metric not in METRICS and "." not in metric)
    of_workloads = (each for main in MAIN_METRICS for each in results.of_workloads(main))
    wanted = (*own, *MAIN_METRICS, *of_workloads, *METRICS)
    return next((metric for metric in wanted if metric in there), MAIN_METRICS[0])
