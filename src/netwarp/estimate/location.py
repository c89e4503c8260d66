"""An estimate with its standard error, for intervals and p-values by Student's t."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netwarp.estimate.stats import mean_of, standard_deviation
from netwarp.estimate.student import student_quantile, two_sided_p

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netwarp.estimate.stats import Interval


@dataclass(frozen=True, slots=True)
class Location:
    """A mean, its standard error and the degrees of freedom of Student's t.

    With an error of 0 nothing was random: intervals are points, and p-values are 0 or 1.
    """

    value: float
    error: float
    degrees: float

    def interval(self, confidence: float) -> Interval:
        """Give the two-sided confidence interval."""
        if self.error == 0:
            return (self.value, self.value)
        half = self.error * student_quantile(self.degrees, confidence)
        return (self.value - half, self.value + half)

    def p_above(self, limit: float) -> float:
        """Give the one-sided p-value of a value this high if the true one were `limit` or less."""
        if self.error == 0:
            return 0.0 if self.value > limit else 1.0
        t = (self.value - limit) / self.error
        tail = two_sided_p(abs(t), self.degrees) / 2
        return tail if t > 0 else 1 - tail

    def p_below(self, limit: float) -> float:
        """Give the one-sided p-value of a value this low if the true one were `limit` or more."""
        return Location(-self.value, self.error, self.degrees).p_above(-limit)

    def p_within(self, low: float, high: float) -> float:
        """Give the p-value of such a value if the true one were outside of `low` … `high`.

        It is that of two one-sided tests (Schuirmann 1987, J. Pharmacokinetics and Biopharmaceutics
        15:657).
        """
        if self.error == 0:
            return 0.0 if low <= self.value <= high else 1.0
        return max(self.p_above(low), self.p_below(high))

    def p_outside(self, low: float, high: float) -> float:
        """Give the two-sided p-value of such a value if the true one were within `low` … `high`."""
        return min(1.0, 2 * min(self.p_below(low), self.p_above(high)))

    def distance(self, *limits: float) -> float:
        """Give the distance to the nearest of some limits."""
        return min(abs(self.value - limit) for limit in limits)


def location_of(values: Sequence[float]) -> Location:
    """Estimate the mean of the distribution of two samples or more."""
    error = standard_deviation(values) / math.sqrt(len(values))
    return Location(mean_of(values), error, len(values) - 1)


def difference_of(first: Sequence[float], second: Sequence[float]) -> Location:
    """Estimate the difference of two means, second minus first (Welch 1947, Biometrika 34:28)."""
    parts = [(standard_deviation(each) ** 2 / len(each), len(each) - 1) for each in (first, second)]
    variance = sum(part for part, _ in parts)
    value = mean_of(second) - mean_of(first)
    if variance == 0:
        return Location(value, 0.0, len(first) + len(second) - 2)
    degrees = variance**2 / sum(part**2 / each for part, each in parts)
    return Location(value, math.sqrt(variance), degrees)
