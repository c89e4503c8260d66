"""Tests a claim in one condition.

Each form of claim is a function from cells to `Evidence`, which has a p-value for each possible
answer: the probability of such samples if the answer were wrong. `netwarp.claims.joining` decides
on an answer at the claim's error probability.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, Literal, get_args

from netwarp.estimate.comparison import ALPHA, Comparison, compare
from netwarp.estimate.location import Location
from netwarp.estimate.needed import Undecided, to_decide
from netwarp.results import CellResult
from netwarp.wording import (
    condition_text,
    difference_unit,
    digits_to_tell,
    factor_name,
    level_text,
    number,
    quantity,
)

Answer = Literal[
    "holds", "smaller", "larger", "direction", "reversed", "equivalent", "depends", "partly",
]  # fmt: skip
Says = Answer | Literal["undecided", "failed", "untested"]
ORDER: tuple[Answer, ...] = get_args(Answer)
"""Answers in order of precedence: the first one that the samples show is returned."""
SIZE_MARGIN = 0.05
"""Share of a ratio by which a lead may fall short of `up_to`, because sources round their
numbers.
"""
Found = Callable[[float], tuple[str, Mapping[str, Any]]]
"""A function that returns the findings for an error probability: as text, and as values with their
intervals."""


@dataclass(frozen=True)
class Evidence:
    """The result of testing a claim in one condition."""

    found: str
    """The findings as text, with the numbers."""
    chances: Mapping[Answer, float] = field(default_factory=dict)
    """For each possible answer, the probability of such samples if it were wrong."""
    values: Mapping[str, Any] = field(default_factory=dict)
    fixed: Literal["failed", "untested"] | None = None
    """The reason why there can be no answer at any error probability; None if there can be one."""
    reaches: float | None = None
    """The probability of such samples if the lead were smaller than the claim's `up_to`; None if
    the claim has no `up_to`."""
    short_of: float = 1.0
    """The probability of such samples if the lead were at least as large as the claim's `up_to`."""
    undecided: Undecided | None = None
    again: Found | None = None
    """A function that returns the findings for another error probability; None if they have no
    interval."""
    is_equality: bool = False
    """Whether `holds` means that the cells are equivalent."""
    share: float = 1.0
    """Share of the error probability that belongs to the interim test (look) at which its cells
    were tested; see `at_share`."""

    def at_share(self, share: float) -> Evidence:
        """Return the evidence for an interim test (look) that has a share of the error probability.

        Its p-values are larger by the inverse of the share, so that they can be compared with the
        whole error probability.
        """
        return replace(
            self,
            chances={answer: min(1.0, p / share) for answer, p in self.chances.items()},
            reaches=None if self.reaches is None else min(1.0, self.reaches / share),
            short_of=min(1.0, self.short_of / share),
            share=share,
        )

    def replicates_needed(self, error: float, share: float | None = None) -> int | None:
        """Return how many replicates would decide the question with a power of 80 %; None if too
        many, or if nothing is random.

        Args:
            error: the whole error probability at which it is tested.
            share: share of the error probability of the look at which it is to be decided; None for
                the share of its present look.
        """
        if self.undecided is None:
            return None
        return self.undecided.replicates(error * (self.share if share is None else share))

    def at(self, error: float, said: Says) -> Evidence:
        """Return the findings with the intervals that belong to the error probability at which they
        were tested.

        For an equivalence these are the intervals of the two one-sided tests, with confidence 1 − 2
        · error.
        """
        if self.again is None:
            return self
        equivalent = said == "equivalent" or (said == "holds" and self.is_equality)
        found, values = self.again(error * self.share * (2 if equivalent else 1))
        return replace(self, found=found, values=values)

    def says(self, alpha: float) -> Says:
        """Return the answer that the evidence gives at an error probability."""
        if self.fixed is not None:
            return self.fixed
        shown = (answer for answer in ORDER if self.chances.get(answer, 1.0) < alpha)
        return next(shown, "undecided")

    @property
    def smallest(self) -> float:
        """The smallest error probability at which one of the answers is significant."""
        return min(self.chances.values(), default=1.0)


ONE_SIDE_ALONE = Evidence("only one of the two cells was run", fixed="untested")
"""Evidence for a condition in which only one of the two compared cells was run; it decides
nothing.
"""


def one_side_alone_at(factor: str, levels: Sequence[str]) -> Evidence:
    """Return the evidence for a trend if only one of the two compared cells was run at some
    levels.
    """
    listed = ", ".join(level_text(factor, level) for level in levels)
    return Evidence(f"at {listed} only one of the two cells was run", fixed="untested")


def missing_values(metric: str, *cells: CellResult) -> Evidence | None:
    """Return evidence that names the cells with runs that have no value; None if all runs have one.

    A run without a value counts against its cell, whether it failed or has no such metric, because
    leaving it out would bias the comparison towards the other runs. If no successful run of a cell
    has the metric, there is nothing to test.
    """
    failing = [cell for cell in cells if cell.failed]
    if not failing:
        return _without_metric(metric, cells)
    parts = [
        f"{_short_name(cell, cells)} failed in {len(cell.failed)} of {len(cell.runs)} runs"
        for cell in failing
    ]
    values = {"failed": {_short_name(c, cells): len(c.failed) for c in failing}}
    return Evidence(", ".join(parts), values=values, fixed="failed")


def _without_metric(metric: str, cells: Sequence[CellResult]) -> Evidence | None:
    there = {id(cell): len(cell.values(metric)) for cell in cells}
    lacking = [cell for cell in cells if there[id(cell)] < len(cell.runs)]
    if not lacking:
        return None
    if nowhere := [cell for cell in lacking if not there[id(cell)]]:
        names = ", ".join(_short_name(cell, cells) for cell in nowhere)
        return Evidence(f"no {metric} of {names} here", fixed="untested")
    parts = [
        f"{_short_name(cell, cells)} has no value in {len(cell.runs) - there[id(cell)]}"
        f" of {len(cell.runs)} runs"
        for cell in lacking
    ]
    values = {"no_value": {_short_name(c, cells): len(c.runs) - there[id(c)] for c in lacking}}
    return Evidence(", ".join(parts), values=values, fixed="failed")


def lead_chances(location: Location, limit: float, size: float) -> dict[Answer, float]:
    """Return the p-values of a claim that one cell leads another by a given size, one for each
    possible answer.
    """
    return {
        "holds": location.p_below(min(size, -limit), 2),
        "reversed": location.p_above(limit, 2),
        "equivalent": location.p_within(-limit, limit),
    }


def less(
    cell: CellResult, other: CellResult, metric: str, relevant: float, *,
    by_at_least: float = 0.0, up_to: float = 0.0, by_at_most: float = 1.0,
) -> Evidence:  # fmt: skip
    """Test whether the value of `cell` is smaller than the value of `other`, by a share of the
    latter between two limits.

    With both bounds a lead holds if it is shown to lie between them (an intersection-union test,
    Berger 1982). It may lie outside on either side, so that it lies outside is tested two-sided.
    """
    if failure := missing_values(metric, cell, other):
        return failure
    comparison = compare(other.samples(metric), cell.samples(metric), relevant)
    location = comparison.location
    is_bounded = by_at_most < 1
    if location is None or ((by_at_least or is_bounded) and comparison.scale == "difference"):
        return _untested(comparison)
    limit = comparison.limit
    leads = location.p_below(-limit, 2)
    size = math.log1p(-by_at_least) if by_at_least else -limit
    chances = lead_chances(location, limit, size)
    if by_at_least or is_bounded:
        chances["direction"] = leads
    if by_at_least:
        chances["smaller"] = max(leads, location.p_above(size, 2 if is_bounded else 1))
    most = math.log1p(-by_at_most) if is_bounded else -limit
    if is_bounded:
        chances["holds"] = max(chances["holds"], location.p_above(most))
        chances["larger"] = max(leads, location.p_below(most, 2))
    largest = min(math.log1p(-up_to) + math.log1p(SIZE_MARGIN), -limit)
    return _with_numbers(
        cell, other, metric, comparison,
        Evidence(
            "", chances,
            reaches=location.p_below(largest) if up_to else None,
            short_of=location.p_above(largest) if up_to else 1.0,
            undecided=_to_decide(
                comparison, -limit, limit, size, most, *([largest] if up_to else [])
            ),
        ),
    )  # fmt: skip


def equal(cell: CellResult, other: CellResult, metric: str, tolerance: float) -> Evidence:
    """Test whether two cells are equivalent (two one-sided tests), or differ by the tolerance or
    more.
    """
    if failure := missing_values(metric, cell, other):
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
    undecided = _to_decide(comparison, -limit, limit)
    found = Evidence("", chances, undecided=undecided, is_equality=True)
    return _with_numbers(cell, other, metric, comparison, found)


def flat(cells: Sequence[CellResult], metric: str, factor: str, tolerance: float) -> Evidence:
    """Test whether all levels are equivalent to each other.

    That all pairs are equivalent is an intersection-union test (Berger 1982) and needs no
    correction. That some pair is not equivalent is tested once for each pair, and
    Bonferroni-corrected.
    """
    if len(cells) < 2:
        return Evidence(f"{factor_name(factor)} has one level here", fixed="untested")
    if failure := missing_values(metric, *cells):
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
    place = pairs.index(apart)

    def again(error: float) -> tuple[str, Mapping[str, Any]]:
        anew = [pair.again(error) for pair in pairs if pair.again is not None]
        found = f"most apart are {names[1]} and {names[0]}: {anew[place][0]}"
        return found, {"pairs": [dict(values) for _, values in anew]}

    found, values = again(ALPHA)
    hardest = [pair.undecided for pair in pairs if pair.undecided is not None]
    undecided = max(hardest, key=lambda each: each.hardness, default=None)
    return Evidence(found, chances, values, undecided=undecided, again=again, is_equality=True)


def _with_numbers(
    cell: CellResult, other: CellResult, metric: str, comparison: Comparison, found: Evidence
) -> Evidence:
    """Return the evidence with findings added: both means, and the comparison with its interval at
    an error probability.
    """

    def again(error: float) -> tuple[str, Mapping[str, Any]]:
        adjusted = replace(comparison, error=error)
        return (
            _two_means(cell, other, metric, adjusted), _values(cell, other, metric, adjusted)
        )  # fmt: skip

    text, values = again(ALPHA)
    return replace(found, found=text, values=values, again=again)


def _to_decide(comparison: Comparison, *limits: float) -> Undecided | None:
    stdev = comparison.stdev or 0.0
    return to_decide(comparison.location, comparison.n, stdev, limits, comparison.limit)


def _untested(comparison: Comparison) -> Evidence:
    if comparison.location is None:
        return Evidence(str(comparison.verdict), fixed="untested")
    return Evidence("a ratio needs values above 0", fixed="untested")


def _short_name(cell: CellResult, cells: Sequence[CellResult]) -> str:
    """Return a short name of a cell: only the levels in which the cells differ."""
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
    """Return as text both means, and their ratio or difference, with its confidence interval if it
    has one.

    If the comparison is a ratio of geometric means, the means are geometric too, so that their
    quotient is the ratio.
    """
    means = _means(cell, other, metric, found)
    shown = quantity(metric, max(map(abs, means)))
    digits = digits_to_tell(*means)
    texts = [number(mean * shown.scale, digits) for mean in means]
    effect, interval = found.effect or 0.0, found.interval or ()
    scale = 1.0 if found.scale == "ratio" else shown.scale
    digits = digits_to_tell(effect, found.neutral) if found.scale == "ratio" else 3
    bounds = ", ".join(number(bound * scale, digits) for bound in interval)
    spread = f" [{bounds}]" if interval else ""
    if found.exact:
        spread = ", identical" if effect == found.neutral else ""
    unit = f" {shown.unit}" if shown.unit else ""
    against = f"{texts[0]} against {texts[1]}{unit}"
    of_effect = f" {difference_unit(shown.unit)}" if found.scale == "difference" else ""
    size = f"{number(effect * scale, digits)}{of_effect}".rstrip()
    return f"{against}, {found.scale} {size}{spread}"


def _means(cell: CellResult, other: CellResult, metric: str, found: Comparison) -> list[float]:
    """Return the means of the samples that were compared; of paired replicates, those that both
    cells have.

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
    """Return the numbers of a comparison, as `--json` prints them."""
    return {
        "compared": [_short_name(each, (cell, other)) for each in (cell, other)],
        "means": _means(cell, other, metric, found),
        found.scale: found.effect,
        "ci95": found.ci95,
        "interval": found.interval,
        "error": found.error,
        "p": found.p,
        "equivalence_p": found.equivalence_p,
        "n": found.n,
    }
