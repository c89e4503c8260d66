"""What can be said of where a mean is: against scipy, and where nothing is random."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats as scipy_stats

from netwarp.estimate.location import Location, difference_of, location_of

SAMPLE = [1.0, 2.0, 4.0, 3.5, 2.2]


@pytest.mark.parametrize("limit", [1.0, 2.0, 2.54, 4.0])
def test_one_sided_chances_agree_with_scipy(limit: float) -> None:
    at = replace(location_of(SAMPLE), sampled=0, cautious=None)
    above = scipy_stats.ttest_1samp(SAMPLE, limit, alternative="greater").pvalue
    below = scipy_stats.ttest_1samp(SAMPLE, limit, alternative="less").pvalue
    assert at.p_above(limit) == pytest.approx(above)
    assert at.p_below(limit) == pytest.approx(below)
    assert at.p_within(limit - 1, limit) == pytest.approx(max(at.p_above(limit - 1), below))
    assert at.p_outside(limit, limit) == pytest.approx(
        scipy_stats.ttest_1samp(SAMPLE, limit).pvalue
    )


def test_the_difference_of_two_means_is_welchs() -> None:
    other = np.random.default_rng(3).normal(5, 3, size=9).tolist()
    found = replace(difference_of(SAMPLE, other), sampled=0, cautious=None)
    welch = scipy_stats.ttest_ind(other, SAMPLE, equal_var=False)
    interval = welch.confidence_interval(0.95)
    assert found.interval(0.95) == pytest.approx((interval.low, interval.high))
    assert found.degrees == pytest.approx(welch.df)


def test_where_nothing_is_random_chances_are_0_or_1() -> None:
    at = Location(2.0, 0.0, 3)
    assert at.interval(0.95) == (2.0, 2.0)
    assert (at.p_above(1.9), at.p_above(2.0), at.p_below(2.1)) == (0.0, 1.0, 0.0)
    assert (at.p_within(2.0, 2.0), at.p_within(1, 1.5)) == (0.0, 1.0)
    assert at.distance(1.5, 3.0) == 0.5


def test_the_chance_of_an_unseen_mode_is_part_of_every_p_value() -> None:
    """Two modes in 40 % and 60 % of the runs: eleven replicates miss one with 0.6^11 + 0.4^11."""
    logs = [0.1, 0.101, 0.099, 0.1, 0.102, 0.098, 0.1, 0.1, 0.101, 0.099, 0.1]
    at = location_of(logs, is_log=True)
    assert at.p_above(0.0, 2) == pytest.approx(0.6**11 + 0.4**11, rel=1e-6)
    assert at.p_above(0.0) == pytest.approx(0.6**11, rel=1e-6)
    assert location_of(logs[:6], is_log=True).p_above(0.0, 2) > 0.05
    assert location_of(logs[:7], is_log=True).p_above(0.0, 2) < 0.05
    far = location_of([0.7 + each for each in logs[:6]], is_log=True)
    assert far.p_above(0.0, 2) < 1e-6, "no mode of 2.3 times in any share makes a ratio of two"


@pytest.mark.parametrize("n", [5, 6, 7, 8, 10, 12, 29])
@pytest.mark.parametrize("is_log", [True, False])
def test_an_interval_ends_where_the_p_value_reaches_its_error(n: int, is_log: bool) -> None:
    rng = np.random.default_rng(n)
    normal = rng.normal(0.2, 0.1, n).tolist()
    modal = [0.0] * (n // 2) + [0.26] * (n - n // 2)
    for values in (normal, modal):
        at = location_of(values, is_log=is_log)
        for alpha in (0.05, 0.005):
            low, high = at.interval(1 - alpha)
            if np.isinf(high):
                assert at.p_above(-1e3, 2) > alpha or at.p_below(1e3, 2) > alpha
                continue
            within = 1e-4 * (high - low)
            assert at.p_above(low - within, 2) <= alpha * 1.001
            assert at.p_above(low + within, 2) >= alpha * 0.98
            assert at.p_below(high + within, 2) <= alpha * 1.001


def test_few_samples_in_two_clear_modes_need_the_rank_test_as_well() -> None:
    """Four of eight differences 0, four at ln 4: Student's t gives 0.033, the ranks 0.125."""
    at = location_of([0.0] * 4 + [1.386] * 4, is_log=True)
    assert at.ranked
    assert at.p_above(0.0, 2) > 0.1
    assert not location_of([0.0] * 6 + [1.386] * 6, is_log=True).ranked
