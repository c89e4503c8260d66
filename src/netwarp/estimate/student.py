"""Student's t distribution, from the regularized incomplete beta function.

scipy has both, but importing it takes half a second, more than everything else that a table of
results needs. Tests compare these functions with scipy's.
"""

import math
from functools import cache

ACCURACY = 1e-15
MOST_STEPS = 10_000
SMALLEST = 1e-300
"""Replaces 0 where the continued fraction would divide by it."""


def two_sided_p(t: float, degrees: float) -> float:
    """Return the two-sided p-value of a t with some degrees of freedom."""
    squared = t * t
    return _regularized_beta(
        degrees / 2, 0.5, degrees / (degrees + squared), squared / (degrees + squared)
    )


@cache
def student_quantile(degrees: float, confidence: float) -> float:
    """Return the half-width of a two-sided interval in standard errors: a quantile of t."""
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
"""Steps of the integral in `noncentral_t_above`; with these it is right to four decimals."""


def noncentral_t_above(limit: float, degrees: float, noncentrality: float) -> float:
    """Return the probability that a noncentral t is above `limit`, by Simpson's rule.

    It is the mean of the normal tail over s, where s² is chi-square divided by its degrees
    (Johnson, Kotz, Balakrishnan 1995, Continuous Univariate Distributions 2, chapter 31).
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


def _regularized_beta(a: float, b: float, x: float, y: float) -> float:
    """Return the regularized incomplete beta function I_x(a, b) (Abramowitz, Stegun 1964, 26.5).

    `y` is 1 − x, which the caller knows more precisely when x is near 1.
    """
    if x <= 0 or y <= 0:
        return 0.0 if x <= 0 else 1.0
    # The continued fraction converges quickly for x below this point.
    if x > (a + 1) / (a + b + 2):
        return 1 - _regularized_beta(b, a, y, x)
    scale = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    power = math.exp(scale + a * math.log(x) + b * math.log(y))
    return power * _beta_fraction(a, b, x) / a


def _beta_fraction(a: float, b: float, x: float) -> float:
    """Evaluate the continued fraction 26.5.8 by Lentz's method (1976, Applied Optics 15:668)."""
    value, c, d = 1.0, math.inf, 1.0
    for step in range(1, MOST_STEPS):
        m = step // 2
        if step % 2 == 0:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        else:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d = 1 / ((1 + term * d) or SMALLEST)
        c = (1 + term / c) or SMALLEST
        value *= c * d
        if abs(c * d - 1) < ACCURACY:
            break
    return value
