"""The criteria of verdicts: the smallest relevant difference, and the allowed error probability."""

from __future__ import annotations

from dataclasses import dataclass

from netwarp.estimate.comparison import ALPHA, RELEVANT


@dataclass(frozen=True)
class Criteria:
    """The smallest relevant difference, and the number of looks at the samples."""

    relevant: float = RELEVANT
    """The smallest relevant difference, as a ratio."""
    looks: int = 1
    """Number of times that the samples may be judged while replicates are added; the error
    probability is divided evenly among them."""

    @property
    def alpha(self) -> float:
        """The error probability of a single look.

        By Bonferroni's inequality the probability of a wrong verdict at any of the looks is at most
        5 %, however they depend on each other and wherever one stops.
        """
        return ALPHA / self.looks
