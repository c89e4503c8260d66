"""The replicates that would decide what is undecided."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netwarp.estimate import unseen
from netwarp.estimate.stats import replicates_needed

if TYPE_CHECKING:
    from netwarp.estimate.location import Location


@dataclass(frozen=True)
class Undecided:
    """Spread and distance on the test's scale, to compute the replicates needed."""

    stdev: float
    """Standard deviation of a single replicate."""
    distance: float
    """Distance from the estimate to the nearest limit from which it must be distinguished."""
    n: int
    """Number of replicates so far."""
    tolerance: float | None = None
    """Half the width of what is equivalent, where the estimate lies within; None elsewhere."""
    is_log: bool = True
    """Whether all these are logarithms."""

    def replicates(self, alpha: float) -> int | None:
        """Give the replicates that decide it with a power of 80 %; None if too many."""
        needed = replicates_needed(self.stdev, self.distance, alpha)
        if needed is None:
            return None
        if self.tolerance is not None:
            least = unseen.least_equivalent(alpha, self.tolerance, is_log=self.is_log)
        else:
            least = unseen.least_different(alpha, has_spread=self.stdev > 0)
        return max(needed, least, self.n + 1)


def to_decide(
    location: Location | None, n: int, stdev: float, limits: tuple[float, ...], within: float
) -> Undecided | None:
    """Say what would decide a test; None where nothing is random.

    Args:
        location: the estimate.
        n: number of replicates.
        stdev: standard deviation of a single replicate.
        limits: values from which it must be distinguished.
        within: values closer to 0 than this are equivalent; 0 where nothing is.
    """
    if location is None or not location.sampled:
        return None
    is_within = abs(location.value) < within
    return Undecided(
        stdev, location.distance(*limits), n, within if is_within else None, location.is_log
    )


def stdev_of(location: Location, n: int) -> float:
    """Give the standard deviation of a single replicate from the error of the mean."""
    return location.error * math.sqrt(n)
