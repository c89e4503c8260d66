"""How workloads share a path: their rates over time, fairness, how soon they get fair, and harm.

Shares are of content that arrived, in steps as the endpoint counted them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from netwarp.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netwarp.wire import Goodput

FAIR_WITHIN = 0.1
"""The delta of delta-fair convergence (Bansal et al., SIGCOMM 2001; RFC 5166, section 2.3)."""
WINDOW_NS = NS_PER_S
WINDOW_RTTS = 10
"""Shares are looked at over a second, or ten round-trip times where those are longer."""


def jain_index(rates: Sequence[float]) -> float | None:
    """Compute Jain's fairness index, (Σx)² ÷ (n · Σx²) (Jain, Chiu, Hawe: DEC-TR-301, 1984).

    It is 1 where all are equal and 1/n where one has everything; None where nobody has anything.
    """
    squares = sum(rate * rate for rate in rates)
    return sum(rates) ** 2 / (len(rates) * squares) if squares else None


def harm(solo: float, together: float, *, more_is_better: bool) -> float | None:
    """Compute the harm done to a workload (Ware et al., "Beyond Jain's Fairness Index", HotNets
    2019): (solo - together) / solo of what is better high, (together - solo) / together of what is
    better low. None where that would divide by nothing.
    """
    worse, better = (together, solo) if more_is_better else (solo, together)
    return (better - worse) / better if better else None


@dataclass(frozen=True)
class Arrived:
    """The content of one workload that had arrived by the end of each step of a run."""

    step_ns: int
    sums_bytes: tuple[int, ...]

    @staticmethod
    def of(goodput: Goodput) -> Arrived:
        """Add up a run's record."""
        return Arrived(goodput.step_ns, tuple(accumulate(goodput.bytes, initial=0)))

    def until(self, at_ns: float) -> float:
        """Give the bytes that had come by a time, as if they came evenly within a step."""
        step, last = at_ns / self.step_ns, len(self.sums_bytes) - 1
        whole = min(max(int(step), 0), last)
        after = min(whole + 1, last)
        passed = min(max(step - whole, 0.0), 1.0)
        return self.sums_bytes[whole] + passed * (self.sums_bytes[after] - self.sums_bytes[whole])

    def between(self, since_ns: float, until_ns: float) -> float:
        """Give the bytes that came in a stretch of time."""
        return self.until(until_ns) - self.until(since_ns)


def shares(arrived: Sequence[Arrived], since_ns: float, until_ns: float) -> list[float] | None:
    """Give each workload's share of what arrived in a stretch of time; None of nothing."""
    came = [each.between(since_ns, until_ns) for each in arrived]
    total = sum(came)
    return [each / total for each in came] if total else None


def convergence_ns(arrived: Sequence[Arrived], span_ns: tuple[int, int], rtt_ns: int) -> int | None:
    """Give the time until all have a fair share: delta-fair convergence (RFC 5166, section 2.3).

    It is the time from when all are there to the beginning of the first window in which each has
    its nth part within a tenth of it, and from which on each has that until the end as well: shares
    that only cross are not fair. The window is a second, or ten round-trip times if that is longer;
    it is moved on by a tenth of itself. None where there is no such window.

    Args:
        arrived: what came of each.
        span_ns: from when all are there until the first one ends.
        rtt_ns: of the idle path.
    """
    window_ns = max(WINDOW_NS, WINDOW_RTTS * rtt_ns)
    since_ns, until_ns = span_ns
    for start_ns in range(since_ns, until_ns - window_ns + 1, window_ns // 10):
        ends_ns = (start_ns + window_ns, until_ns)
        if all(_is_fair(shares(arrived, start_ns, end_ns)) for end_ns in ends_ns):
            return start_ns - since_ns
    return None


def _is_fair(found: Sequence[float] | None) -> bool:
    if found is None:
        return False
    fair = 1 / len(found)
    return all(abs(share - fair) <= FAIR_WITHIN * fair for share in found)
