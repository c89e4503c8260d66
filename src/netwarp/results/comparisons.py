"""Compares the contenders of a study with the first of them, under each condition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from netwarp.estimate.comparison import Comparison, compare, holm
from netwarp.metrics import MAIN_METRICS, METRICS

if TYPE_CHECKING:
    from netwarp.results.results import CellResult, Factors, Results


@dataclass(frozen=True)
class ContenderResult:
    """A contender under one condition, with its comparison; the first contender has none."""

    cell: CellResult
    label: str
    comparison: Comparison | None


@dataclass(frozen=True)
class ConditionGroup:
    """The contenders under one condition."""

    condition: Factors
    contenders: tuple[ContenderResult, ...]


@dataclass(frozen=True)
class Comparisons:
    """The comparisons under all conditions: one family, whose verdicts are Holm-adjusted."""

    metric: str
    factor: str
    first: str
    groups: tuple[ConditionGroup, ...]

    @property
    def comparisons(self) -> list[Comparison]:
        """The comparisons of all contenders under all conditions."""
        return [e.comparison for group in self.groups for e in group.contenders if e.comparison]

    @property
    def tested(self) -> int:
        """Size of the family: the number of comparisons with a p-value."""
        return sum(comparison.p is not None for comparison in self.comparisons)


def compare_contenders(results: Results, metric: str | None = None) -> Comparisons:
    """Compare every contender with the first one, under each condition.

    Args:
        results: the results of a study.
        metric: the metric to compare; None for the main one, see `main_metric`.
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
    """Choose a study's main metric, such as the completion time, or the loading delay of streams.

    A metric that the study itself defines is preferred to all others; a metric of one of several
    workloads comes after those of the whole run. Where a study has none of these, it is the first
    metric that any run has.
    """
    there = set(results.metrics)
    own = (metric for metric in results.metrics if metric not in METRICS and "." not in metric)
    of_workloads = (each for main in MAIN_METRICS for each in results.of_workloads(main))
    wanted = (*own, *MAIN_METRICS, *of_workloads, *METRICS)
    return next((metric for metric in wanted if metric in there), MAIN_METRICS[0])
