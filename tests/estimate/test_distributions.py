"""Student's t, the signed-rank test and the beta distribution against scipy's, over sizes."""

import numpy as np
import pytest
from scipy import special as scipy_special
from scipy import stats as scipy_stats

from netwarp.estimate.incomplete_beta import beta_quantile
from netwarp.estimate.signed_rank import signed_rank_p
from netwarp.estimate.student import noncentral_t_above, student_quantile, two_sided_p

DEGREES = (1, 1.3, 2, 3, 5, 9, 29, 100, 1234.5, 99_999)


@pytest.mark.parametrize("degrees", DEGREES)
@pytest.mark.parametrize("t", [0, 1e-6, 0.1, 0.5, 1, 2, 2.5, 5, 12, 40, -3])
def test_two_sided_p_agrees_with_scipy(degrees: float, t: float) -> None:
    expected = 2 * float(scipy_stats.t.sf(abs(t), degrees))
    assert two_sided_p(t, degrees) == pytest.approx(expected, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("degrees", DEGREES)
@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.99, 0.999_999])
def test_student_quantile_agrees_with_scipy(degrees: float, confidence: float) -> None:
    expected = float(scipy_stats.t.ppf((1 + confidence) / 2, degrees))
    assert student_quantile(degrees, confidence) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("n", [6, 7, 13, 50, 80])
@pytest.mark.parametrize("shift", [0.0, 0.4, 3.0])
def test_the_signed_rank_test_agrees_with_scipy(n: int, shift: float) -> None:
    differences = np.random.default_rng(n).normal(shift, 1, size=n).tolist()
    expected = float(scipy_stats.wilcoxon(differences).pvalue)
    assert signed_rank_p(differences) == pytest.approx(expected, rel=1e-9)


def test_ties_share_their_ranks() -> None:
    # Ranks 1.5, 1.5, 3.5, 3.5, 5, 6 with two of 64 assignments of signs at each extreme.
    assert signed_rank_p([1, 1, 2, 2, 3, 4]) == 2 / 64
    # One 1 against the rest: sums of 0 (once) and of 1.5 (twice), on both sides.
    assert signed_rank_p([-1, 1, 2, 2, 3, 4]) == 2 * 3 / 64


@pytest.mark.parametrize("degrees", [1, 2, 4, 9, 50, 1000, 50_000])
def test_the_noncentral_t_is_that_of_scipy(degrees: int) -> None:
    for limit in (1.9, 4.3, 12.7):
        for noncentrality in (0.1, 1.0, 3.0, 8.0):
            wanted = 1 - float(scipy_special.nctdtr(degrees, noncentrality, limit))
            found = noncentral_t_above(limit, degrees, noncentrality)
            assert found == pytest.approx(wanted, abs=1e-4)


@pytest.mark.parametrize("trials", [1, 2, 7, 50, 7400, 123_456, 5_000_000])
@pytest.mark.parametrize("share", [0, 1e-6, 0.01, 0.3, 0.5, 0.999, 1])
@pytest.mark.parametrize("probability", [0.0005, 0.025, 0.5, 0.975])
def test_quantiles_of_the_beta_distribution_agree_with_scipy(
    trials: int, share: float, probability: float
) -> None:
    a = round(share * trials) + 1
    b = trials - a + 2
    expected = float(scipy_special.betaincinv(a, b, probability))
    assert beta_quantile(a, b, probability) == pytest.approx(expected, rel=1e-8)
