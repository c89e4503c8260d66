"""Estimates with confidence intervals from samples.

Pure. Comparisons of two cells are in `netwarp.estimate.comparison`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from netwarp.estimate.incomplete_beta import beta_quantile
from netwarp.estimate.student import noncentral_t_above, student_quantile

CONFIDENCE = 0.95

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Estimate:
    """The estimate of a metric in a cell. All numbers are in the metric's unit.

    `ci95` is the 95 % confidence interval of the mean; None if there is only one sample.
    """

    mean: float
    ci95: Interval | None
    median: float
    p25: float
    p75: float
    minimum: float
    maximum: float
    stdev: float | None
    samples: tuple[float, ...]

    @property
    def n(self) -> int:
        """Number of samples."""
        return len(self.samples)

    @property
    def half_width(self) -> float | None:
        """Half the width of `ci95`: the number after ±."""
        return None if self.ci95 is None else (self.ci95[1] - self.ci95[0]) / 2

    @property
    def all_equal(self) -> bool:
        """Whether there are several samples and all are equal. If nothing in the plan was random,
        they are exact.
        """
        return self.n > 1 and self.minimum == self.maximum


def estimate(samples: Sequence[float], weights: Sequence[float] | None = None) -> Estimate:
    """Estimate mean, interval, median and spread of samples; the interval of the mean is Student's
    t.

    Quantiles are interpolated linearly (type 7 of Hyndman and Fan 1996). Raises ValueError when
    there is no sample or one is not finite.

    Args:
        samples: one for each replicate.
        weights: for samples that are quotients, such as rates, their denominators: the mean is then
            the sum of the numerators over that of the denominators.
    """
    values = _finite(samples)
    in_order = sorted(values)
    return Estimate(
        mean=mean_of(values, weights),
        ci95=mean_interval(values, weights=weights),
        median=_quantile(in_order, 0.5),
        p25=_quantile(in_order, 0.25),
        p75=_quantile(in_order, 0.75),
        minimum=in_order[0],
        maximum=in_order[-1],
        stdev=standard_deviation(values) if len(values) > 1 else None,
        samples=tuple(values),
    )


def mean_interval(
    samples: Sequence[float], confidence: float = CONFIDENCE, weights: Sequence[float] | None = None
) -> Interval | None:
    """Return the two-sided confidence interval of the mean by Student's t ("Student" 1908,
    Biometrika 6:1).

    For positive samples it is computed on the log scale: by the delta method the mean's logarithm
    has the standard error s ÷ (mean · √n), so the bounds are factors of the mean and none is
    negative, however few or skewed the samples are. If a sample is 0, the lower bound is at least
    0.

    It is None for a single sample, which has no spread, and a point for equal samples.

    With weights it is the interval of a quotient of sums, by the same method (the ratio estimator:
    Cochran 1977, Sampling Techniques, chapter 6). For a fixed size divided by the time it takes,
    the bounds are the size over the bounds of the mean time.
    """
    values = _finite(samples)
    if len(values) == 1:
        return None
    mean = mean_of(values, weights)
    if min(values) == max(values):
        return (mean, mean)
    error = standard_error(residuals(values, weights, mean))
    half = error * student_quantile(len(values) - 1, confidence)
    if min(values) > 0:
        factor = math.exp(half / mean)
        return (mean / factor, mean * factor)
    return (max(0.0, mean - half) if min(values) == 0 else mean - half, mean + half)


def binomial_interval(successes: int, trials: int, confidence: float = CONFIDENCE) -> Interval:
    """Return a proportion's exact confidence interval (Clopper, Pearson 1934, Biometrika 26:404).

    For a loss ratio, `successes` is the number of packets that were dropped, and `trials` that of
    all packets. The interval is conservative, and (0, 1) if there are no trials. Raises ValueError
    unless 0 ≤ successes ≤ trials.
    """
    if not 0 <= successes <= trials:
        raise ValueError(f"{successes} of {trials} is no proportion")
    if trials == 0:
        return (0.0, 1.0)
    tail = (1 - confidence) / 2
    failures = trials - successes
    low = 0.0 if successes == 0 else beta_quantile(successes, failures + 1, tail)
    high = 1.0 if failures == 0 else beta_quantile(successes + 1, failures, 1 - tail)
    return (low, high)


MOST_REPLICATES = 100_000
"""Maximum number of replicates that is proposed to the user; more would be impractical."""


def replicates_needed(
    stdev: float, distance: float, alpha: float = 1 - CONFIDENCE, power: float = 0.8
) -> int | None:
    """Return the number of replicates with which a paired t-test detects a difference of
    `distance`.

    Args:
        stdev: standard deviation of the differences between replicates seen so far.
        distance: distance of the true mean from the limit to be distinguished, in the same unit.
        alpha: two-sided level of the test.
        power: probability that the test detects it.

    Returns:
        The number, from the power of the t-test by its noncentral distribution (Cohen 1988,
        chapter 2); None if a hundred thousand would not suffice.
    """
    if distance == 0:
        return None
    if stdev == 0:
        return 2
    low, high = 1, 2
    while _t_power(high, distance / stdev, alpha) < power:
        low, high = high, high * 2
        if high > MOST_REPLICATES:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        if _t_power(middle, distance / stdev, alpha) < power:
            low = middle
        else:
            high = middle
    return high


def _t_power(n: int, standardized_effect: float, alpha: float) -> float:
    """Return the power of a two-sided paired t-test with `n` pairs."""
    critical = student_quantile(n - 1, 1 - alpha)
    return noncentral_t_above(critical, n - 1, standardized_effect * math.sqrt(n))


def mean_of(values: Sequence[float], weights: Sequence[float] | None = None) -> float:
    """Return the weighted mean. If all values are equal it is exactly that value, which a
    floating-point sum is not.
    """
    first = values[0]
    if all(value == first for value in values):
        return first
    if weights is None:
        return math.fsum(values) / len(values)
    return math.fsum(v * w for v, w in zip(values, weights, strict=True)) / math.fsum(weights)


def residuals(values: Sequence[float], weights: Sequence[float] | None, mean: float) -> list[float]:
    """Return the differences of samples from their mean.

    With weights they are the residuals of a quotient of sums, scaled so that the standard error of
    their mean is that of the quotient.
    """
    if weights is None:
        return [value - mean for value in values]
    usual = math.fsum(weights) / len(weights)
    return [w * (v - mean) / usual for v, w in zip(values, weights, strict=True)]


def standard_deviation(values: Sequence[float]) -> float:
    """Estimate the standard deviation of the population from which two or more samples come."""
    mean = mean_of(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))


def standard_error(values: Sequence[float]) -> float:
    """Estimate the standard error of the mean of two samples or more."""
    return standard_deviation(values) / math.sqrt(len(values))


def _quantile(in_order: Sequence[float], share: float) -> float:
    place = share * (len(in_order) - 1)
    below = math.floor(place)
    low, high = in_order[below], in_order[min(below + 1, len(in_order) - 1)]
    return low + (place - below) * (high - low)


def _finite(samples: Sequence[float]) -> list[float]:
    values = [float(sample) for sample in samples]
    if not values:
        raise ValueError("an estimate needs at least one sample")
    if not all(map(math.isfinite, values)):
        raise ValueError(f"samples must be finite numbers, not {values}")
    return values
