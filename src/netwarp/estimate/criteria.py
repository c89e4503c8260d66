"""The criteria of verdicts: the smallest relevant difference, and the allowed error probability."""

from __future__ import annotations

from dataclasses import dataclass, replace

from netwarp.estimate.comparison import ALPHA, RELEVANT


@dataclass(frozen=True)
class Criteria:
    """The smallest relevant difference, and the number of looks at the samples."""

    relevant: float = RELEVANT
    """The smallest relevant difference, as a ratio."""
    looks: int = 1
    """Number of times that the samples may be judged while replicates are added."""
    share: float | None = None
    """This look's share of the error probability; None if it is divided evenly."""

    @property
    def alpha(self) -> float:
        """The error probability of a single look.

        By Bonferroni's inequality the probability of a wrong verdict at any of the looks is at most
        5 %, however they depend on each other and wherever one stops.
        """
        return ALPHA * (1 / self.looks if self.share is None else self.share)

    def divided(self, families: int) -> Criteria:
        """Return the criteria of one of several families that share the error probability."""
        share = None if self.share is None else self.share / families
        return replace(self, looks=self.looks * families, share=share)
