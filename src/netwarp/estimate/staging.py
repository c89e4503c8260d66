"""Adds replicates in stages until the results are decided, at a controlled error probability.

A group-sequential rule: the samples may be looked at `LOOKS` times, after n, 2n, 4n and 8n
replicates, and every look has a share of the error probability (Bonferroni's inequality with
unequal shares, see `Staging.shares`). That costs a few replicates
more than Pocock's or O'Brien and Fleming's bounds (Biometrika 1977, 64:191; Biometrics 1979,
35:549), which hold only for sums of normal samples; this one holds for every test used here,
however the looks depend on each other.
"""

from dataclasses import dataclass

from netwarp.estimate.stats import mean_interval

LOOKS = 4
"""Largest number of stages, each with twice the replicates of the one before."""
MOST_REPLICATES = 10_000
ENOUGH = 10
"""The first look with this many replicates or more has half of the error. The probability of unseen
modes and events is part of each p-value, so fewer replicates decide little, and as many decide
little at a tenth of the error.
"""
BEFORE = 0.05
"""Share of the error that all looks before that one have together."""
FUTILE = 2
"""No further stage is run for a verdict that needs this many times the last stage's replicates:
with all of them it would be decided with a power of 80 %, with half as many in about half of the
studies.
"""


@dataclass(frozen=True)
class TimeLimit:
    """The time in which replicates may be added. It does not depend on their results, so the error
    probability of verdicts reached by then is not affected.
    """

    length_s: float
    """The limit that the user gave, in s."""
    until_s: float
    """Time of the monotonic clock at which the limit is reached, in s."""
    is_share: bool = False
    """Whether `until_s` is the end of one study's share of a limit for several studies."""


@dataclass(frozen=True)
class Staging:
    """The goal of adding replicates: verdicts, or confidence intervals of a given width."""

    precision: float | None = None
    """Half the width of an interval, as a ratio to the mean; None if verdicts are the goal."""
    limit: TimeLimit | None = None
    """Time limit for adding replicates; None if only the number of stages limits them."""

    def sizes(self, first: int) -> tuple[int, ...]:
        """Return the number of replicates of a cell after each stage."""
        doubled = (first * 2**stage for stage in range(LOOKS))
        return tuple(dict.fromkeys(min(size, MOST_REPLICATES) for size in doubled))

    def shares(self, first: int) -> tuple[float, ...]:
        """Return each look's share of the error; the looks after the main one have increasing
        shares.
        """
        sizes = self.sizes(first)
        main = next((i for i, size in enumerate(sizes) if size >= ENOUGH), len(sizes) - 1)
        early = [BEFORE / main for _ in range(main)]
        ranks = range(1, len(sizes) - main)
        rest = 1 - sum(early)
        if not ranks:
            return (*early, rest)
        return (*early, 0.5, *((rest - 0.5) * rank / sum(ranks) for rank in ranks))

    def worth_while(self, needed: int | None, first: int) -> bool:
        """Return whether another stage is worth running for a verdict that needs so many
        replicates.
        """
        return needed is not None and needed <= FUTILE * self.sizes(first)[-1]

    def wide(self, samples: list[float], alpha: float) -> bool:
        """Return whether the confidence interval of a mean is wider than the precision asked for.

        It is computed at the error probability of one look, so that stopping when it is narrow
        enough does not reduce the coverage of the 95 % interval that is shown.
        """
        interval = mean_interval(samples, 1 - alpha) if samples else None
        if self.precision is None or interval is None:
            return False
        mean = sum(samples) / len(samples)
        return interval[1] - interval[0] > 2 * self.precision * abs(mean)
