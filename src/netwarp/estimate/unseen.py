"""What few replicates cannot show: modes and rare events that did not happen in any of them.

An event of probability s appears in none of n replicates with probability (1 − s)ⁿ: with 95 %
confidence an event that was not seen happens in less than 1 − 0.05^(1/n) of the runs, about 3 ÷ n
(the rule of three: Hanley and Lippman-Hand 1983, JAMA 249:1743). No test can do better without an
assumption on the distribution (Bahadur and Savage 1956, Annals of Mathematical Statistics 27:1115).
So the probability of having missed something is added to each p-value of Student's t: the
probability that either errs is at most their sum (Boole's inequality). What may be missed is

- for a difference, one of two modes, each of which at least `MODE_SHARE` of the runs are in, and
  one of which takes `MODE_FACTOR` times as long;
- for an equivalence, which claims that something does not happen, an event in `EVENT_SHARE` of the
  runs that makes them `EVENT_FACTOR` times as long, unless it could not exceed the tolerance.

Being part of the p-value, it is adjusted together with it for all claims of a family and all looks.
"""

import math

LEAST = 5
"""Minimum number of replicates for a verdict, if something is random."""
MODE_SHARE = 0.4
MODE_FACTOR = 2.3
EVENT_SHARE = 0.1
EVENT_FACTOR = 4.0
LEAST_EQUIVALENT = 10
"""Minimum number of replicates for a verdict of equivalence, if something is random, however wide
the tolerance is."""
ERROR = 0.05
DISTANCE_STEP = 1e-6


def unseen_share(n: int, error: float = ERROR) -> float:
    """Return the upper bound on the share of runs with an event that happened in none of n
    replicates.
    """
    return float(1 - error ** (1 / n)) if n else 1.0


def mode_chance(n: int, distance: float, *, is_log: bool, sides: int = 1) -> float:
    """Return the probability that n replicates missed a mode that explains a distance between the
    mean and a limit.

    A missed mode with a share s of the runs shifts the mean by s · ln `MODE_FACTOR`, so a distance
    implies a minimum share. For distances that are not logarithms no such bound is known.

    Args:
        n: number of replicates.
        distance: distance from the mean to the limit against which it is tested.
        is_log: whether the distance is a logarithm.
        sides: 2 if either of two answers is possible: then the other mode may be missed as well,
            which shifts the mean the other way by (1 − s) · ln `MODE_FACTOR`.
    """
    if n < LEAST:
        return 1.0
    share = max(MODE_SHARE, distance / math.log(MODE_FACTOR)) if is_log else MODE_SHARE
    if share >= 1:
        return 0.0
    other = share**n if sides > 1 and share <= 0.5 else 0.0
    return float((1 - share) ** n + other)


def mode_distance(n: int, alpha: float) -> float:
    """Return the smallest distance between logarithms that n replicates can show at an error
    probability, although they may have missed a mode.

    It is 0 if they can show any distance, and infinite if they can show none.
    """
    if n < LEAST:
        return math.inf
    if mode_chance(n, 0.0, is_log=True, sides=2) < alpha:
        return 0.0
    low, high = 0.0, math.log(MODE_FACTOR)
    while high - low > DISTANCE_STEP:
        middle = (low + high) / 2
        is_shown = mode_chance(n, middle, is_log=True, sides=2) < alpha
        low, high = (low, middle) if is_shown else (middle, high)
    return high


def event_share(tolerance: float, *, is_log: bool) -> float:
    """Return the largest share of runs that an event may affect without shifting means beyond a
    tolerance.
    """
    return max(EVENT_SHARE, min(1.0, tolerance / math.log(EVENT_FACTOR))) if is_log else EVENT_SHARE


def event_chance(n: int, tolerance: float, *, is_log: bool) -> float:
    """Return the probability that n replicates miss events that would shift means beyond a
    tolerance.
    """
    if n < LEAST_EQUIVALENT:
        return 1.0
    return float((1 - event_share(tolerance, is_log=is_log)) ** n)


def least_different(alpha: float) -> int:
    """Return the fewest replicates that can show a small difference at an error probability."""
    n = LEAST
    while mode_chance(n, 0.0, is_log=True, sides=2) >= alpha:
        n += 1
    return n


def least_equivalent(alpha: float, tolerance: float, *, is_log: bool = True) -> int:
    """Return the fewest replicates that can show an equivalence at an error probability."""
    share = event_share(tolerance, is_log=is_log)
    needed = math.floor(math.log(alpha) / math.log(1 - share)) + 1 if share < 1 else 1
    return max(LEAST_EQUIVALENT, needed)
