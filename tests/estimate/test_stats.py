"""Estimates against scipy, hand-computed values, and simulation with a fixed seed."""

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from netwarp.estimate import stats


def test_estimate_of_a_hand_computed_sample() -> None:
    # 2, 4, 4, 4, 5, 5, 7, 9: mean 5, sum of squares 32, s = sqrt(32/7), t(7, 97.5 %) = 2.364624
    estimate = stats.estimate([2, 4, 4, 4, 5, 5, 7, 9])
    half = 2.364624 * math.sqrt(32 / 7) / math.sqrt(8)
    assert estimate.mean == 5
    factor = math.exp(half / 5)
    assert estimate.ci95 == pytest.approx((5 / factor, 5 * factor), rel=1e-6)
    assert (estimate.median, estimate.p25, estimate.p75) == (4.5, 4.0, 5.5)
    assert (estimate.minimum, estimate.maximum, estimate.n) == (2, 9, 8)


def test_an_interval_of_positive_samples_never_crosses_zero() -> None:
    low, high = stats.mean_interval([1.0, 2.0, 27.0]) or (0, 0)
    assert 0 < low < 10 < high
    assert stats.mean_interval([0.0, 1.0, 26.0]) == pytest.approx((0, 45.6), abs=0.1)


def test_the_interval_of_many_like_samples_is_students() -> None:
    sample = np.random.default_rng(1).normal(100, 1, size=40)
    expected = scipy_stats.ttest_1samp(sample, 0).confidence_interval(0.95)
    assert stats.mean_interval(sample.tolist()) == pytest.approx(
        (expected.low, expected.high), rel=1e-4
    )


def test_an_interval_of_samples_of_either_sign_is_students() -> None:
    sample = np.random.default_rng(1).normal(size=11)
    expected = scipy_stats.ttest_1samp(sample, 0).confidence_interval(0.95)
    assert stats.mean_interval(sample.tolist()) == pytest.approx((expected.low, expected.high))


def test_one_sample_has_no_interval() -> None:
    estimate = stats.estimate([3.5])
    assert estimate.ci95 is None
    assert estimate.half_width is None
    assert estimate.stdev is None
    assert not estimate.all_equal


def test_equal_samples_give_a_point_and_no_rounding() -> None:
    estimate = stats.estimate([0.1] * 7)
    assert estimate.mean == 0.1
    assert estimate.ci95 == (0.1, 0.1)
    assert estimate.all_equal


@pytest.mark.parametrize("samples", [[], [1.0, math.nan], [math.inf]])
def test_no_estimate_of_nothing_or_of_what_is_not_a_number(samples: list[float]) -> None:
    with pytest.raises(ValueError, match="sample"):
        stats.estimate(samples)


def test_mean_interval_covers_the_truth_95_times_in_100() -> None:
    rng = np.random.default_rng(20)
    trials = 2000
    covered = 0
    for sample in rng.normal(10, 3, size=(trials, 5)):
        low, high = stats.mean_interval(sample.tolist()) or (0, 0)
        covered += low <= 10 <= high
    # Four standard errors of a proportion of 0.95 over 2000 trials: ± 0.0195.
    assert covered / trials == pytest.approx(0.95, abs=0.0195)


@pytest.mark.parametrize(("successes", "trials"), [(0, 50), (50, 50), (1, 20), (370, 7400)])
def test_binomial_interval_agrees_with_scipy(successes: int, trials: int) -> None:
    expected = scipy_stats.binomtest(successes, trials).proportion_ci(0.95, method="exact")
    assert stats.binomial_interval(successes, trials) == pytest.approx(
        (expected.low, expected.high), abs=1e-12
    )


def test_binomial_interval_with_no_trial_says_nothing() -> None:
    assert stats.binomial_interval(0, 0) == (0, 1)
    with pytest.raises(ValueError, match="3 of 2"):
        stats.binomial_interval(3, 2)


def test_binomial_interval_covers_at_least_95_in_100() -> None:
    draws = np.random.default_rng(9).binomial(700, 0.01, size=2000)
    intervals = [stats.binomial_interval(int(d), 700) for d in draws]
    assert np.mean([low <= 0.01 <= high for low, high in intervals]) >= 0.94


def test_replicates_needed_matches_published_tables() -> None:
    # Cohen 1988: a paired effect of d = 0.5 needs 34 pairs for a power of 0.8.
    assert stats.replicates_needed(stdev=2, distance=1) == 34
    assert stats.replicates_needed(stdev=0, distance=0.1) == 2
    assert stats.replicates_needed(stdev=1, distance=0) is None
    assert stats.replicates_needed(stdev=1, distance=0.001) is None
    # At the 1 % level d = 0.5 needs 51 pairs (scipy's noncentral t agrees).
    assert stats.replicates_needed(stdev=2, distance=1, alpha=0.01) == 51


def test_replicates_needed_gives_the_power_it_promises() -> None:
    spread, ratio = 0.2, 1.15
    n = stats.replicates_needed(spread, math.log(ratio)) or 0
    draws = np.random.default_rng(12).normal(math.log(ratio), spread, size=(3000, n))
    p_values = np.asarray(scipy_stats.ttest_1samp(draws, 0, axis=1).pvalue)
    assert np.mean(p_values < 0.05) == pytest.approx(0.82, abs=0.05)


def test_the_mean_of_a_rate_is_all_content_over_all_time() -> None:
    """A size over the mean time, with an interval whose bounds are that of the time's bounds."""
    bits, times_s = 8e7, [2.0, 3.0, 7.0]
    rates = [bits / each for each in times_s]
    of_time, of_rate = stats.estimate(times_s), stats.estimate(rates, times_s)
    assert of_time.ci95 is not None
    assert of_rate.ci95 is not None
    assert of_rate.mean == pytest.approx(bits / of_time.mean)
    low, high = of_time.ci95
    assert list(of_rate.ci95) == pytest.approx([bits / high, bits / low])
    equal_times = stats.estimate(rates, [4.0, 4.0, 4.0])
    assert equal_times.mean == pytest.approx(stats.estimate(rates).mean)
    assert equal_times.ci95 == pytest.approx(stats.estimate(rates).ci95)


def test_the_interval_of_a_rate_covers_the_size_over_the_mean_time() -> None:
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(1000):
        times_s = rng.gamma(4.0, 1.0, size=10)
        found = stats.estimate(list(1 / times_s), list(times_s)).ci95
        assert found is not None
        covered += found[0] <= 1 / 4.0 <= found[1]
    assert 920 <= covered <= 970
