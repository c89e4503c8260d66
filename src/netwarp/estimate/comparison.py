"""Two cells → how they differ, and whether that can be told from chance.

Replicates that share their loss seed are compared pair by pair: both transports met the same
draws, so what the draws alone do cancels out. Differences are ratios (means of log-ratios), or
plain differences where a sample is 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal

from netwarp.estimate.signed_rank import signed_rank_p
from netwarp.estimate.stats import (
    CONFIDENCE,
    Interval,
    mean_of,
    standard_deviation,
    standard_error,
)
from netwarp.estimate.student import student_quantile, two_sided_p

ALPHA = 1 - CONFIDENCE
WILCOXON_MINIMUM = 6  # with fewer pairs its two-sided p-value cannot fall below 0.05


class Verdict(StrEnum):
    """What a comparison says of the second cell against the first."""

    LESS = "less"
    MORE = "more"
    NO_DIFFERENCE = "no significant difference"
    IDENTICAL = "identical"
    ONE_REPLICATE = "not tested (one replicate)"
    FAILED_RUNS = "not tested (failed runs)"

    @property
    def decided(self) -> bool:
        """Whether a difference was found."""
        return self in (Verdict.LESS, Verdict.MORE)


@dataclass(frozen=True, slots=True)
class Sample:
    """One replicate's value of a metric; None when the run failed."""

    value: float | None
    seed: int | None = None


Samples = Mapping[int, Sample]
"""Samples of one cell by replicate number."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """How `contender` relates to `baseline`.

    `effect` is contender ÷ baseline on the ratio scale, contender − baseline on the difference
    scale; `ci95` is its unadjusted 95 % interval. `adjusted_p` is set by `holm`; until then it is
    `p`. Exact comparisons have no p-value: nothing in them was random.
    """

    scale: Literal["ratio", "difference"]
    effect: float | None
    ci95: Interval | None
    p: float | None
    adjusted_p: float | None
    wilcoxon_p: float | None
    spread: float | None
    n: int
    left_out: int
    paired: bool
    exact: bool
    verdict: Verdict

    @property
    def neutral(self) -> float:
        """The effect that means no difference."""
        return 1.0 if self.scale == "ratio" else 0.0

    @property
    def wilcoxon_disagrees(self) -> bool:
        """Whether the rank test does not support a difference that the t-test found."""
        return self.verdict.decided and self.wilcoxon_p is not None and self.wilcoxon_p >= ALPHA


def compare(baseline: Samples, contender: Samples) -> Comparison:
    """Compare two cells; paired where the replicates share their seeds, else Welch's test.

    Failed runs are left out, in pairs when paired, and counted. The verdict is that of this
    comparison alone: pass all comparisons of a table through `holm`.
    """
    if _share_seeds(baseline, contender):
        return _paired(baseline, contender)
    return _unpaired(baseline, contender)


def holm(family: Sequence[Comparison]) -> list[Comparison]:
    """Adjust p-values and verdicts for the number of comparisons made together.

    Holm 1979, Scandinavian Journal of Statistics 6:65: the chance of even one false difference in
    the family stays at most 5 %. Exact and untested comparisons are not part of the family.
    """
    tested = sorted((c.p, i) for i, c in enumerate(family) if c.p is not None)
    adjusted = list(family)
    floor = 0.0
    for rank, (p, i) in enumerate(tested):
        floor = max(floor, min(1.0, p * (len(tested) - rank)))
        verdict = _verdict(adjusted[i].effect, adjusted[i].neutral, floor)
        adjusted[i] = replace(adjusted[i], adjusted_p=floor, verdict=verdict)
    return adjusted


def _share_seeds(baseline: Samples, contender: Samples) -> bool:
    return baseline.keys() == contender.keys() and all(
        sample.seed is not None and sample.seed == contender[replicate].seed
        for replicate, sample in baseline.items()
    )


def _paired(baseline: Samples, contender: Samples) -> Comparison:
    pairs = [(s.value, contender[r].value) for r, s in sorted(baseline.items())]
    complete = [(a, b) for a, b in pairs if a is not None and b is not None]
    left_out = len(pairs) - len(complete)
    a = [pair[0] for pair in complete]
    b = [pair[1] for pair in complete]
    early = _without_test(a, b, left_out, paired=True)
    if early is not None:
        return early
    positive = min(*a, *b) > 0
    differences = [math.log(y) - math.log(x) if positive else y - x for x, y in complete]
    mean = mean_of(differences)
    error = standard_error(differences)
    half = error * student_quantile(len(differences) - 1, CONFIDENCE)
    p = _two_sided_p(mean, error, len(differences) - 1)
    return _comparison(
        mean, half, p, positive,
        wilcoxon_p=_wilcoxon(differences), spread=standard_deviation(differences),
        n=len(complete), left_out=left_out, paired=True,
    )  # fmt: skip


def _unpaired(baseline: Samples, contender: Samples) -> Comparison:
    """Welch's t-test (Welch 1947, Biometrika 34:28), on logarithms where all are positive."""
    a = [s.value for s in baseline.values() if s.value is not None]
    b = [s.value for s in contender.values() if s.value is not None]
    left_out = len(baseline) + len(contender) - len(a) - len(b)
    early = _without_test(a, b, left_out, paired=False)
    if early is not None:
        return early
    positive = min(*a, *b) > 0
    if positive:
        a, b = [math.log(value) for value in a], [math.log(value) for value in b]
    mean = mean_of(b) - mean_of(a)
    variances = (standard_error(a) ** 2, standard_error(b) ** 2)
    error = math.sqrt(sum(variances))
    degrees = sum(variances) ** 2 / sum(
        v**2 / (len(x) - 1) for v, x in zip(variances, (a, b), strict=True)
    )
    half = error * student_quantile(degrees, CONFIDENCE)
    return _comparison(
        mean, half, _two_sided_p(mean, error, degrees), positive,
        wilcoxon_p=None, spread=None,
        n=min(len(a), len(b)), left_out=left_out, paired=False,
    )  # fmt: skip


def _without_test(
    a: Sequence[float], b: Sequence[float], left_out: int, *, paired: bool
) -> Comparison | None:
    """Compare where no test applies: too few samples, or nothing random; else None."""
    n = min(len(a), len(b))
    one_or_none = n < 2
    constant = not one_or_none and min(a) == max(a) and min(b) == max(b)
    identical = paired and not one_or_none and a == b
    if not (one_or_none or constant or identical):
        return None
    if n == 0:
        scale: Literal["ratio", "difference"] = "ratio"
        effect = None
    elif identical:
        scale, effect = "ratio", 1.0
    elif a[0] > 0 and b[0] > 0:
        scale, effect = "ratio", b[0] / a[0]
    else:
        scale, effect = "difference", b[0] - a[0]
    if one_or_none:
        verdict = Verdict.FAILED_RUNS if left_out else Verdict.ONE_REPLICATE
    else:
        verdict = _verdict(effect, 1.0 if scale == "ratio" else 0.0, 0.0)
    return Comparison(
        scale=scale, effect=effect,
        ci95=(effect, effect) if effect is not None and not one_or_none else None,
        p=None, adjusted_p=None, wilcoxon_p=None, spread=None if one_or_none else 0.0,
        n=n, left_out=left_out, paired=paired, exact=not one_or_none, verdict=verdict,
    )  # fmt: skip


def _comparison(
    mean: float, half: float, p: float, positive: bool, *,
    wilcoxon_p: float | None, spread: float | None, n: int, left_out: int, paired: bool,
) -> Comparison:  # fmt: skip
    low, high = mean - half, mean + half
    effect = math.exp(mean) if positive else mean
    return Comparison(
        scale="ratio" if positive else "difference",
        effect=effect,
        ci95=(math.exp(low), math.exp(high)) if positive else (low, high),
        p=p,
        adjusted_p=p,
        wilcoxon_p=wilcoxon_p,
        spread=spread,
        n=n,
        left_out=left_out,
        paired=paired,
        exact=False,
        verdict=_verdict(effect, 1.0 if positive else 0.0, p),
    )


def _two_sided_p(mean: float, error: float, degrees: float) -> float:
    if error == 0:
        return 1.0 if mean == 0 else 0.0
    return two_sided_p(mean / error, degrees)


def _wilcoxon(differences: Sequence[float]) -> float | None:
    nonzero = [difference for difference in differences if difference != 0]
    return signed_rank_p(nonzero) if len(nonzero) >= WILCOXON_MINIMUM else None


def _verdict(effect: float | None, neutral: float, p: float) -> Verdict:
    if effect is None or effect == neutral:
        return Verdict.IDENTICAL if p == 0.0 else Verdict.NO_DIFFERENCE
    if p >= ALPHA:
        return Verdict.NO_DIFFERENCE
    return Verdict.LESS if effect < neutral else Verdict.MORE
