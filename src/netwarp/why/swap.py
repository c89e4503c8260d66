"""Explains the difference of two cells by the factors in which they differ.

The cells between the two have the levels of the one for some factors and those of the other for the
rest. A factor's part of the difference is the mean effect of its change, as a ratio, over all
orders in which the factors can be changed (Shapley 1953). The product of all parts is the whole
difference.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from netwarp.errors import InputError
from netwarp.estimate.comparison import Comparison, Sample, compare, holm
from netwarp.results import CellResult, Results
from netwarp.wording import cell_text

MOST_FACTORS = 5
"""Maximum number of factors in which the two cells may differ: a cell is run for every subset of
these factors."""


@dataclass(frozen=True)
class Part:
    """The part of the difference that the change of one factor makes."""

    factor: str
    before: str
    after: str
    comparison: Comparison
    """Mean effect of the change over all orders, as a ratio, compared with no change."""
    first: float
    """Ratio if the factor is changed before all others."""
    last: float
    """Ratio if the factor is changed after all others."""


def parts(results: Results, one: CellResult, other: CellResult, metric: str) -> list[Part]:
    """Divide the difference of two cells among the factors in which they differ.

    Raises:
        InputError: they differ in too many factors, or a cell between them was not run, or has no
            value.
    """
    differing = [key for key in one.factors if one.factors[key] != other.factors[key]]
    if len(differing) > MOST_FACTORS:
        raise InputError(
            f"why: the cells differ in {len(differing)} factors, and each subset of them is a cell;"
            f" name two that differ in at most {MOST_FACTORS}"
        )
    values = {
        frozenset(changed): _logs(_between(results, one, other, changed), metric)
        for size in range(len(differing) + 1)
        for changed in combinations(differing, size)
    }
    shared = set.intersection(*(set(its) for its in values.values()))
    if not shared:
        raise InputError("why: the cells between the two share no replicate that has succeeded")
    replicates = sorted(shared)
    random = one.is_random or other.is_random
    none = _samples(dict.fromkeys(replicates, 1.0), random)
    found = []
    for factor in differing:
        rest = [each for each in differing if each != factor]
        steps = {
            frozenset(before): {
                r: values[frozenset(before) | {factor}][r] - values[frozenset(before)][r]
                for r in replicates
            }
            for size in range(len(rest) + 1)
            for before in combinations(rest, size)
        }
        mean = {
            r: math.exp(
                sum(_shapley_weight(len(s), len(rest)) * its[r] for s, its in steps.items())
            )
            for r in replicates
        }
        compared = compare(none, _samples(mean, random), results.criteria.relevant)
        found.append((factor, compared, steps, rest))
    family = holm([each for _, each, _, _ in found])
    return [
        Part(
            factor, one.factors[factor], other.factors[factor], comparison,
            _mean_ratio(steps[frozenset()]), _mean_ratio(steps[frozenset(rest)]),
        )
        for (factor, _, steps, rest), comparison in zip(found, family, strict=True)
    ]  # fmt: skip


def _samples(values: Mapping[int, float], random: bool) -> dict[int, Sample]:
    """Return samples by replicate. A single sample in which nothing is random is returned twice,
    because a second run would be equal.
    """
    found = {r: Sample(value, r, False, random) for r, value in values.items()}
    if len(found) == 1 and not random:
        (only,) = found.values()
        return {0: only, 1: only}
    return found


def _shapley_weight(before: int, others: int) -> float:
    """Return the weight of a Shapley value: among all orders of the factors, the share in which a
    factor comes directly after a given set of `before` of the `others` other factors.
    """
    return 1 / ((others + 1) * math.comb(others, before))


def _mean_ratio(logs: Mapping[int, float]) -> float:
    return math.exp(sum(logs.values()) / len(logs))


def _between(
    results: Results, one: CellResult, other: CellResult, changed: Sequence[str]
) -> CellResult:
    levels = {key: (other if key in changed else one).factors[key] for key in one.factors}
    found = results.select(levels)
    if not found:
        raise InputError(
            f"why: the cell between the two, {cell_text(levels)}, was not run: run the study"
            " without --filter, or name two cells that differ in one factor"
        )
    return found[0]


def _logs(cell: CellResult, metric: str) -> dict[int, float]:
    found = {run.replicate: run.value(metric) for run in cell.runs}
    return {r: math.log(value) for r, value in found.items() if value is not None and value > 0}
