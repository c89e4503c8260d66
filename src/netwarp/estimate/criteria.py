"""The criteria of verdicts: the smallest relevant difference, and the allowed error probability."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from netwarp.estimate.comparison import ALPHA, RELEVANT
from netwarp.estimate.staging import Look


@dataclass(frozen=True)
class Criteria:
    """The smallest relevant difference, and the number of looks at the samples."""

    relevant: float = RELEVANT
    """The smallest relevant difference, as a ratio."""
    looks: int = 1
    """Number of times that the samples may be judged while replicates are added."""
    by_look: tuple[Look, ...] = ()
    """The looks, with their shares of the error probability; empty if it is divided evenly."""
    families: int = 1
    """Number of families of verdicts that share the error probability."""

    @property
    def alpha(self) -> float:
        """The error probability of the family, of which each look has a share (`share_of`)."""
        return ALPHA / self.families

    def share_of(self, replicates: Iterable[int]) -> float:
        """Return the share of the error at which cells with these replicates are judged together.

        A cell that was not repeated after a look was judged there, so it keeps the share of that
        look. By Bonferroni's inequality the probability of a wrong verdict at any of the looks is
        at most 5 %, however they depend on each other and wherever one stops.
        """
        if not self.by_look:
            return 1 / self.looks
        last = self.by_look[-1]
        at = (
            next((look for look in self.by_look if look.replicates >= have), last)
            for have in replicates
        )
        return min((look.share for look in at), default=last.share)

    def divided(self, families: int) -> Criteria:
        """Return the criteria of one of several families that share the error probability."""
        return replace(self, families=self.families * families)
