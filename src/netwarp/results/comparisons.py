"""Compares the contenders of a study with the first of them, under each condition."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from netwarp.estimate.comparison import ALPHA, Comparison, Verdict, compare, holm, replicates_needed
from netwarp.estimate.criteria import Criteria
from netwarp.metrics import MAIN_METRICS, METRICS, metric_named
from netwarp.results.results import CellResult, Factors, Results
from netwarp.study.contenders import LATENCY, shapes_queues

GOODPUT = "goodput_bit_s"
"""Name of the main metric of workloads that have no other, because they are stopped after a given
time."""


@dataclass(frozen=True)
class ContenderResult:
    """A contender (one of the compared levels) under one condition, with its comparison against the
    first contender. The first one has none.
    """

    cell: CellResult
    label: str
    comparison: Comparison | None


@dataclass(frozen=True)
class ConditionGroup:
    """All contenders under one condition, for example all transports at one loss rate."""

    condition: Factors
    contenders: tuple[ContenderResult, ...]


@dataclass(frozen=True)
class Comparisons:
    """The comparisons under all conditions. Their p-values are adjusted together, as one family
    (Holm).
    """

    metric: str
    factor: str
    first: str
    groups: tuple[ConditionGroup, ...]
    alpha: float = ALPHA
    """Error probability of the whole family."""

    @property
    def comparisons(self) -> list[Comparison]:
        """The comparisons of all contenders under all conditions."""
        return [e.comparison for group in self.groups for e in group.contenders if e.comparison]

    @property
    def tested(self) -> int:
        """Size of the family: the number of comparisons with a p-value."""
        return sum(comparison.p is not None for comparison in self.comparisons)

    @property
    def with_values(self) -> Comparisons:
        """Return the comparisons without the conditions in which no run has a value of the metric,
        for example because they do not include the metric's workload.
        """
        groups = tuple(
            group
            for group in self.groups
            if any(each.cell.values(self.metric) or each.cell.failed for each in group.contenders)
        )
        return replace(self, groups=groups)

    @property
    def undecided(self) -> list[Comparison]:
        """The comparisons that the replicates do not decide, beginning with the one nearest to a
        verdict.
        """
        found = [each for each in self.comparisons if each.verdict is Verdict.UNDECIDED]
        return sorted(found, key=lambda each: self.replicates_needed(each) or math.inf)

    def replicates_needed(self, comparison: Comparison) -> int | None:
        """Return the number of replicates that would decide this comparison; None if too many would
        be needed. See `netwarp.estimate.comparison`.
        """
        return self.needed_at(comparison, comparison.share)

    def needed_at(self, comparison: Comparison, share: float) -> int | None:
        """Return the number of replicates that would decide this comparison if it is tested with
        `share` of the error probability; None if too many would be needed.
        """
        return replicates_needed(comparison, self.comparisons, self.alpha, share)


def compare_contenders(results: Results, metric: str | None = None) -> Comparisons:
    """Compare every contender with the first one, under each condition.

    Args:
        results: the results of a study.
        metric: the metric to compare; None for the main one, see `main_metric`.
    """
    chosen = metric or main_metric(results)
    factor = results.contender_factor or "transport"
    first = results.first
    compared: list[list[tuple[CellResult, Comparison | None]]] = []
    for _, cells in results.conditions():
        base = next((cell for cell in cells if cell.factors.get(factor, "") == first), None)
        compared.append(
            [
                (cell, None)
                if base is None or cell is base
                else (cell, _compared(base, cell, chosen, results.criteria))
                for cell in cells
            ]
        )
    alpha = results.criteria.alpha
    adjusted = iter(holm([c for group in compared for _, c in group if c is not None], alpha))
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
    return Comparisons(chosen, factor, first, groups, alpha)


def _compared(base: CellResult, cell: CellResult, metric: str, criteria: Criteria) -> Comparison:
    share = criteria.share_of(len(each.runs) for each in (base, cell))
    found = compare(base.samples(metric), cell.samples(metric), criteria.relevant)
    return replace(found, share=share)


def main_metric(results: Results) -> str:
    """Choose a study's main metric: the first of those that it names, else `usual_metric`."""
    there = set(results.metrics)
    return next((m for m in results.compared_by.metrics if m in there), usual_metric(results))


def main_metrics(results: Results) -> list[str]:
    """Return the metrics whose comparisons are the study's answer, the main one first.

    These are the metrics that the study names. If it names none, they are the usual one, that of
    each workload if there are several, and the round-trip time under load if something varies that
    affects it.
    """
    there = set(results.metrics)
    named = [metric for metric in results.compared_by.metrics if metric in there]
    if named:
        return list(dict.fromkeys(named))
    found = [usual_metric(results), *_metrics_of_workloads(results)]
    if LATENCY in there and any(
        len(levels) > 1 and shapes_queues(factor) for factor, levels in results.factors.items()
    ):
        found.append(LATENCY)
    return list(dict.fromkeys(found))


def metrics_beside(results: Results, metric: str) -> list[str]:
    """Return the metrics that are printed together with this one, as far as the runs have them. In
    a metric's list, `*.NAME` stands for the metric NAME of each workload.
    """
    named = metric_named(metric).beside or ()
    each = (
        results.of_workloads(name.removeprefix("*.")) if name.startswith("*.") else [name]
        for name in named
    )
    found = [name for names in each for name in names if name in results.metrics]
    return [name for name in found if name != metric]


def _metrics_of_workloads(results: Results) -> list[str]:
    """Return the main metric of each of several workloads; empty if there is one workload."""
    names = dict.fromkeys(name.partition(".")[0] for name in results.metrics if "." in name)
    of_one = (*MAIN_METRICS, GOODPUT)
    there = set(results.metrics)
    each = (
        next((f"{name}.{metric}" for metric in of_one if f"{name}.{metric}" in there), None)
        for name in names
    )
    return [metric for metric in each if metric is not None]


def usual_metric(results: Results) -> str:
    """Choose the main metric of a study that names none, such as the completion time, or the
    loading delay of streams.

    A metric that the study itself defines is preferred to all others; a metric of one of several
    workloads comes after those of the whole run. If no run has any of the usual metrics, it is the
    first metric that a run has.
    """
    there = set(results.metrics)
    own = (metric for metric in results.metrics if metric not in METRICS and "." not in metric)
    of_workloads = (each for main in MAIN_METRICS for each in results.of_workloads(main))
    wanted = (*own, *MAIN_METRICS, *of_workloads, *METRICS)
    return next((metric for metric in wanted if metric in there), MAIN_METRICS[0])
