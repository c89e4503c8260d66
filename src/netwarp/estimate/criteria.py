"""The criteria of verdicts: the smallest relevant difference, and the allowed error probability."""

from dataclasses import dataclass

from netwarp.estimate.comparison import ALPHA, RELEVANT

LOOK_SHARES = (0.1, 0.15, 0.25, 0.5)
"""Shares of the error probability of the looks. The last has the most, as there the replicates are
as many as there will be."""


@dataclass(frozen=True)
class Criteria:
    """The smallest relevant difference, and the number of looks at the samples."""

    relevant: float = RELEVANT
    """The smallest relevant difference, as a ratio."""
    looks: int = 1
    """Number of times that the samples may be judged while replicates are added."""
    look: int | None = None
    """Which of them this is, from 0; None where the error probability is divided evenly."""

    @property
    def alpha(self) -> float:
        """The error probability of a single look.

        By Bonferroni's inequality the probability of a wrong verdict at any of the looks is at most
        5 %, however they depend on each other and wherever one stops.
        """
        if self.look is None or self.looks != len(LOOK_SHARES):
            return ALPHA / self.looks
        return ALPHA * LOOK_SHARES[self.look]
