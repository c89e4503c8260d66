"""Adds replicates in stages until the results are decided, at a controlled error probability.

A group-sequential rule: the samples may be tested several times (interim tests, "looks"), after
numbers of replicates that are fixed beforehand, and every look has a share of the error probability
(Bonferroni's inequality with unequal shares, see `Staging.looks`). That costs a few replicates more
than Pocock's or O'Brien and Fleming's bounds (Biometrika 1977, 64:191; Biometrics 1979, 35:549),
which hold only for sums of normal samples; this one holds for every test used here, however the
looks depend on each other.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from netwarp.estimate.comparison import ALPHA
from netwarp.estimate.stats import mean_interval
from netwarp.estimate.unseen import least_equivalent

TIMES = 8
"""Maximum number of replicates of a cell, as a multiple of those with which it begins."""
BEFORE_THE_LAST = 2
FOR_A_DIFFERENCE = 4
"""Replicates of the second look (interim test), as a multiple of those of the first, and those of
the last one if equivalence needs no more."""
OLDER_LOOKS = 4
"""Number of looks (interim tests) when replicates are added for a precision, and in run directories
that do not say how many replicates their looks had. Each look has twice the replicates of the one
before."""
MOST_REPLICATES = 10_000
ENOUGH = 10
"""Number of replicates from which on a look (interim test) has half of the error probability, if it
is the first such look. Each p-value includes the probability of unseen modes and events, so fewer
replicates rarely decide, and even these rarely do at a tenth of the error probability."""
BEFORE = 0.05
"""Share of the error probability that all earlier looks have together."""


@dataclass(frozen=True)
class Look:
    """An interim test of all samples after a planned number of replicates, as in group-sequential
    designs.
    """

    replicates: int
    """Number of replicates that each cell has at this look."""
    share: float
    """Share of the error probability that this look has."""


@dataclass(frozen=True)
class TimeLimit:
    """A time limit for adding replicates. It does not depend on results, so it does not affect the
    error probability of verdicts that were reached before it.
    """

    length_s: float
    """The limit that the user gave, in s."""
    until_s: float
    """Time of the monotonic clock at which the limit is reached, in s."""
    is_share: bool = False
    """Whether `until_s` is the end of one study's share of a limit for several studies."""


@dataclass(frozen=True)
class Staging:
    """The aim for which replicates are added: decided verdicts, or confidence intervals of a given
    width.
    """

    precision: float | None = None
    """Half the width of an interval, as a ratio to the mean; None if verdicts are the goal."""
    limit: TimeLimit | None = None
    """Time limit for adding replicates; None if only the number of stages limits them."""

    def looks(self, first: int, questions: int = 1) -> tuple[Look, ...]:
        """Return a study's looks (tests after planned numbers of replicates), which follow from its
        plan alone.

        For verdicts they are after n replicates, after 2n, and where both a difference and an
        equivalence can be shown: after 4n, or as many as an equivalence needs because of unseen
        events (see `netwarp.estimate.unseen`) if those are more. For a precision they double.

        Args:
            first: number of replicates with which each cell begins.
            questions: number of claims, comparisons or expectations about something random.
        """
        sizes = [first * 2**look for look in range(OLDER_LOOKS)]
        if self.precision is None:
            sizes = [first, BEFORE_THE_LAST * first, TIMES * first]
            error = ALPHA * _shares(sizes)[-1] / max(1, questions)
            same = max(FOR_A_DIFFERENCE * first, least_equivalent(error, 0.0))
            sizes[-1] = min(sizes[-1], same)
        sizes = list(dict.fromkeys(min(size, MOST_REPLICATES) for size in sizes))
        return tuple(map(Look, sizes, _shares(sizes)))

    def wide(self, samples: list[float], alpha: float) -> bool:
        """Return whether the confidence interval of a mean is wider than the wanted precision.

        The interval is that at the error probability of one look, so that stopping when it is
        narrow enough does not reduce the coverage of the 95 % interval that is shown.
        """
        interval = mean_interval(samples, 1 - alpha) if samples else None
        if self.precision is None or interval is None:
            return False
        mean = sum(samples) / len(samples)
        return interval[1] - interval[0] > 2 * self.precision * abs(mean)


def older_looks(first: int, shares: Sequence[float]) -> tuple[Look, ...]:
    """Return the looks (interim tests) of a run directory that stores only their shares of the
    error probability.
    """
    sizes = dict.fromkeys(min(first * 2**look, MOST_REPLICATES) for look in range(OLDER_LOOKS))
    return tuple(map(Look, sizes, shares))


def is_worth_while(
    needed: Callable[[float], int | None], replicates: int, looks: Sequence[Look]
) -> bool:
    """Return whether one of the remaining looks (interim tests) will have enough replicates to
    decide a verdict.

    If not, no more replicates are added; the comparison stays undecided, so that no verdict becomes
    wrong.

    Args:
        needed: returns how many replicates would decide the verdict with a power of 80 %, at a
            look's share of the error probability; None if too many.
        replicates: number of replicates so far.
        looks: all looks of the study.
    """
    later = (look for look in looks if look.replicates > replicates)
    return any(
        (wanted := needed(look.share)) is not None and wanted <= look.replicates for look in later
    )


def _shares(sizes: Sequence[int]) -> list[float]:
    """Return the share of the error probability of each look (interim test): half for the first one
    with enough replicates, and increasing shares for those after it.
    """
    main = next((i for i, size in enumerate(sizes) if size >= ENOUGH), len(sizes) - 1)
    early = [BEFORE / main for _ in range(main)]
    ranks = range(1, len(sizes) - main)
    rest = 1 - sum(early)
    if not ranks:
        return [*early, rest]
    return [*early, 0.5, *((rest - 0.5) * rank / sum(ranks) for rank in ranks)]
