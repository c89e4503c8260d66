"""By what samples are judged: which difference is relevant, and which error is allowed."""

from __future__ import annotations

from dataclasses import dataclass

from netwarp.estimate.comparison import ALPHA, RELEVANT


@dataclass(frozen=True)
class Criteria:
    """What counts as a difference, and how often the samples may be looked at."""

    relevant: float = RELEVANT
    """The smallest relevant difference, as a share."""
    looks: int = 1
    """Times that the samples may be judged while replicates are added: the error is shared out
    evenly over them."""

    @property
    def alpha(self) -> float:
        """Chance of a wrong verdict that one look may take.

        Bonferroni's inequality: whatever the looks have in common, and wherever one stops, the
        chance of a wrong verdict at any of them is at most 5 %.
        """
        return ALPHA / self.looks
