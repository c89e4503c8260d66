"""Tests claims that give a number: that a mean is within a tolerance of it, or that it could be the
result of a single run.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from netwarp.claims.evidence import Answer, Evidence, missing_values
from netwarp.estimate.comparison import ALPHA
from netwarp.estimate.location import ROUNDING, Location, mean_location
from netwarp.estimate.needed import Undecided, stdev_of, to_decide
from netwarp.estimate.stats import mean_of, standard_deviation
from netwarp.estimate.student import student_quantile
from netwarp.results import CellResult
from netwarp.wording import number, quantity

LEAST_FOR_A_RANGE = 5
"""Minimum number of replicates for the range of single runs: with fewer, Student's t makes the
range so wide that it contains every number."""


def near(cell: CellResult, metric: str, published: float, tolerance: float) -> Evidence:
    """Test whether a cell's mean differs from a published number by no more than a tolerance.

    Two one-sided tests show that it does not differ by more (Schuirmann 1987), as for an
    equivalence. If nothing in the plan is random, a single replicate gives the value.

    Args:
        cell: the cell.
        metric: the metric.
        published: the number above 0, in the unit in which the metric is stored.
        tolerance: the share of the number by which the mean may differ.
    """
    if failure := missing_values(metric, cell):
        return failure
    values = cell.values(metric)
    if len(values) < 2 and cell.is_random:
        return Evidence("one replicate shows no spread; two do at least", fixed="untested")
    location = mean_location(values, cell.weights(metric), random=cell.is_random)
    low, high = published * (1 - tolerance), published * (1 + tolerance)
    if location.is_log:
        low, high = math.log(low), math.log(high)
    # A value that equals a limit lies within, despite the rounding of logarithms.
    low, high = (
        limit + sign * ROUNDING * max(1.0, abs(limit)) for limit, sign in ((low, -1), (high, 1))
    )
    chances: dict[Answer, float] = {
        "holds": location.p_within(low, high),
        "reversed": location.p_outside(low, high),
    }

    def again(error: float) -> tuple[str, Mapping[str, Any]]:
        mean = _plain(location.value, location)
        bounds = [_plain(bound, location) for bound in location.interval(1 - error)]
        is_known = not any(map(math.isinf, bounds)) and location.error > 0
        interval = tuple(bounds) if is_known else None
        return _text(metric, mean, published, interval, ""), _values(mean, published, interval)

    n = len(values)
    centre, half = (low + high) / 2, (high - low) / 2
    around = replace(location, value=location.value - centre)
    undecided = to_decide(around, n, stdev_of(location, n), (-half, half), half)
    found, numbers = again(ALPHA)
    return Evidence(
        found, chances, numbers, undecided=undecided, again=again, is_equality=True
    )  # fmt: skip


def of_one_run(cell: CellResult, metric: str, published: float) -> Evidence:
    """Test whether a published number of a single run could be the result of one of our runs.

    It is compared with the interval that contains one more run with a probability of 95 %
    (Student's t, on the log scale). The error probability is not adjusted for the number of
    published numbers: of twenty from the same distribution one lies outside.
    """
    if failure := missing_values(metric, cell):
        return failure
    values = cell.values(metric)
    if len(values) < LEAST_FOR_A_RANGE:
        return Evidence(f"a range of runs takes {LEAST_FOR_A_RANGE} of them", fixed="untested")
    if min(values) <= 0:
        return Evidence("a range on the log scale needs values above 0", fixed="untested")
    mean, (low, high) = _range_of_runs(values)
    holds = low * (1 - ROUNDING) <= published <= high * (1 + ROUNDING)
    text = _text(metric, mean, published, (low, high), "95 % of our runs in ")
    spread = math.log(high / mean)
    # The answer is fixed; a spread means that it may be wrong by chance.
    may_err = Undecided(spread, abs(math.log(published / mean)), len(values)) if spread else None
    return Evidence(
        text, {"holds" if holds else "reversed": 0.0}, _values(mean, published, (low, high)),
        undecided=may_err,
    )  # fmt: skip


def _range_of_runs(values: Sequence[float]) -> tuple[float, tuple[float, float]]:
    """Return the geometric mean, and the interval that contains one more run with a probability of
    95 %.
    """
    logs = [math.log(value) for value in values]
    n, mean = len(logs), mean_of(logs)
    reach = standard_deviation(logs) * math.sqrt(1 + 1 / n)
    reach *= student_quantile(n - 1, 1 - ALPHA)
    return math.exp(mean), (math.exp(mean - reach), math.exp(mean + reach))


def _plain(value: float, location: Location) -> float:
    return math.exp(value) if location.is_log else value


def _text(
    metric: str, mean: float, published: float, interval: tuple[float, ...] | None, before: str
) -> str:
    """Return as text the mean with its interval, the published number, and the ratio of the two."""
    shown = quantity(metric, max(mean, published))
    bounds = ""
    if interval is not None:
        bounds = f" [{before}{', '.join(number(each * shown.scale) for each in interval)}]"
    unit = f" {shown.unit}" if shown.unit else ""
    ours, theirs = (number(each * shown.scale) for each in (mean, published))
    return f"{ours}{bounds}, published {theirs}{unit}, ratio {number(mean / published)}"


def _values(
    mean: float, published: float, interval: tuple[float, ...] | None
) -> dict[str, Any]:  # fmt: skip
    """Return the mean and its interval, in the metric's stored unit, and the ratio of the mean to
    the published number.
    """
    of_ratio = None if interval is None else [bound / published for bound in interval]
    return {
        "mean": mean,
        "mean_interval": None if interval is None else list(interval),
        "published": published,
        "ratio": mean / published,
        "interval": of_ratio,
    }
