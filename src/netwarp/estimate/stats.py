"""Samples → estimates with confidence intervals.

Pure: numbers in, numbers out; what is drawn at random is drawn from a seed that is passed in.
Comparisons of two cells are in `netwarp.estimate.comparison`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

CONFIDENCE = 0.95

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Estimate:
    """What the samples of one metric in one cell say. All in the metric's unit.

    `ci95` is the 95 % confidence interval of the mean; None when there is one sample only.
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
    def exact(self) -> bool:
        """Whether several samples all are the same number: nothing random happened."""
        return self.n > 1 and self.minimum == self.maximum


def estimate(samples: Sequence[float]) -> Estimate:
    """Describe `samples`; the interval of the mean is Student's t.

    Quantiles are interpolated linearly (type 7 of Hyndman and Fan 1996). Raises ValueError when
    there is no sample or one is not finite.
    """
    values = _finite(samples)
    p25, median, p75 = (float(q) for q in np.quantile(values, [0.25, 0.5, 0.75]))
    return Estimate(
        mean=_mean(values),
        ci95=mean_interval(values),
        median=median,
        p25=p25,
        p75=p75,
        minimum=float(values.min()),
        maximum=float(values.max()),
        stdev=float(values.std(ddof=1)) if len(values) > 1 else None,
        samples=tuple(float(v) for v in values),
    )


def mean_interval(
    samples: Sequence[float] | Floats, confidence: float = CONFIDENCE
) -> Interval | None:
    """Two-sided confidence interval of the mean by Student's t ("Student" 1908, Biometrika 6:1).

    None for a single sample, which says nothing about spread; a point for equal samples.
    """
    values = _finite(samples)
    if len(values) == 1:
        return None
    mean = _mean(values)
    if values.min() == values.max():
        return (mean, mean)
    half = standard_error(values) * student_quantile(len(values) - 1, confidence)
    return (mean - half, mean + half)


def median_interval(
    samples: Sequence[float], seed: int, confidence: float = CONFIDENCE
) -> Interval | None:
    """Bootstrap confidence interval of the median: bias-corrected and accelerated (BCa).

    Efron 1987, JASA 82:171; 9 999 resamples from `seed`. For metrics whose spread is far from
    normal. None for a single sample; a point for equal samples. Where the acceleration is
    undefined (few distinct samples) the percentile interval is given.
    """
    values = _finite(samples)
    if len(values) == 1:
        return None
    if values.min() == values.max():
        return (float(values[0]), float(values[0]))
    rng = np.random.default_rng(seed)
    resamples = values[rng.integers(0, len(values), size=(9999, len(values)))]
    medians = np.median(resamples, axis=1)
    low, high = np.quantile(medians, _bca_levels(values, medians, confidence))
    return (float(low), float(high))


def _bca_levels(values: Floats, medians: Floats, confidence: float) -> tuple[float, float]:
    """Quantiles of the bootstrap distribution that bound the interval (Efron 1987, eq. 1.9)."""
    median = np.median(values)
    # Ties count half: resampled medians often equal the sample's own.
    below = float(np.mean(medians < median) + np.mean(medians == median) / 2)
    bias = stats.norm.ppf(min(max(below, 1e-4), 1 - 1e-4))
    jackknife = np.array([np.median(np.delete(values, i)) for i in range(len(values))])
    spread = jackknife.mean() - jackknife
    scale = float((spread**2).sum()) ** 1.5
    acceleration = float((spread**3).sum()) / (6 * scale) if scale > 0 else 0.0
    z = stats.norm.ppf([(1 - confidence) / 2, (1 + confidence) / 2])
    levels = np.asarray(stats.norm.cdf(bias + (bias + z) / (1 - acceleration * (bias + z))))
    return (float(levels[0]), float(levels[1]))


def binomial_interval(successes: int, trials: int, confidence: float = CONFIDENCE) -> Interval:
    """Exact confidence interval of a proportion (Clopper and Pearson 1934, Biometrika 26:404).

    Bounds the loss ratio from `successes` packets dropped of `trials` offered; conservative. With
    no trial it is (0, 1). Raises ValueError unless 0 ≤ successes ≤ trials.
    """
    if not 0 <= successes <= trials:
        raise ValueError(f"{successes} of {trials} is no proportion")
    if trials == 0:
        return (0.0, 1.0)
    tail = (1 - confidence) / 2
    failures = trials - successes
    low = 0.0 if successes == 0 else float(stats.beta.ppf(tail, successes, failures + 1))
    high = 1.0 if failures == 0 else float(stats.beta.ppf(1 - tail, successes + 1, failures))
    return (low, high)


def jain_index(shares: Sequence[float]) -> float:
    """Fairness of shares of one resource: 1 when equal, 1/n when one has all.

    Jain, Chiu and Hawe 1984, DEC-TR-301. Raises ValueError for no share, a negative one, or when
    all are 0.
    """
    values = _finite(shares)
    if values.min() < 0 or values.max() == 0:
        raise ValueError("shares must be at least 0, and one of them above")
    scaled = values / values.max()
    return float(scaled.sum() ** 2 / (len(scaled) * (scaled**2).sum()))


def replicates_needed(log_ratio_stdev: float, ratio: float, power: float = 0.8) -> int:
    """Replicates a paired comparison needs to find a difference of `ratio` at the 5 % level.

    `log_ratio_stdev` is the standard deviation of the log-ratios seen so far. From the power of
    the t-test by its noncentral distribution (Cohen 1988, chapter 2). Raises ValueError when
    `ratio` is 1, not positive, or beyond what a million replicates would find.
    """
    effect = abs(math.log(ratio))
    if effect == 0:
        raise ValueError("no number of replicates finds a difference of nothing")
    if log_ratio_stdev == 0:
        return 2
    low, high = 1, 2
    while _t_power(high, effect / log_ratio_stdev) < power:
        low, high = high, high * 2
        if high > 1_000_000:
            raise ValueError(f"a ratio of {ratio} is beyond a million replicates")
    while high - low > 1:
        middle = (low + high) // 2
        if _t_power(middle, effect / log_ratio_stdev) < power:
            low = middle
        else:
            high = middle
    return high


def _t_power(n: int, standardized_effect: float) -> float:
    """Chance that a two-sided paired t-test with `n` pairs finds the effect at the 5 % level."""
    critical = student_quantile(n - 1, CONFIDENCE)
    noncentrality = standardized_effect * math.sqrt(n)
    return float(stats.nct.sf(critical, n - 1, noncentrality))


def student_quantile(degrees: float, confidence: float) -> float:
    """How many standard errors a two-sided interval reaches to each side."""
    return float(stats.t.ppf((1 + confidence) / 2, degrees))


def standard_error(values: Floats) -> float:
    """Of the mean of two samples or more."""
    return float(values.std(ddof=1)) / math.sqrt(len(values))


def _mean(values: Floats) -> float:
    """Mean that is exactly the common value when all are equal (a float sum is not)."""
    first = float(values[0])
    return first if bool((values == first).all()) else math.fsum(values) / len(values)


def _finite(samples: Sequence[float] | Floats) -> Floats:
    values = np.asarray(samples, dtype=np.float64)
    if values.ndim != 1 or len(values) == 0:
        raise ValueError("an estimate needs at least one sample")
    if not np.isfinite(values).all():
        raise ValueError(f"samples must be finite numbers, not {list(samples)}")
    return values
