"""Compares a metric's samples of two cells, and tests whether they differ.

Replicates that share their loss seed are compared pair by pair: both transports had the same random
numbers, so that the variation due to these cancels out. Differences are ratios (means of
log-ratios), or plain differences if a sample is 0. A difference below the smallest relevant one
does not count, however exactly it was measured. The three answers are less, more and equivalent
(three-sided testing: Goeman, Solari and Stijnen 2010, Statistics in Medicine 29:2117).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal

from netwarp.estimate.location import Location, difference_of, is_fixed, location_of
from netwarp.estimate.needed import Undecided, to_decide
from netwarp.estimate.signed_rank import signed_rank_p
from netwarp.estimate.stats import CONFIDENCE, Interval, mean_of, standard_deviation

ALPHA = 1 - CONFIDENCE
RELEVANT = 0.01
"""Default of the smallest relevant difference, as a ratio: smaller ones count as no difference."""
WILCOXON_MINIMUM = 6  # with fewer pairs its two-sided p-value cannot fall below 0.05

Scale = Literal["ratio", "difference"]


class Verdict(StrEnum):
    """The verdict of a comparison: how the second cell differs from the first."""

    LESS = "less"
    MORE = "more"
    EQUIVALENT = "equivalent"
    UNDECIDED = "undecided"
    IDENTICAL = "identical"
    ONE_REPLICATE = "not tested (one replicate)"
    FAILED_RUNS = "not compared (failed runs)"
    NO_VALUE = "not compared (no value here)"

    @property
    def decided(self) -> bool:
        """Whether the verdict is that the cells differ."""
        return self in (Verdict.LESS, Verdict.MORE)


WITHHELD = frozenset({Verdict.FAILED_RUNS, Verdict.NO_VALUE})
"""Verdicts on cells that are not compared, because some runs have no value."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The value of a metric in one replicate, if the replicate has one."""

    value: float | None
    seed: int | None = None
    failed: bool = True
    """Whether the run failed; a run without a value that did not fail has no such metric."""
    random: bool = True
    """Whether something in the run was planned to be random, or this is unknown."""


Samples = Mapping[int, Sample]
"""Samples of one cell by replicate number."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The comparison of `contender` with `baseline`.

    `effect` is contender ÷ baseline on the ratio scale, contender − baseline on the difference
    scale; `ci95` is its unadjusted 95 % interval, and None if it is unbounded because there are too
    few replicates. `p` is the p-value of a difference: the probability of such samples if the true
    difference were no larger than `relevant`. `equivalence_p` is the p-value of an equivalence: the
    probability if it were larger. `adjusted_p`, which belongs to the verdict, is set by `holm`;
    until then it is the smaller of the two. Exact comparisons, in which nothing was random, have no
    p-values.
    """

    scale: Scale
    relevant: float
    """The smallest relevant difference: a ratio on the ratio scale, else in the metric's unit."""
    effect: float | None
    ci95: Interval | None
    location: Location | None
    """Estimate of the log-ratio, or of the difference; None if there are fewer than two samples."""
    p: float | None
    equivalence_p: float | None
    adjusted_p: float | None
    wilcoxon_p: float | None
    spread: float | None
    n: int
    left_out: int
    paired: bool
    exact: bool
    verdict: Verdict
    error: float = ALPHA
    """Error probability at which this comparison was tested after the adjustment for all
    comparisons; see `holm`."""
    share: float = 1.0
    """Share of the error probability that belongs to the interim test (look) at which the cells
    were compared."""

    @property
    def neutral(self) -> float:
        """The value of `effect` that means no difference: 1 or 0."""
        return 1.0 if self.scale == "ratio" else 0.0

    @property
    def limit(self) -> float:
        """The smallest relevant difference on the scale of `location`."""
        return math.log1p(self.relevant) if self.scale == "ratio" else self.relevant

    @property
    def interval(self) -> Interval | None:
        """The interval of `effect` that belongs to the verdict, adjusted for all comparisons of the
        family.

        For a difference, all of it lies outside of the relevant limits. For an equivalence it is
        the interval of the two one-sided tests, whose confidence is 1 − 2 · `error`. None if it is
        unbounded.
        """
        error = self.error * (2 if self.verdict is Verdict.EQUIVALENT else 1)
        return _effect_interval(self.location, self.scale, 1 - error)

    @property
    def undecided(self) -> Undecided | None:
        """The spread of the samples and the distance to the nearest limit, which determine how many
        replicates would decide the comparison. None if nothing is random.
        """
        stdev = self.stdev or 0.0
        return to_decide(self.location, self.n, stdev, (-self.limit, self.limit), self.limit)

    @property
    def stdev(self) -> float | None:
        """Standard deviation of single replicates, on the scale of `location`."""
        if self.location is None:
            return None
        return self.spread or self.location.error * math.sqrt(self.n)

    @property
    def wilcoxon_disagrees(self) -> bool:
        """Whether Wilcoxon's signed-rank test does not confirm a difference that the t-test
        found.
        """
        return self.verdict.decided and self.wilcoxon_p is not None and self.wilcoxon_p >= ALPHA


def compare(baseline: Samples, contender: Samples, relevant: float = RELEVANT) -> Comparison:
    """Compare two cells: in pairs if replicates share their seeds, else by Welch's test.

    If a run failed, or has no such metric, the verdict is only that, because comparing the
    remaining runs would be biased. The numbers are those of the runs that succeeded, in pairs when
    paired. The verdict is not adjusted for other comparisons: pass all comparisons of a table
    through `holm`.

    Args:
        baseline: samples by replicate.
        contender: samples of the cell that is compared with it.
        relevant: the smallest relevant difference, as a ratio to the larger mean.
    """
    shared = _shared(baseline, contender)
    random = any(sample.random for of in (baseline, contender) for sample in of.values())
    if shared is not None:
        pairs = [(baseline[r].value, contender[r].value) for r in shared]
        complete = [(a, b) for a, b in pairs if a is not None and b is not None]
        return _compared(
            [a for a, _ in complete], [b for _, b in complete],
            relevant, left_out=len(pairs) - len(complete), paired=True, random=random,
            withheld=_withheld(s for r in shared for s in (baseline[r], contender[r])),
        )  # fmt: skip
    a = [s.value for s in baseline.values() if s.value is not None]
    b = [s.value for s in contender.values() if s.value is not None]
    left_out = len(baseline) + len(contender) - len(a) - len(b)
    withheld = _withheld([*baseline.values(), *contender.values()])
    return _compared(
        a, b, relevant, left_out=left_out, paired=False, withheld=withheld, random=random
    )


def holm(family: Sequence[Comparison], alpha: float = ALPHA) -> list[Comparison]:
    """Adjust p-values and verdicts for the number of comparisons made together.

    Holm 1979, Scandinavian Journal of Statistics 6:65: the probability of at least one false
    verdict in the family is at most `alpha`. Exact and untested comparisons are not part of the
    family. Adjusted p-values are scaled so that a verdict needs one below 5 %: if an interim test
    (look) has a tenth of the error probability, the p-values of its cells are multiplied by ten
    (Bonferroni's inequality).
    """
    tested = sorted((_decisive_p(c) / c.share, i) for i, c in enumerate(family) if c.p is not None)
    adjusted = list(family)
    floor, error = 0.0, alpha
    families = ALPHA / alpha
    for rank, (p, i) in enumerate(tested):
        if floor < ALPHA:
            error = alpha / (len(tested) - rank)
        floor = max(floor, min(1.0, p * families * (len(tested) - rank)))
        verdict = adjusted[i].verdict
        if verdict not in WITHHELD:
            verdict = _verdict(adjusted[i], floor)
        adjusted[i] = replace(
            adjusted[i], adjusted_p=floor, verdict=verdict, error=error * adjusted[i].share
        )
    return adjusted


def replicates_needed(
    comparison: Comparison,
    family: Sequence[Comparison],
    alpha: float = ALPHA,
    share: float | None = None,
) -> int | None:
    """Return the number of replicates that would decide a comparison of a family with a power of 80
    %.

    Holm's procedure tests each of k undecided comparisons at 1/k of the error probability at least.
    None if too many replicates would be needed, or nothing is random.

    Args:
        comparison: one of the family.
        family: all comparisons, judged together.
        alpha: error probability of the family.
        share: share of the error probability of the look at which it is to be decided; None for the
            share of its present look.
    """
    undecided = comparison.undecided
    if undecided is None:
        return None
    still_open = sum(each.verdict is Verdict.UNDECIDED for each in family)
    share = comparison.share if share is None else share
    return undecided.replicates(share * alpha / max(1, still_open))


def same_executions(baseline: Samples, contender: Samples) -> bool:
    """Return whether both cells have the same values and seeds in all replicates."""
    return baseline.keys() == contender.keys() and all(
        (a.value, a.seed) == (b.value, b.seed) and a.value is not None and a.seed is not None
        for a, b in ((baseline[r], contender[r]) for r in baseline)
    )


def _withheld(samples: Iterable[Sample]) -> Verdict | None:
    """Return the verdict that samples without a value imply, instead of a comparison; None if all
    samples have a value.
    """
    missing = [sample for sample in samples if sample.value is None]
    if not missing:
        return None
    return Verdict.FAILED_RUNS if any(each.failed for each in missing) else Verdict.NO_VALUE


def _shared(baseline: Samples, contender: Samples) -> list[int] | None:
    """Return the numbers of the replicates that both cells have with the same seeds; None if
    samples are not paired.
    """
    shared = sorted(baseline.keys() & contender.keys())
    agree = all(
        baseline[r].seed is not None and baseline[r].seed == contender[r].seed for r in shared
    )
    return shared if agree and (len(shared) > 1 or baseline.keys() == contender.keys()) else None


def _compared(
    a: Sequence[float], b: Sequence[float], relevant: float, *,
    left_out: int, paired: bool, withheld: Verdict | None, random: bool,
) -> Comparison:  # fmt: skip
    n = min(len(a), len(b))
    positive = n == 0 or min(*a, *b) > 0
    if n and not positive:
        relevant *= max(abs(mean_of(a)), abs(mean_of(b)))
    if n < 2:
        return _untested(
            a, b, relevant, positive, left_out=left_out, paired=paired, withheld=withheld
        )
    first = [math.log(value) if positive else value for value in a]
    second = [math.log(value) if positive else value for value in b]
    differences = [y - x for x, y in zip(first, second, strict=True)] if paired else []
    random = random or not all(is_fixed(each, is_log=positive) for each in (first, second))
    location = (
        location_of(differences, random=random, is_log=positive)
        if paired
        else difference_of(first, second, random=random, is_log=positive)
    )
    if not random:
        location = replace(location, error=0.0, sampled=0, cautious=None, ranked=())
    if min(a) == max(a) and min(b) == max(b):
        # This is the quotient of the values themselves, as logarithms are rounded.
        value = math.log(b[0] / a[0]) if positive else b[0] - a[0]
        location = Location(value, 0.0, n - 1, n if random else 0, positive)
    exact = not random
    limit = math.log1p(relevant) if positive else relevant
    scale: Scale = "ratio" if positive else "difference"
    found = Comparison(
        scale=scale,
        relevant=relevant,
        effect=math.exp(location.value) if positive else location.value,
        ci95=_effect_interval(location, scale, CONFIDENCE),
        location=location,
        p=None if exact else location.p_outside(-limit, limit),
        equivalence_p=None if exact else location.p_within(-limit, limit),
        adjusted_p=None,
        wilcoxon_p=_wilcoxon(differences) if paired and not exact else None,
        spread=standard_deviation(differences) if paired else None,
        n=n,
        left_out=left_out,
        paired=paired,
        exact=exact,
        verdict=Verdict.UNDECIDED,
    )
    p = None if exact else _decisive_p(found)
    return replace(found, adjusted_p=p, verdict=withheld or _verdict(found, p or 0.0))


def _untested(
    a: Sequence[float], b: Sequence[float], relevant: float, positive: bool, *,
    left_out: int, paired: bool, withheld: Verdict | None,
) -> Comparison:  # fmt: skip
    effect = None
    if a and b:
        effect = b[0] / a[0] if positive else b[0] - a[0]
    return Comparison(
        scale="ratio" if positive else "difference", relevant=relevant, effect=effect, ci95=None,
        location=None, p=None, equivalence_p=None, adjusted_p=None, wilcoxon_p=None, spread=None,
        n=min(len(a), len(b)), left_out=left_out, paired=paired, exact=False,
        verdict=withheld or Verdict.ONE_REPLICATE,
    )  # fmt: skip


def _effect_interval(location: Location | None, scale: Scale, confidence: float) -> Interval | None:
    """Return the confidence interval of an effect; None if it is unbounded."""
    if location is None:
        return None
    low, high = location.interval(confidence)
    if math.isinf(high):
        return None
    return (math.exp(low), math.exp(high)) if scale == "ratio" else (low, high)


def _decisive_p(found: Comparison) -> float:
    return min(found.p or 0.0, found.equivalence_p or 0.0)


def _verdict(found: Comparison, adjusted_p: float) -> Verdict:
    """Return the verdict and its adjusted p-value: the smaller of those for a difference and for
    equivalence.
    """
    if found.location is None or found.effect is None:
        return found.verdict
    if found.exact and found.effect == found.neutral:
        return Verdict.IDENTICAL
    if adjusted_p >= ALPHA:
        return Verdict.UNDECIDED
    if found.exact:
        differs = abs(found.location.value) > found.limit
    else:
        differs = (found.p or 0.0) <= (found.equivalence_p or 0.0)
    if not differs:
        return Verdict.EQUIVALENT
    return Verdict.LESS if found.effect < found.neutral else Verdict.MORE


def _wilcoxon(differences: Sequence[float]) -> float | None:
    nonzero = [difference for difference in differences if difference != 0]
    return signed_rank_p(nonzero) if len(nonzero) >= WILCOXON_MINIMUM else None
