"""The criteria of verdicts: the smallest relevant difference, and the allowed error probability."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from netwarp.estimate.comparison import ALPHA, RELEVANT
from netwarp.estimate.staging import Look


@dataclass(frozen=True)
class Criteria:
    """The smallest relevant difference, and how the error probability is divided among interim
    tests (looks).
    """

    relevant: float = RELEVANT
    """The smallest relevant difference, as a ratio."""
    looks: int = 1
    """Maximum number of times that the samples are tested while replicates are added (looks)."""
    by_look: tuple[Look, ...] = ()
    """The looks, with their shares of the error probability; empty if each has the same share."""
    families: int = 1
    """Number of families of comparisons that share the error probability."""

    @property
    def alpha(self) -> float:
        """The error probability of one family of comparisons. Each interim test (look) has a share
        of it; see `share_of`.
        """
        return ALPHA / self.families

    def share_of(self, replicates: Iterable[int]) -> float:
        """Return the share of the error probability at which cells with this many replicates are
        tested.

        A cell to which no replicates were added after a look was judged at that look, and keeps its
        share. By Bonferroni's inequality the probability of a wrong verdict at any of the looks is
        at most 5 %, however the looks depend on each other, and at whichever of them one stops.
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
        """Return the criteria of one of several families that divide the error probability
        evenly.
        """
        return replace(self, families=self.families * families)
