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
