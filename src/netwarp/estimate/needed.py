"""Computes how many replicates would decide an undecided test."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from netwarp.estimate import unseen
from netwarp.estimate.stats import replicates_needed

if TYPE_CHECKING:
    from netwarp.estimate.location import Location


@dataclass(frozen=True)
class Undecided:
    """An undecided test. The spread of its samples and the distance that it must show determine how
    many replicates it needs.
    """

    stdev: float
    """Standard deviation of a single replicate."""
    distance: float
    """Distance from the estimate to the nearest limit; the test has to distinguish the two."""
    n: int
    """Number of replicates so far."""
    tolerance: float | None = None
    """Half the width of the range that counts as equivalent, if the estimate lies within it; None
    otherwise.
    """
    is_log: bool = True
    """Whether the standard deviation, distance and tolerance are those of logarithms."""

    @property
    def hardness(self) -> float:
        """The spread divided by the distance: of several tests, the one with the largest value
        needs the most replicates.
        """
        return self.stdev / max(self.distance, 1e-12)

    def replicates(self, alpha: float) -> int | None:
        """Return how many replicates would decide the test with a power of 80 %; None if too
        many.
        """
        needed = replicates_to_tell(
            self.stdev, self.distance, alpha, tolerance=self.tolerance, is_log=self.is_log
        )
        return None if needed is None else max(needed, self.n + 1)


def replicates_to_tell(
    stdev: float, distance: float, alpha: float, *, tolerance: float | None = None,
    is_log: bool = True,
) -> int | None:  # fmt: skip
    """Return how many replicates would show a distance with a power of 80 %; None if too many.

    Unseen modes and events take a part of the error probability; the t-test has the rest.

    Args:
        stdev: standard deviation of a single replicate.
        distance: distance of the true value from the limit to be distinguished.
        alpha: two-sided error probability.
        tolerance: half the width of the range that counts as equivalent, if equivalence is to be
            shown.
        is_log: whether all these values are logarithms.
    """
    needed = replicates_needed(stdev, distance, alpha)
    if needed is None:
        return None
    if tolerance is None:
        n = unseen.LEAST
        missed = partial(unseen.mode_chance, distance=distance, is_log=is_log, sides=2)
    else:
        n = unseen.LEAST_EQUIVALENT
        missed = partial(unseen.event_chance, tolerance=tolerance, is_log=is_log)
    n = max(n, needed)
    while missed(n) >= alpha:
        n += 1
    while (needed := replicates_needed(stdev, distance, alpha - missed(n)) or n) > n:
        n += 1
    return n


def to_decide(
    location: Location | None, n: int, stdev: float, limits: tuple[float, ...], within: float
) -> Undecided | None:
    """Return the spread and the distance that determine how many replicates would decide a test;
    None if nothing is random.

    Args:
        location: the estimate.
        n: number of replicates.
        stdev: standard deviation of a single replicate.
        limits: values from which it must be distinguished.
        within: values closer to 0 than this count as equivalent; 0 if none do.
    """
    if location is None or not location.sampled:
        return None
    is_within = abs(location.value) < within
    return Undecided(
        stdev, location.distance(*limits), n, within if is_within else None, location.is_log
    )


def stdev_of(location: Location, n: int) -> float:
    """Return the standard deviation of single replicates, from the standard error of their mean."""
    return location.error * math.sqrt(n)
