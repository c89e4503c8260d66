"""An estimate with its standard error, for intervals and p-values by Student's t."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from netwarp.estimate import unseen
from netwarp.estimate.modes import CLEAR_GAP, FEW, modes_of
from netwarp.estimate.signed_rank import signed_rank_above
from netwarp.estimate.stats import Interval, mean_of, residuals, standard_deviation
from netwarp.estimate.student import student_quantile, two_sided_p

ROUNDING = 1e-12
SAME = 1e-6
"""Largest relative difference of values that count as the same if nothing is random. The kernel's
background work, such as reseeding its random numbers once a minute, reads the run's clock at
different times in each replicate, and each reading takes 256 ns."""
PRECISION = 1e-5
FARTHEST = 1e6


@dataclass(frozen=True, slots=True)
class Location:
    """A mean, its standard error and the degrees of freedom of Student's t.

    With an error of 0 and nothing random, intervals are points, and p-values are 0 or 1. If
    something is random, p-values include the probability of modes and events that no replicate
    showed.
    """

    value: float
    error: float
    degrees: float
    sampled: int = 0
    """Number of replicates in which something was random; 0 if nothing was."""
    is_log: bool = False
    """Whether the value is a logarithm, so that a distance is a factor."""
    cautious: tuple[Location, Location] | None = None
    """For samples in two modes: the same estimate with a sample of the lower mode counted twice,
    and with one of the upper mode counted twice.
    """
    ranked: tuple[float, ...] = ()
    """For few samples in two clear modes: the samples themselves. Student's t needs more of them,
    so the signed-rank test has to agree with it.
    """

    def interval(self, confidence: float) -> Interval:
        """Return the two-sided confidence interval, by inverting the test: all values of the true
        mean that the test does not reject.
        """
        alpha = 1 - confidence
        return (self.value - self._reach(alpha), self.value + self._mirrored()._reach(alpha))

    def p_above(self, limit: float, sides: int = 1) -> float:
        """Return the p-value of an estimate this high if the true value were `limit` or less.

        Args:
            limit: the largest true value that the test rejects.
            sides: 2 if the opposite is tested as well, at the same error probability; else 1.
        """
        return min(1.0, sides * self._tail_above(limit) + self._missed(self.value - limit, sides))

    def p_below(self, limit: float, sides: int = 1) -> float:
        """Return the p-value of an estimate this low if the true value were `limit` or more."""
        return self._mirrored().p_above(-limit, sides)

    def p_within(self, low: float, high: float) -> float:
        """Return the p-value for an equivalence: the probability of this estimate if the true value
        were outside of `low` … `high`.

        It is the p-value of two one-sided tests (Schuirmann 1987, J. Pharmacokinetics and
        Biopharmaceutics 15:657), plus the probability of not having seen an event that would shift
        the mean outside.
        """
        if self.error == 0:
            tail = 0.0 if low <= self.value <= high else 1.0
        else:
            tail = max(self._tail_above(low), self._mirrored()._tail_above(-high))
        if not self.sampled:
            return tail
        missed = unseen.event_chance(self.sampled, (high - low) / 2, is_log=self.is_log)
        return min(1.0, tail + missed)

    def p_outside(self, low: float, high: float) -> float:
        """Return the two-sided p-value of this estimate if the true value were between `low` and
        `high`.
        """
        return min(self.p_below(low, 2), self.p_above(high, 2))

    def distance(self, *limits: float) -> float:
        """Return the distance from the estimate to the nearest of these limits."""
        return min(abs(self.value - limit) for limit in limits)

    def _reach(self, alpha: float) -> float:
        """Return the largest distance below the estimate at which a true mean is not yet rejected,
        in a two-sided test.
        """
        if not self.sampled:
            return self._student_reach(alpha)
        missed = self._missed(0.0, 2)
        near = self._student_reach(alpha)
        if not self.ranked and missed < alpha:
            reach = self._student_reach(alpha - missed)
            if self._missed(reach, 2) == missed:
                return reach
        return self._search(alpha, near)

    def _search(self, alpha: float, low: float) -> float:
        """Compute `_reach` by bisection, from `low` upwards; infinity if no distance is enough."""
        if self._missed(math.inf, 2) >= alpha:
            return math.inf
        high = max(low, math.log(unseen.MODE_FACTOR) if self.is_log else self.error, ROUNDING)
        while self.p_above(self.value - high, 2) > alpha * (1 + PRECISION):
            low, high = high, 2 * high
            if high > FARTHEST * max(1.0, abs(self.value), self.error):
                return math.inf
        while high - low > PRECISION * high:
            middle = (low + high) / 2
            is_told = self.p_above(self.value - middle, 2) <= alpha
            low, high = (low, middle) if is_told else (middle, high)
        return high

    def _student_reach(self, alpha: float) -> float:
        """Compute `_reach` by Student's t alone."""
        each = (self, *(self.cautious or ()))
        lowest: list[float] = [
            one.value - one.error * student_quantile(one.degrees, 1 - alpha)
            if one.error
            else one.value
            for one in each
        ]
        return self.value - min(lowest)

    def _tail_above(self, limit: float) -> float:
        """Return the one-sided p-value by the samples alone, without the probability of modes that
        were not seen.
        """
        tails = [self._student_above(limit)]
        if self.cautious is not None:
            tails.append(self.cautious[0]._student_above(limit))
        if self.ranked:
            tails.append(signed_rank_above([value - limit for value in self.ranked]))
        return max(tails)

    def _student_above(self, limit: float) -> float:
        if self.error == 0:
            return 0.0 if self.value > limit else 1.0
        t = (self.value - limit) / self.error
        tail = two_sided_p(abs(t), self.degrees) / 2
        return tail if t > 0 else 1 - tail

    def _missed(self, distance: float, sides: int) -> float:
        if not self.sampled:
            return 0.0
        return unseen.mode_chance(self.sampled, distance, is_log=self.is_log, sides=sides)

    def _mirrored(self) -> Location:
        turned = None
        if self.cautious is not None:
            lower, upper = self.cautious
            turned = (upper._mirrored(), lower._mirrored())
        ranked = tuple(-value for value in self.ranked)
        return replace(self, value=-self.value, cautious=turned, ranked=ranked)


def location_of(values: Sequence[float], *, random: bool = True, is_log: bool = False) -> Location:
    """Estimate the mean of the distribution from which two or more samples come.

    Args:
        values: one for each replicate.
        random: whether something was planned to be random. Samples that differ are random in any
            case.
        is_log: whether they are logarithms.
    """
    sampled = _sampled(len(values), random, values, is_log=is_log)
    found = _plain(values, is_log=is_log, sampled=sampled)
    if not sampled:
        return replace(found, error=0.0)
    modes = modes_of(values) if found.error else None
    if modes is None:
        return found
    lower, upper = (_plain([*values, mode], is_log=is_log, sampled=0) for mode in modes)
    is_ranked = len(values) < FEW and modes_of(values, CLEAR_GAP) is not None
    return replace(found, cautious=(lower, upper), ranked=tuple(values) if is_ranked else ())


def mean_location(
    values: Sequence[float],
    weights: Sequence[float] | None = None,
    *,
    random: bool = True,
    on_log_scale: bool = True,
) -> Location:
    """Estimate a mean in the same way as :func:`netwarp.estimate.stats.mean_interval`.

    For positive samples it is the mean's logarithm, by the delta method: relative distances of
    samples from the mean are distances of logarithms.

    Args:
        values: samples of two replicates or more.
        weights: for samples that are quotients, their denominators.
        random: whether something was planned to be random.
        on_log_scale: whether positive samples are estimated on the log scale.
    """
    mean = mean_of(values, weights)
    apart = residuals(values, weights, mean)
    if min(values) <= 0 or not on_log_scale:
        return location_of([mean + each for each in apart], random=random)
    return location_of([math.log(mean) + each / mean for each in apart], random=random, is_log=True)


def difference_of(
    first: Sequence[float], second: Sequence[float], *, random: bool = True, is_log: bool = False
) -> Location:
    """Estimate the difference of two means, the second minus the first (Welch 1947, Biometrika
    34:28).

    Args:
        first: samples of two replicates or more.
        second: samples of two replicates or more.
        random: whether something was planned to be random.
        is_log: whether the samples are logarithms.
    """
    sampled = _sampled(min(len(first), len(second)), random, first, second, is_log=is_log)
    found = _welch(first, second, is_log=is_log, sampled=sampled)
    if not sampled:
        return replace(found, error=0.0)
    modes = [modes_of(first), modes_of(second)]
    if modes == [None, None]:
        return found
    lower, upper = (
        _welch(
            _with_mode(first, modes[0], 1 - end), _with_mode(second, modes[1], end), is_log=is_log
        )
        for end in (0, 1)
    )
    return replace(found, cautious=(lower, upper))


def _sampled(n: int, random: bool, *samples: Sequence[float], is_log: bool) -> int:
    """Return the number of replicates in which something was random: `n` or 0."""
    return n if random or not all(is_fixed(each, is_log=is_log) for each in samples) else 0


def is_fixed(values: Sequence[float], *, is_log: bool) -> bool:
    """Return whether replicates have the same value, to a millionth; for replicates in which
    nothing is random.
    """
    relative = 1.0 if is_log else max(map(abs, values))
    return is_constant(values) or max(values) - min(values) <= SAME * relative


def is_constant(values: Sequence[float]) -> bool:
    """Return whether all values are equal, except for the rounding of their logarithms."""
    return max(values) - min(values) <= ROUNDING * max(1.0, *map(abs, values))


def _plain(values: Sequence[float], *, is_log: bool, sampled: int) -> Location:
    if is_constant(values):
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


def _with_mode(
    values: Sequence[float], modes: tuple[float, float] | None, end: int
) -> Sequence[float]:
    return values if modes is None else [*values, modes[end]]
