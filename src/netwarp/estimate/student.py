"""Student's t distribution, from the regularized incomplete beta function."""

import math
from functools import cache

from netwarp.estimate.incomplete_beta import regularized_beta


def two_sided_p(t: float, degrees: float) -> float:
    """Return the two-sided p-value of a value of Student's t with this many degrees of freedom."""
    squared = t * t
    return regularized_beta(
        degrees / 2, 0.5, degrees / (degrees + squared), squared / (degrees + squared)
    )


@cache
def student_quantile(degrees: float, confidence: float) -> float:
    """Return a quantile of Student's t: the half-width of a two-sided confidence interval, in
    standard errors.
    """
    tail = 1 - confidence
    low, high = 0.0, 1.0
    while two_sided_p(high, degrees) > tail:
        low, high = high, 2 * high
    while True:
        middle = (low + high) / 2
        if not low < middle < high:
            return middle
        if two_sided_p(middle, degrees) > tail:
            low = middle
        else:
            high = middle


STEPS = 200
"""Number of steps of the integral in `noncentral_t_above`, which give four correct decimals."""


def noncentral_t_above(limit: float, degrees: float, noncentrality: float) -> float:
    """Return the probability that a noncentral t is above `limit`, by Simpson's rule.

    It is the mean of the normal tail's probability over s, where s² is chi-square divided by its
    degrees (Johnson, Kotz, Balakrishnan 1995, Continuous Univariate Distributions 2, chapter 31).
    """
    scale = math.log(2) + degrees / 2 * math.log(degrees / 2) - math.lgamma(degrees / 2)

    def weighted(s: float) -> float:
        if s <= 0:
            return 0.0 if degrees > 1 else math.exp(scale) * _above(-noncentrality)
        density = math.exp(scale + (degrees - 1) * math.log(s) - degrees * s * s / 2)
        return density * _above(limit * s - noncentrality)

    low, high = max(0.0, 1 - 8 / math.sqrt(degrees)), 1 + 8 / math.sqrt(degrees)
    step = (high - low) / STEPS
    ends = weighted(low) + weighted(high)
    odd = math.fsum(weighted(low + i * step) for i in range(1, STEPS, 2))
    even = math.fsum(weighted(low + i * step) for i in range(2, STEPS, 2))
    return min(1.0, step / 3 * (ends + 4 * odd + 2 * even))


def _above(z: float) -> float:
    """Return the probability that a standard normal variable is above `z`."""
    return math.erfc(z / math.sqrt(2)) / 2
