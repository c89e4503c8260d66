"""Judges the expectations of a study by its results: each holds, does not hold, or is undecided.

An expectation is judged in the same way as a claim: it ranges over conditions, each of which is
tested for both answers, and all expectations of a study are one family (see
`netwarp.claims.joining`). A condition is decided if its interval lies entirely on one side of the
bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import Any

from netwarp.claims.conditions import (
    OpenCondition,
    by_condition,
    indices,
    needed_by_all,
    pairs,
    share_of_cells,
    without_partner,
)
from netwarp.claims.evidence import ONE_SIDE_ALONE, Answer, Evidence, Says, less, missing_values
from netwarp.claims.joining import family_errors, join, smallest_chance
from netwarp.estimate.comparison import compare
from netwarp.estimate.location import ROUNDING, Location, mean_location
from netwarp.estimate.needed import stdev_of, to_decide
from netwarp.estimate.stats import Interval
from netwarp.metrics import metric_named
from netwarp.results import CellResult, Factors, Results
from netwarp.study.expectations import Expectation


class Kept(StrEnum):
    """Whether an expectation is met, as far as the results show."""

    HOLDS = "holds"
    """The results show that the bound is kept in every condition."""
    BROKEN = "does-not-hold"
    """The results show in some condition that the bound is not kept, or runs of its cells have no
    value.
    """
    UNDECIDED = "undecided"
    """The replicates do not decide whether the bound is kept, or no run could decide it."""


@dataclass(frozen=True)
class ExpectedCondition:
    """One condition of an expectation, with its result."""

    factors: Factors
    """Levels of the factors that the expectation does not name."""
    cells: frozenset[int]
    """Indices of the cells that were judged."""
    kept: Kept
    value: float | None
    """The mean, or the ratio; None if no run gives one."""
    interval: Interval | None
    """The interval by which the condition was judged; None if it is unbounded because there are too
    few replicates.
    """
    why_none: str
    """Reason why there is no value; empty if there is one."""
    is_exact: bool
    """Whether nothing was random, so that the value itself is the answer."""
    error: float
    """The error probability at which the condition was tested."""
    replicates_needed: int | None
    """Number of replicates that would decide the condition; None if it is decided, or too many
    would be needed.
    """


@dataclass(frozen=True)
class ExpectationResult:
    """An expectation, and whether it is met."""

    expectation: Expectation
    kept: Kept
    conditions: tuple[ExpectedCondition, ...]
    open: tuple[OpenCondition, ...] = ()
    """The conditions that are undecided but that further replicates may decide."""

    @property
    def text(self) -> str:
        """The expectation as it was written."""
        return self.expectation.text

    @property
    def unit(self) -> str:
        """The unit of values and bound; empty if they are ratios of two cells."""
        return "" if self.expectation.against else metric_named(self.expectation.metric).unit

    @property
    def replicates_needed(self) -> int | None:
        """Number of replicates that would decide all open conditions; None if none is open, or too
        many would be needed.
        """
        return needed_by_all(self.open)

    def to_json(self) -> dict[str, Any]:
        """Return the fields that `--json` prints, in base units."""
        said = self.expectation
        return {
            "text": said.text,
            "place": said.place,
            "metric": said.metric,
            "of": dict(said.of),
            "against": None if said.against is None else dict(said.against),
            "where": dict(said.where),
            "relation": said.relation,
            "bound": said.bound,
            "unit": self.unit,
            "answer": self.kept.value,
            "replicates_needed": self.replicates_needed,
            "conditions": [_condition_json(each) for each in self.conditions],
        }


def evaluate_expectations(
    expectations: Sequence[Expectation], results: Results
) -> list[ExpectationResult]:
    """Judge the expectations of a study, in their order. The error probability is controlled over
    all of them, as one family.

    The probability that even one of them is wrongly judged to hold, or not to hold, is at most 5 %.
    """
    evidences = [
        [
            (condition, found.at_share(share_of_cells(results, cells)), cells)
            for condition, found, cells in _evidence(each, results)
        ]
        for each in expectations
    ]
    chances = [smallest_chance([each for _, each, _ in found]) for found in evidences]
    errors = family_errors(chances, results.criteria.alpha)
    return [
        _result(each, found, error)
        for each, found, error in zip(expectations, evidences, errors, strict=True)
    ]


_Found = tuple[Factors, Evidence, frozenset[int]]


def _evidence(said: Expectation, results: Results) -> Iterable[_Found]:
    """Test an expectation in each condition, and return the evidence."""
    if said.against is not None:
        relevant = results.criteria.relevant
        for condition, cell, other in pairs(results, said.where, said.of, said.against):
            yield condition, bounded_ratio(cell, other, said, relevant), indices(cell, other)
        for condition, cell in without_partner(results, said.where, said.of, said.against):
            yield condition, ONE_SIDE_ALONE, indices(cell)
        return
    for key, cells in by_condition(results, {**said.where, **said.of}, set(said.of)).items():
        for cell in cells:
            yield dict(key), bounded_mean(cell, said), indices(cell)


def bounded_mean(cell: CellResult, said: Expectation) -> Evidence:
    """Test whether the mean of a cell is on the expected side of the bound, or on the other."""
    if failure := _lacking(said.metric, cell):
        return failure
    values = cell.values(said.metric)
    if len(values) < 2:
        return Evidence("one replicate shows no spread; two do at least", fixed="untested")
    location = mean_location(
        values, cell.weights(said.metric), random=cell.is_random, on_log_scale=said.bound > 0
    )
    n = len(values)

    def again(error: float) -> tuple[str, Mapping[str, Any]]:
        low, high = (_plain(bound, location) for bound in location.interval(1 - error))
        interval = None if math.isinf(high) or math.isinf(low) else (low, high)
        return "", {"value": _plain(location.value, location), "interval": interval}

    return _bounded(Evidence("", again=again), location, said, n, stdev_of(location, n))


def bounded_ratio(
    cell: CellResult, other: CellResult, said: Expectation, relevant: float
) -> Evidence:
    """Test whether the ratio of two cells is on the expected side of the bound, or on the other."""
    if failure := _lacking(said.metric, cell, other):
        return failure
    found = less(cell, other, said.metric, relevant)
    if found.fixed is not None:
        return found
    comparison = compare(other.samples(said.metric), cell.samples(said.metric), relevant)
    location = comparison.location
    if location is None or comparison.scale == "difference":
        return Evidence("a ratio needs values above 0", fixed="untested")
    return _bounded(found, location, said, comparison.n, comparison.stdev or 0.0)


def _lacking(metric: str, *cells: CellResult) -> Evidence | None:
    """Return evidence against an expectation if runs of its cells failed or have no value; None if
    all runs have a value.

    Unlike for a claim, the evidence is also returned if no run has a value.
    """
    failure = missing_values(metric, *cells)
    return None if failure is None else replace(failure, fixed="failed")


def _bounded(
    found: Evidence, location: Location, said: Expectation, n: int, stdev: float
) -> Evidence:
    """Return the evidence for the side of the bound on which an estimate lies."""
    bound = math.log(said.bound) if location.is_log else said.bound
    # A value that equals the bound counts as on the side that the relation states, despite the
    # rounding of logarithms.
    bound += ROUNDING * max(1.0, abs(bound)) * (-1 if said.is_strict == said.is_upper else 1)
    below, above = location.p_below(bound, 2), location.p_above(bound, 2)
    holds, reversed_ = (below, above) if said.is_upper else (above, below)
    chances: dict[Answer, float] = {"holds": holds, "reversed": reversed_}
    undecided = to_decide(location, n, stdev, (bound,), 0.0)
    return replace(found, chances=chances, undecided=undecided)


def _plain(value: float, location: Location) -> float:
    return math.exp(value) if location.is_log else value


def _result(said: Expectation, found: Sequence[_Found], error: float) -> ExpectationResult:
    """Return the result of an expectation, from its evidence in each condition."""
    if not found:
        none = ExpectedCondition(
            {}, frozenset(), Kept.UNDECIDED, None, None,
            "this run has none of the cells that it is about", False, error, None,
        )  # fmt: skip
        return ExpectationResult(said, Kept.UNDECIDED, (none,))
    joined = join([each for _, each, _ in found], error)
    listed = [
        _condition(said, condition, each.at(its, says), cells, says, its)
        for (condition, each, cells), says, its in zip(
            found, joined.says, joined.errors, strict=True
        )
    ]
    open_ = tuple(
        OpenCondition(
            each.cells, each.replicates_needed, partial(evidence.replicates_needed, each.error)
        )
        for each, (_, evidence, _) in zip(listed, found, strict=True)
        if each.kept is Kept.UNDECIDED and evidence.undecided is not None
    )
    return ExpectationResult(said, _joined([each.kept for each in listed]), tuple(listed), open_)


def _joined(kept: Sequence[Kept]) -> Kept:
    """Return the result of all conditions together: the expectation holds if it holds in all, and
    does not hold if the opposite is shown in one.
    """
    if Kept.BROKEN in kept:
        return Kept.BROKEN
    return Kept.UNDECIDED if Kept.UNDECIDED in kept else Kept.HOLDS


def _condition(
    said: Expectation, factors: Factors, found: Evidence, cells: frozenset[int], says: Says,
    error: float,
) -> ExpectedCondition:  # fmt: skip
    """Return the result of an expectation in one condition."""
    answers = {"holds": Kept.HOLDS, "reversed": Kept.BROKEN, "failed": Kept.BROKEN}
    kept = answers.get(says, Kept.UNDECIDED)
    value = found.values.get("value", found.values.get("ratio"))
    needed = None
    if kept is Kept.UNDECIDED and found.undecided is not None:
        needed = found.replicates_needed(error)
    return ExpectedCondition(
        factors={f: level for f, level in factors.items() if f not in said.where},
        cells=cells,
        kept=kept,
        value=value,
        interval=found.values.get("interval"),
        why_none=found.found if value is None else "",
        is_exact=value is not None and found.undecided is None,
        error=error,
        replicates_needed=needed,
    )


def _condition_json(each: ExpectedCondition) -> dict[str, Any]:
    return {
        "factors": dict(each.factors),
        "answer": each.kept.value,
        "value": each.value,
        "interval": None if each.interval is None else list(each.interval),
        "exact": each.is_exact,
        "error": each.error,
        "why_none": each.why_none or None,
        "replicates_needed": each.replicates_needed,
    }
