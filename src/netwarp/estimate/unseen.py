"""What few replicates cannot tell: modes and rare events that did not happen in any of them.

Of n replicates, none shows an event of probability s with probability (1 − s)ⁿ: with 95 %
confidence an event that was not seen happens in less than 1 − 0.05^(1/n) of the runs, about 3 ÷ n
(the rule of three: Hanley and Lippman-Hand 1983, JAMA 249:1743). No test can do better without an
assumption on the distribution (Bahadur and Savage 1956, Annals of Mathematical Statistics 27:1115).
So verdicts are withheld from samples too few to have seen:

- for a difference, a mode of `MODE_SHARE` of the runs that takes `MODE_FACTOR` times as long;
- for an equivalence, whose claim is that something does not happen, an event in `EVENT_SHARE` of
  the runs that makes them `EVENT_FACTOR` times as long, unless it could not exceed the tolerance.
"""

from __future__ import annotations

import math

LEAST = 5
"""With fewer replicates of something random there is no verdict."""
MODE_SHARE = 0.4
MODE_FACTOR = 2.3
EVENT_SHARE = 0.1
EVENT_FACTOR = 4.0
LEAST_EQUIVALENT = 10
"""With fewer replicates of something random nothing is called equivalent, however wide it may be"""
ERROR = 0.05


def unseen_share(n: int, error: float = ERROR) -> float:
    """Give the largest share of runs with an event that n replicates may have missed."""
    return float(1 - error ** (1 / n)) if n else 1.0


def mode_distance(n: int, *, is_log: bool, error: float = ERROR) -> float:
    """Give the distance that a mode which n replicates missed may make between means.

    It is 0 where such a mode would be rarer than `MODE_SHARE`, and infinite where nothing is known
    of its size, which is on the scale of logarithms only.
    """
    share = unseen_share(n, error)
    if n >= LEAST and share <= MODE_SHARE:
        return 0.0
    return share * math.log(MODE_FACTOR) if is_log and n >= LEAST else math.inf


def mode_chance(n: int, distance: float, *, is_log: bool) -> float:
    """Give the probability of missing a mode in n replicates that would make such a distance."""
    share = MODE_SHARE
    if is_log:
        share = min(1.0, max(share, distance / math.log(MODE_FACTOR)))
    return float((1 - share) ** n)


def event_share(tolerance: float, *, is_log: bool) -> float:
    """Give the share of events that must not be missed for means to be within a tolerance."""
    return max(EVENT_SHARE, min(1.0, tolerance / math.log(EVENT_FACTOR))) if is_log else EVENT_SHARE


def event_chance(n: int, tolerance: float, *, is_log: bool) -> float:
    """Give the probability of missing events in n replicates that exceed a tolerance."""
    if n < LEAST_EQUIVALENT:
        return 1.0
    return float((1 - event_share(tolerance, is_log=is_log)) ** n)


def least_different(alpha: float, *, has_spread: bool = True) -> int:
    """Give the fewest replicates that can show a small difference at an error probability."""
    chance = ERROR if has_spread else alpha / 2
    return math.ceil(math.log(chance) / math.log(1 - MODE_SHARE))


def least_equivalent(alpha: float, tolerance: float, *, is_log: bool = True) -> int:
    """Give the fewest replicates that can show an equivalence at an error probability."""
    share = event_share(tolerance, is_log=is_log)
    needed = math.floor(math.log(alpha) / math.log(1 - share)) + 1 if share < 1 else 1
    return max(LEAST_EQUIVALENT, needed)
