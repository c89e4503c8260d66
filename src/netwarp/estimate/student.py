"""Student's t distribution, from the regularized incomplete beta function.

scipy has both; importing it costs half a second, which is more than all else that a table of
results needs. Tests hold these functions against scipy's.
"""

from __future__ import annotations

import math
from functools import cache

ACCURACY = 1e-15
MOST_STEPS = 10_000
SMALLEST = 1e-300
"""Replaces 0 where the continued fraction would divide by it."""


def two_sided_p(t: float, degrees: float) -> float:
    """Chance of a t of at least this size, of either sign, with these degrees of freedom."""
    squared = t * t
    return _regularized_beta(
        degrees / 2, 0.5, degrees / (degrees + squared), squared / (degrees + squared)
    )


@cache
def student_quantile(degrees: float, confidence: float) -> float:
    """How many standard errors a two-sided interval reaches to each side."""
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


def _regularized_beta(a: float, b: float, x: float, y: float) -> float:
    """Regularized incomplete beta function I_x(a, b) (Abramowitz and Stegun 1964, 26.5).

    `y` is 1 − x, which near 1 the caller knows to more digits.
    """
    if x <= 0 or y <= 0:
        return 0.0 if x <= 0 else 1.0
    # The fraction converges quickly on this side of the distribution's middle.
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
