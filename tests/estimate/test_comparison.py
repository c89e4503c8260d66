"""Paired comparisons: against scipy, in their edge cases, and over many simulated studies."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats as scipy_stats

from netwarp.estimate.comparison import Comparison, Sample, Samples, Verdict, compare, holm
from student import by_student


def cell(*values: float | None, seeds: int | None = 100, random: bool = False) -> Samples:
    return {
        r: Sample(value, None if seeds is None else seeds + r, random=random)
        for r, value in enumerate(values)
    }


def test_a_paired_comparison_agrees_with_scipy() -> None:
    rng = np.random.default_rng(2)
    a = rng.lognormal(2, 0.4, size=8)
    b = a * rng.lognormal(0.3, 0.05, size=8)
    result = by_student(cell(*a), cell(*b), relevant=0)
    expected = scipy_stats.ttest_rel(np.log(b), np.log(a))
    interval = expected.confidence_interval(0.95)
    assert result.paired
    assert result.scale == "ratio"
    assert result.p == pytest.approx(expected.pvalue)
    assert result.effect == pytest.approx(math.exp(np.mean(np.log(b) - np.log(a))))
    assert result.ci95 == pytest.approx((math.exp(interval.low), math.exp(interval.high)))
    assert result.wilcoxon_p == pytest.approx(scipy_stats.wilcoxon(np.log(b) - np.log(a)).pvalue)
    assert result.verdict is Verdict.MORE


def test_pairing_finds_what_an_unpaired_test_cannot() -> None:
    a = [1.0, 5.0, 20.0, 80.0]
    b = [1.1, 5.6, 21.8, 89.0]
    assert by_student(cell(*a), cell(*b)).verdict is Verdict.MORE
    unpaired = by_student(cell(*a, seeds=None), cell(*b, seeds=None))
    assert not unpaired.paired
    assert unpaired.verdict is Verdict.UNDECIDED


def test_an_unpaired_comparison_agrees_with_scipys_welch_test() -> None:
    a, b = [10.0, 11.0, 12.5, 9.5], [14.0, 15.5, 13.0, 16.0]
    result = by_student(cell(*a, seeds=1), cell(*b, seeds=50), relevant=0)
    expected = scipy_stats.ttest_ind(np.log(b), np.log(a), equal_var=False)
    assert not result.paired
    assert result.p == pytest.approx(expected.pvalue)


def test_replicates_with_other_seeds_are_not_pairs() -> None:
    assert not compare(cell(1, 2, 3, seeds=1), cell(1, 2, 3, seeds=2)).paired
    assert not compare(cell(1, 2, 3), cell(1, 2, 3, seeds=None)).paired


def test_the_replicates_that_two_cells_share_are_pairs() -> None:
    """Replicates are added to cells that need them: one may have more than the other."""
    found = compare(cell(1, 2, 3), cell(1.5, 3.1, 4.4, 4))
    assert (found.paired, found.n, found.left_out) == (True, 3, 0)


def test_a_difference_that_is_not_relevant_is_none_however_exact() -> None:
    tiny = compare(cell(2.0, 2.0, 2.0), cell(2.000002, 2.000002, 2.000002))
    assert tiny.verdict is Verdict.EQUIVALENT
    assert compare(cell(2.0, 2.0), cell(2.01, 2.01), relevant=0.001).verdict is Verdict.MORE


def test_equivalence_agrees_with_two_one_sided_tests_of_scipy() -> None:
    rng = np.random.default_rng(6)
    a = rng.lognormal(2, 0.4, size=12)
    b = a * rng.lognormal(0.01, 0.02, size=12)
    found = by_student(cell(*a), cell(*b), relevant=0.05)
    logs, limit = np.log(b) - np.log(a), math.log(1.05)
    above = scipy_stats.ttest_1samp(logs, -limit, alternative="greater").pvalue
    below = scipy_stats.ttest_1samp(logs, limit, alternative="less").pvalue
    assert found.equivalence_p == pytest.approx(max(above, below))
    assert found.verdict is Verdict.EQUIVALENT


def test_a_relevant_difference_is_told_from_the_limit_not_from_nothing() -> None:
    rng = np.random.default_rng(7)
    a = rng.lognormal(2, 0.4, size=12)
    b = a * rng.lognormal(0.06, 0.02, size=12)
    found = compare(cell(*a), cell(*b), relevant=0.05)
    logs = np.log(b) - np.log(a)
    beyond = scipy_stats.ttest_1samp(logs, math.log(1.05), alternative="greater").pvalue
    assert found.p == pytest.approx(min(1, 2 * beyond))
    assert found.verdict is Verdict.UNDECIDED
    assert compare(cell(*a), cell(*b), relevant=0.01).verdict is Verdict.MORE


def test_equal_samples_are_identical() -> None:
    result = compare(cell(3.0, 3.0, 3.0), cell(3.0, 3.0, 3.0))
    assert result.verdict is Verdict.IDENTICAL
    assert result.effect == 1
    assert result.exact
    sampled = compare(cell(3.0, 4.0, 5.0, random=True), cell(3.0, 4.0, 5.0, random=True))
    assert sampled.verdict is Verdict.UNDECIDED


def test_cells_without_chance_are_compared_exactly() -> None:
    result = compare(cell(2.0, 2.0, 2.0), cell(2.5, 2.5, 2.5))
    assert result.exact
    assert result.effect == 1.25
    assert result.ci95 == (1.25, 1.25)
    assert result.p is None
    assert result.verdict is Verdict.MORE


def test_only_equal_values_of_what_draws_nothing_are_exact() -> None:
    """Two replicates of QUIC that differ by a millionth tell nothing of a third one."""
    tcp = cell(1.024, 1.024)
    result = compare(tcp, cell(0.955, 0.955))
    assert (result.exact, result.verdict) == (True, Verdict.LESS)
    assert result.ci95 == (result.effect, result.effect)
    moved = compare(tcp, cell(0.9552230, 0.9552233, random=True))
    assert (moved.exact, moved.verdict) == (False, Verdict.UNDECIDED)
    apart = compare(tcp, cell(0.955223, 0.955226))
    assert (apart.exact, apart.verdict) == (False, Verdict.UNDECIDED)
    equal = compare(tcp, cell(0.955, 0.955, random=True))
    assert (equal.exact, equal.verdict) == (False, Verdict.UNDECIDED)


def test_readings_of_the_clock_do_not_tell_replicates_apart() -> None:
    """Where nothing is random values are the same to a millionth, on both scales."""
    result = compare(cell(0.122461491, 0.122461542), cell(0.241511104, 0.241511104))
    assert (result.exact, result.verdict) == (True, Verdict.MORE)
    assert result.effect == pytest.approx(1.97214, rel=1e-4)
    result = compare(cell(0.0, 0.0), cell(3.0, 3.000001))
    assert (result.scale, result.exact) == ("difference", True)


def test_zeros_are_compared_by_difference() -> None:
    result = by_student(cell(0.0, 1.0, 0.0, 2.0), cell(5.0, 7.0, 6.0, 6.0))
    assert result.scale == "difference"
    assert result.effect == pytest.approx(5.25)
    assert result.verdict is Verdict.MORE
    assert compare(cell(0.0, 0.0), cell(3.0, 3.0)).effect == 3
    assert compare(cell(0.0, 0.0), cell(0.0, 0.0)).verdict is Verdict.IDENTICAL


def test_one_replicate_is_not_tested() -> None:
    result = compare(cell(1.0), cell(2.0))
    assert result.verdict is Verdict.ONE_REPLICATE
    assert result.effect == 2
    assert result.ci95 is None
    assert not result.exact


def test_pairs_with_a_failed_run_are_left_out_and_counted() -> None:
    result = compare(cell(1.0, None, 3.0, 4.0), cell(2.0, 4.0, 6.1, None))
    assert (result.n, result.left_out) == (2, 2)
    assert result.verdict is Verdict.FAILED_RUNS
    assert holm([result])[0].verdict is Verdict.FAILED_RUNS
    nothing_left = compare(cell(None, None, 3.0), cell(1.0, 2.0, 3.0))
    assert nothing_left.verdict is Verdict.FAILED_RUNS
    assert compare(cell(None, None), cell(1.0, 2.0)).effect is None


def test_a_constant_shift_is_certain() -> None:
    result = by_student(cell(1.0, 2.0, 4.0), cell(2.0, 4.0, 8.0))
    assert result.verdict is Verdict.MORE
    assert result.effect == pytest.approx(2)
    assert result.p == pytest.approx(0, abs=1e-9)


def test_the_rank_test_needs_six_pairs() -> None:
    assert compare(cell(1, 2, 3, 4, 5), cell(2, 3, 5, 6, 7)).wilcoxon_p is None
    six = compare(cell(1, 2, 3, 4, 5, 6), cell(2, 3, 5, 6, 7, 9))
    assert six.wilcoxon_p == pytest.approx(2 / 2**6)
    assert not six.wilcoxon_disagrees


def test_holm_on_the_classic_example() -> None:
    # p = 0.01, 0.04, 0.03, 0.005 → 0.03, 0.06, 0.06, 0.02 (Holm 1979, four hypotheses).
    base = by_student(cell(1.0, 2.0, 3.0), cell(2.0, 2.5, 5.0))
    family = [_with_p(base, p) for p in (0.01, 0.04, 0.03, 0.005)]
    adjusted = holm(family)
    assert [c.adjusted_p for c in adjusted] == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert [c.verdict.decided for c in adjusted] == [True, False, False, True]


def test_holm_leaves_exact_and_untested_comparisons_alone() -> None:
    exact = compare(cell(2.0, 2.0), cell(3.0, 3.0))
    single = compare(cell(2.0), cell(3.0))
    tested = _with_p(compare(cell(1.0, 2.0, 3.0), cell(2.0, 2.5, 5.0)), 0.04)
    adjusted = holm([exact, single, tested])
    assert adjusted[:2] == [exact, single]
    assert adjusted[2].adjusted_p == 0.04


def test_false_differences_stay_rare_in_a_whole_family() -> None:
    rng = np.random.default_rng(8)
    families = 400
    wrong = 0
    for _ in range(families):
        base = cell(*rng.lognormal(size=5))
        family = [compare(base, cell(*rng.lognormal(size=5))) for _ in range(6)]
        wrong += any(c.verdict.decided for c in holm(family))
    # 5 % and three standard errors over 400 families.
    assert wrong / families <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / families)


def _with_p(comparison: Comparison, p: float) -> Comparison:
    return replace(comparison, p=p, adjusted_p=p)


def test_runs_without_the_metric_are_not_called_failed() -> None:
    here, nowhere = cell(1.0, 2.0), {r: Sample(None, r, failed=False) for r in range(2)}
    for result in (compare(here, nowhere), compare(nowhere, nowhere)):
        assert result.verdict is Verdict.NO_VALUE
        assert holm([result])[0].verdict is Verdict.NO_VALUE
    one_failed = nowhere | {1: Sample(None, 1)}
    assert compare(here, one_failed).verdict is Verdict.FAILED_RUNS


def test_equal_samples_of_something_random_are_samples_like_any_other() -> None:
    """Whether nothing was random comes from the plan, never from the samples."""
    for n, verdict in ((4, Verdict.UNDECIDED), (12, Verdict.UNDECIDED), (40, Verdict.EQUIVALENT)):
        same = cell(*[2.0] * n, random=True)
        found = compare(same, same)
        assert not found.exact
        assert found.verdict is verdict
    for n, verdict in ((4, Verdict.UNDECIDED), (10, Verdict.MORE)):
        found = compare(cell(*[2.0] * n, random=True), cell(*[2.2] * n, random=True))
        assert found.verdict is verdict
        assert (found.ci95 is None) == (n == 4)


def test_five_replicates_decide_what_a_mode_that_they_missed_cannot_make() -> None:
    noise = np.array([0.99, 1.0, 1.01, 1.005, 0.995])
    for ratio, verdict in ((0.5, Verdict.LESS), (0.8, Verdict.UNDECIDED)):
        found = compare(cell(*noise, random=True), cell(*(ratio * noise[::-1]), random=True))
        assert found.verdict is verdict
        assert found.ci95 is not None
        assert (found.ci95[1] < 1 / 1.01) == (verdict is Verdict.LESS), "both say the same"


def test_an_interval_is_adjusted_as_its_verdict_is() -> None:
    """No interval lies beyond what is relevant beside `undecided`."""
    rng = np.random.default_rng(5)
    family = [
        compare(cell(*rng.lognormal(0, 0.2, 8)), cell(*rng.lognormal(shift, 0.2, 8)))
        for shift in np.linspace(0.0, 0.6, 12)
    ]
    adjusted = holm(family)
    assert {each.verdict for each in adjusted} >= {Verdict.MORE, Verdict.UNDECIDED}
    for each in adjusted:
        assert each.interval is not None
        low, high = each.interval
        beyond = low > 1.01 or high < 1 / 1.01
        assert beyond == each.verdict.decided
