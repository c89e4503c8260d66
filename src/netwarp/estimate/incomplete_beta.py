"""The regularized incomplete beta function and its inverse: t distributions and proportions.

scipy has both, but is 35 MB to download and takes half a second to import, more than everything
else that a table of results needs. Tests compare these functions with scipy's.
"""

import math

ACCURACY = 1e-15
MOST_STEPS = 10_000
SMALLEST = 1e-300
"""Value that replaces 0 if the continued fraction would divide by it."""


def regularized_beta(a: float, b: float, x: float, y: float) -> float:
    """Return the regularized incomplete beta function I_x(a, b) (Abramowitz, Stegun 1964, 26.5).

    `y` is 1 − x, which the caller can compute more precisely when x is near 1.
    """
    if x <= 0 or y <= 0:
        return 0.0 if x <= 0 else 1.0
    # The continued fraction converges quickly for x below this point.
    if x > (a + 1) / (a + b + 2):
        return 1 - regularized_beta(b, a, y, x)
    return _power(a, b, x, y) * _continued_fraction(a, b, x) / a


def beta_quantile(a: float, b: float, probability: float) -> float:
    """Return the x at which I_x(a, b) is this probability, between 0 and 1.

    It uses Newton's method, and bisection if a step would leave the interval that contains x.
    """
    low, high, x = 0.0, 1.0, a / (a + b)
    for _ in range(MOST_STEPS):
        above = regularized_beta(a, b, x, 1 - x) - probability
        low, high = (low, x) if above > 0 else (x, high)
        density = _power(a, b, x, 1 - x) / (x * (1 - x))
        closer = x - above / density if density > 0 else low
        if not low < closer < high:
            closer = (low + high) / 2
        if abs(closer - x) <= ACCURACY * x or not low < closer < high:
            return closer
        x = closer
    return x


def _power(a: float, b: float, x: float, y: float) -> float:
    """Return x^a · y^b divided by the beta function of a and b."""
    scale = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return math.exp(scale + a * math.log(x) + b * math.log(y))


def _continued_fraction(a: float, b: float, x: float) -> float:
    """Evaluate the continued fraction 26.5.8 of Abramowitz and Stegun by Lentz's method (1976,
    Applied Optics 15:668).
    """
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
