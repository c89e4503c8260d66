"""An estimate with its standard error, for intervals and p-values by Student's t."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netwarp.estimate import unseen
from netwarp.estimate.modes import modes_of
from netwarp.estimate.stats import mean_of, standard_deviation
from netwarp.estimate.student import student_quantile, two_sided_p

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netwarp.estimate.stats import Interval


ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Location:
    """A mean, its standard error and the degrees of freedom of Student's t.

    With an error of 0 and nothing random, intervals are points, and p-values are 0 or 1.
    """

    value: float
    error: float
    degrees: float
    sampled: int = 0
    """Number of replicates in which something was random; 0 where nothing was."""
    is_log: bool = False
    """Whether the value is a logarithm, so that a distance is a factor."""
    cautious: tuple[Location, Location] | None = None
    """Of samples in two modes, the same with the lower, and with the upper mode counted once
    more."""

    def interval(self, confidence: float) -> Interval:
        """Give the two-sided confidence interval."""
        half = self._half_width(confidence)
        low, high = self.value - half, self.value + half
        for each in self.cautious or ():
            lower, upper = each.interval(confidence)
            low, high = min(low, lower), max(high, upper)
        return (low, high)

    def p_above(self, limit: float) -> float:
        """Give the one-sided p-value of a value this high if the true one were `limit` or less."""
        distance = self.value - limit
        if self.error == 0 and not self.sampled:
            return 0.0 if distance > 0 else 1.0
        if self.sampled and distance <= unseen.mode_distance(self.sampled, is_log=self.is_log):
            return max(0.5, self._tail_above(limit))
        others = [] if self.cautious is None else [self.cautious[0]._tail_above(limit)]
        return max(self._tail_above(limit), *others, 0.0)

    def p_below(self, limit: float) -> float:
        """Give the one-sided p-value of a value this low if the true one were `limit` or more."""
        return self._mirrored().p_above(-limit)

    def p_within(self, low: float, high: float) -> float:
        """Give the p-value of such a value if the true one were outside of `low` … `high`.

        It is that of two one-sided tests (Schuirmann 1987, J. Pharmacokinetics and Biopharmaceutics
        15:657), and of not having seen an event that would take it outside.
        """
        if not self.sampled:
            if self.error == 0:
                return 0.0 if low <= self.value <= high else 1.0
            return max(self.p_above(low), self.p_below(high))
        missed = unseen.event_chance(self.sampled, (high - low) / 2, is_log=self.is_log)
        if self.error == 0:
            return missed if low <= self.value <= high else 1.0
        return max(self.p_above(low), self.p_below(high), missed)

    def p_outside(self, low: float, high: float) -> float:
        """Give the two-sided p-value of such a value if the true one were within `low` … `high`."""
        return min(1.0, 2 * min(self.p_below(low), self.p_above(high)))

    def distance(self, *limits: float) -> float:
        """Give the distance to the nearest of some limits."""
        return min(abs(self.value - limit) for limit in limits)

    def _half_width(self, confidence: float) -> float:
        if self.error == 0 and not self.sampled:
            return 0.0
        half = self.error * student_quantile(self.degrees, confidence) if self.error else 0.0
        if not self.sampled:
            return half
        # Of equal samples only what was not seen limits what can be said.
        error = unseen.ERROR if self.error else (1 - confidence) / 2
        return max(half, unseen.mode_distance(self.sampled, is_log=self.is_log, error=error))

    def _tail_above(self, limit: float) -> float:
        if self.error == 0:
            if self.value <= limit:
                return 1.0
            return unseen.mode_chance(self.sampled, self.value - limit, is_log=self.is_log)
        t = (self.value - limit) / self.error
        tail = two_sided_p(abs(t), self.degrees) / 2
        return tail if t > 0 else 1 - tail

    def _mirrored(self) -> Location:
        turned = None
        if self.cautious is not None:
            lower, upper = self.cautious
            turned = (upper._mirrored(), lower._mirrored())
        return Location(-self.value, self.error, self.degrees, self.sampled, self.is_log, turned)


def location_of(values: Sequence[float], *, random: bool = True, is_log: bool = False) -> Location:
    """Estimate the mean of the distribution of two samples or more.

    Args:
        values: one for each replicate.
        random: whether anything was planned to be random. Samples that differ are random anyhow.
        is_log: whether they are logarithms.
    """
    found = _plain(values, is_log=is_log, sampled=_sampled(len(values), random, values))
    modes = modes_of(values) if found.sampled and found.error else None
    if modes is None:
        return found
    lower, upper = (_plain([*values, mode], is_log=is_log, sampled=0) for mode in modes)
    return _with(found, lower, upper)


def difference_of(
    first: Sequence[float], second: Sequence[float], *, random: bool = True, is_log: bool = False
) -> Location:
    """Estimate the difference of two means, second minus first (Welch 1947, Biometrika 34:28).

    Args:
        first: samples of two replicates or more.
        second: samples of two replicates or more.
        random: whether anything was planned to be random.
        is_log: whether they are logarithms.
    """
    sampled = _sampled(min(len(first), len(second)), random, first, second)
    found = _welch(first, second, is_log=is_log, sampled=sampled)
    modes = [modes_of(first), modes_of(second)] if sampled else [None, None]
    if modes == [None, None]:
        return found
    lower, upper = (
        _welch(_and(first, modes[0], 1 - end), _and(second, modes[1], end), is_log=is_log)
        for end in (0, 1)
    )
    return _with(found, lower, upper)


def _sampled(n: int, random: bool, *samples: Sequence[float]) -> int:
    return n if random or not all(_is_constant(each) for each in samples) else 0


def _is_constant(values: Sequence[float]) -> bool:
    """Whether values are equal, but for the rounding of their logarithms."""
    return max(values) - min(values) <= ROUNDING * max(1.0, *map(abs, values))


def _plain(values: Sequence[float], *, is_log: bool, sampled: int) -> Location:
    if _is_constant(values):
        return Location(values[0], 0.0, len(values) - 1, sampled, is_log)
    error = standard_deviation(values) / math.sqrt(len(values))
    return Location(mean_of(values), error, len(values) - 1, sampled, is_log)


def _welch(
    first: Sequence[float], second: Sequence[float], *, is_log: bool, sampled: int = 0
) -> Location:
    parts = [(standard_deviation(each) ** 2 / len(each), len(each) - 1) for each in (first, second)]
    variance = sum(part for part, _ in parts)
    value = mean_of(second) - mean_of(first)
    if variance == 0:
        return Location(value, 0.0, len(first) + len(second) - 2, sampled, is_log)
    degrees = variance**2 / sum(part**2 / each for part, each in parts)
    return Location(value, math.sqrt(variance), degrees, sampled, is_log)


def _and(values: Sequence[float], modes: tuple[float, float] | None, end: int) -> Sequence[float]:
    return values if modes is None else [*values, modes[end]]


def _with(found: Location, lower: Location, upper: Location) -> Location:
    return Location(
        found.value, found.error, found.degrees, found.sampled, found.is_log, (lower, upper)
    )
