"""How replicates are added in stages until something is decided, at a held error.

A group-sequential rule: the samples may be looked at `LOOKS` times, after n, 2n, 4n and 8n
replicates, and every look takes an equal share of the error (Bonferroni's inequality, see
`Criteria.alpha`). That costs a few replicates more than Pocock's or O'Brien and Fleming's bounds
(Biometrika 1977, 64:191; Biometrics 1979, 35:549), which hold for sums of normal samples only; this
one holds for every test there is here, whatever the looks have in common.
"""

from __future__ import annotations

from dataclasses import dataclass

from netwarp.estimate.stats import mean_interval

LOOKS = 4
"""Stages at most, each with twice the replicates of the one before."""
MOST_REPLICATES = 10_000
FUTILE = 4
"""A verdict that needs this many times the last stage's replicates gets no further stage."""


@dataclass(frozen=True)
class TimeLimit:
    """How long replicates may be added. It does not depend on what they show, so that whatever has
    been decided when it is reached is decided at the error it says.
    """

    length_s: float
    """As it was asked for."""
    until_s: float
    """When it is reached, by the monotonic clock."""
    is_share: bool = False
    """Whether `until_s` ends one study's share of a limit that several studies have together."""


@dataclass(frozen=True)
class Staging:
    """What replicates are added for: verdicts, or intervals of a width."""

    precision: float | None = None
    """Half of an interval's width, as a share of the mean; None where verdicts decide the end."""
    limit: TimeLimit | None = None
    """When no more are added; None where the stages decide the end."""

    def sizes(self, first: int) -> tuple[int, ...]:
        """Replicates of a cell after each stage."""
        doubled = (first * 2**stage for stage in range(LOOKS))
        return tuple(dict.fromkeys(min(size, MOST_REPLICATES) for size in doubled))

    def worth_while(self, needed: int | None, first: int) -> bool:
        """Whether the stages can be expected to decide what takes so many replicates."""
        return needed is not None and needed <= FUTILE * self.sizes(first)[-1]

    def wide(self, samples: list[float], alpha: float) -> bool:
        """Whether the interval of a mean is wider than the precision asked for.

        It is taken at the error of one look: stopping when it is narrow enough then leaves the
        interval that is shown, a 95 % one, its coverage.
        """
        interval = mean_interval(samples, 1 - alpha) if samples else None
        if self.precision is None or interval is None:
            return False
        mean = sum(samples) / len(samples)
        return interval[1] - interval[0] > 2 * self.precision * abs(mean)
