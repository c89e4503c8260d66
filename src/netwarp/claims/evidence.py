"""Tests a claim in one condition.

Each form of claim is a function from cells to `Evidence`, which has a p-value for each possible
answer: the probability of such samples if the answer were wrong. `netwarp.claims.joining` decides
on an answer at the error probability that the claim is allowed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

from netwarp.estimate.comparison import Comparison, compare
from netwarp.estimate.stats import replicates_needed
from netwarp.wording import (
    condition_text,
    digits_to_tell,
    factor_name,
    level_text,
    number,
    quantity,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netwarp.results import CellResult

Answer = Literal["holds", "smaller", "reversed", "equivalent", "depends", "partly"]
Says = Literal[
    "holds", "smaller", "reversed", "equivalent", "depends", "partly", "undecided", "failed",
    "untested",
]  # fmt: skip
ORDER: tuple[Answer, ...] = ("holds", "smaller", "reversed", "equivalent", "depends", "partly")
"""Answers in order of preference: the first that the samples show is given."""


@dataclass(frozen=True)
class Undecided:
    """Spread and distance on the test's scale, to compute the replicates needed."""

    stdev: float
    """Standard deviation of a single replicate."""
    distance: float
    """Distance from the estimate to the nearest limit from which it must be distinguished."""
    n: int
    """Number of replicates so far."""

    def replicates(self, alpha: float) -> int | None:
        """Give the replicates that decide it with a power of 80 %; None if too many."""
        needed = replicates_needed(self.stdev, self.distance, alpha)
        return None if needed is None else max(needed, self.n + 1)


@dataclass(frozen=True)
class Evidence:
    """The result of testing a claim in one condition."""

    found: str
    """The findings in words, with their numbers."""
    chances: Mapping[Answer, float] = field(default_factory=dict)
    """For each possible answer, the probability of such samples if it were wrong."""
    values: Mapping[str, Any] = field(default_factory=dict)
    fixed: Literal["failed", "untested"] | None = None
    """Why there is no answer at any error probability; None where there may be one."""
    short_of: float = 1.0
    """Probability of such samples if the lead were as large as the claim's `up_to`."""
    undecided: Undecided | None = None

    def says(self, alpha: float) -> Says:
        """Give the answer at an error probability."""
        if self.fixed is not None:
            return self.fixed
        shown = (answer for answer in ORDER if self.chances.get(answer, 1.0) < alpha)
        return next(shown, "undecided")

    @property
    def smallest(self) -> float:
        """The smallest error probability at which there is an answer."""
        return min(self.chances.values(), default=1.0)


def failed_runs(*cells: CellResult) -> Evidence | None:
    """Give evidence that names the cells with failed runs; None where no run failed.

    A failed run counts against its cell: it has no value to compare, and leaving it out would bias
    the comparison towards the runs that succeeded.
    """
    failing = [cell for cell in cells if cell.failed]
    if not failing:
        return None
    parts = [
        f"{_short_name(cell, cells)} failed in {len(cell.failed)} of {len(cell.runs)} runs"
        for cell in failing
    ]
    values = {"failed": {_short_name(c, cells): len(c.failed) for c in failing}}
    return Evidence(", ".join(parts), values=values, fixed="failed")


def less(
    cell: CellResult, other: CellResult, metric: str, relevant: float, *,
    by_at_least: float = 0.0, up_to: float = 0.0,
) -> Evidence:  # fmt: skip
    """Test whether `cell` has less than `other`, by at least a share of `other`'s value."""
    if failure := failed_runs(cell, other):
        return failure
    comparison = compare(other.samples(metric), cell.samples(metric), relevant)
    location = comparison.location
    if location is None or (by_at_least and comparison.scale == "difference"):
        return _untested(comparison)
    limit = comparison.limit
    leads = min(1.0, 2 * location.p_below(-limit))
    size = math.log1p(-by_at_least) if by_at_least else -limit
    chances: dict[Answer, float] = {
        "holds": min(1.0, 2 * location.p_below(min(size, -limit))),
        "reversed": min(1.0, 2 * location.p_above(limit)),
        "equivalent": location.p_within(-limit, limit),
    }
    if by_at_least:
        chances["smaller"] = max(leads, location.p_above(size))
    return Evidence(
        _two_means(cell, other, metric, comparison),
        chances,
        _values(cell, other, metric, comparison),
        short_of=location.p_above(math.log1p(-up_to)) if up_to else 1.0,
        undecided=_to_decide(comparison, -limit, limit, size),
    )


def equal(cell: CellResult, other: CellResult, metric: str, tolerance: float) -> Evidence:
    """Test whether two cells are equivalent (two one-sided tests), or differ by the tolerance or
    more.
    """
    if failure := failed_runs(cell, other):
        return failure
    comparison = compare(other.samples(metric), cell.samples(metric), tolerance)
    location = comparison.location
    if location is None or comparison.scale == "difference":
        return _untested(comparison)
    limit = comparison.limit
    chances: dict[Answer, float] = {
        "holds": location.p_within(-limit, limit),
        "reversed": location.p_outside(-limit, limit),
    }
    found = _two_means(cell, other, metric, comparison)
    values = _values(cell, other, metric, comparison)
    return Evidence(found, chances, values, undecided=_to_decide(comparison, -limit, limit))


def flat(cells: Sequence[CellResult], metric: str, factor: str, tolerance: float) -> Evidence:
    """Test whether all levels are equivalent to each other.

    That all pairs are equivalent is an intersection-union test (Berger 1982) and needs no
    correction; that some pair is not is tested many times, and Bonferroni-corrected.
    """
    if len(cells) < 2:
        return Evidence(f"{factor_name(factor)} has one level here", fixed="untested")
    if failure := failed_runs(*cells):
        return failure
    pairs = [equal(second, first, metric, tolerance) for first, second in combinations(cells, 2)]
    if without := next((pair for pair in pairs if pair.fixed), None):
        return without
    apart = max(pairs, key=lambda pair: abs(math.log(pair.values["ratio"])))
    names = [
        [level_text(factor, cell.factors[factor]) for cell in both]
        for both in combinations(cells, 2)
    ][pairs.index(apart)]
    chances: dict[Answer, float] = {
        "holds": max(pair.chances["holds"] for pair in pairs),
        "reversed": min(1.0, len(pairs) * min(pair.chances["reversed"] for pair in pairs)),
    }
    found = f"most apart are {names[1]} and {names[0]}: {apart.found}"
    values = {"pairs": [dict(pair.values) for pair in pairs]}
    return Evidence(found, chances, values, undecided=apart.undecided)


def _to_decide(comparison: Comparison, *limits: float) -> Undecided | None:
    if comparison.location is None or not comparison.stdev:
        return None
    return Undecided(comparison.stdev, comparison.location.distance(*limits), comparison.n)


def _untested(comparison: Comparison) -> Evidence:
    if comparison.location is None:
        return Evidence(str(comparison.verdict), fixed="untested")
    return Evidence("a ratio needs values above 0", fixed="untested")


def _short_name(cell: CellResult, cells: Sequence[CellResult]) -> str:
    """Name a cell by those of its levels in which the cells differ."""
    differing = [
        factor for factor in cell.factors if len({each.factors.get(factor) for each in cells}) > 1
    ]
    named = [
        level_text(factor, cell.factors[factor])
        if factor == "transport"
        else condition_text({factor: cell.factors[factor]})
        for factor in differing
    ]
    return ", ".join(named) or "a cell"


def _two_means(cell: CellResult, other: CellResult, metric: str, found: Comparison) -> str:
    """Write both means, and their ratio or difference with its confidence interval, if there is
    one.

    With a ratio of geometric means the means are geometric, too, so that it is their quotient.
    """
    means = _means(cell, other, metric, found)
    shown = quantity(metric, max(map(abs, means)))
    digits = digits_to_tell(*means)
    texts = [number(mean * shown.scale, digits) for mean in means]
    effect, interval = found.effect or 0.0, found.ci95 or (0.0, 0.0)
    scale = 1.0 if found.scale == "ratio" else shown.scale
    digits = digits_to_tell(effect, found.neutral) if found.scale == "ratio" else 3
    bounds = ", ".join(number(bound * scale, digits) for bound in interval)
    spread = f" [{bounds}]"
    if found.exact:
        spread = ", identical" if effect == found.neutral else ""
    unit = f" {shown.unit}" if shown.unit else ""
    against = f"{texts[0]} against {texts[1]}{unit}"
    return f"{against}, {found.scale} {number(effect * scale, digits)}{spread}"


def _means(cell: CellResult, other: CellResult, metric: str, found: Comparison) -> list[float]:
    """Average the samples that were compared: of paired replicates, those that both cells have.

    A cell may have more replicates than the other because another claim needed them.
    """
    both = cell.samples(metric), other.samples(metric)
    replicates = [both[0].keys() & both[1].keys() if found.paired else each.keys() for each in both]
    return [
        _mean([value for r in those if (value := samples[r].value) is not None], found.scale)
        for samples, those in zip(both, replicates, strict=True)
    ]


def _mean(values: Sequence[float], scale: str) -> float:
    if scale == "difference":
        return math.fsum(values) / len(values)
    return math.exp(math.fsum(map(math.log, values)) / len(values))


def _values(cell: CellResult, other: CellResult, metric: str, found: Comparison) -> dict[str, Any]:
    return {
        "compared": [_short_name(each, (cell, other)) for each in (cell, other)],
        "means": _means(cell, other, metric, found),
        found.scale: found.effect,
        "ci95": found.ci95,
        "p": found.p,
        "equivalence_p": found.equivalence_p,
        "n": found.n,
    }
