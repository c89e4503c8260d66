"""Computes how workloads share a path: shares over time, fairness, convergence time, and harm.

Shares are computed from the content that arrived in each of the endpoint's time bins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from netwarp.units import NS_PER_S

if TYPE_CHECKING:
    from netwarp.wire import Goodput

FAIR_WITHIN = 0.1
"""The delta of delta-fair convergence (Bansal et al., SIGCOMM 2001; RFC 5166, section 2.3)."""
WINDOW_NS = NS_PER_S
WINDOW_RTTS = 10
"""Minimum length in round-trip times of the window over which shares are computed; it is at least a
second."""


def jain_index(rates: Sequence[float]) -> float | None:
    """Return Jain's fairness index, (Σx)² ÷ (n · Σx²) (Jain, Chiu, Hawe: DEC-TR-301, 1984).

    It is 1 if all rates are equal, and 1/n if one has everything; None if all are 0.
    """
    squares = sum(rate * rate for rate in rates)
    return sum(rates) ** 2 / (len(rates) * squares) if squares else None


def harm(solo: float, together: float, *, more_is_better: bool) -> float | None:
    """Return the harm done to a workload (Ware et al., "Beyond Jain's Fairness Index", HotNets
    2019): (solo - together) / solo if more is better, (together - solo) / together if less is
    better. None if the divisor is 0.
    """
    worse, better = (together, solo) if more_is_better else (solo, together)
    return (better - worse) / better if better else None


@dataclass(frozen=True)
class Arrived:
    """The cumulative content of one workload that had arrived by the end of each time bin, in
    bytes.
    """

    step_ns: int
    sums_bytes: tuple[int, ...]

    @staticmethod
    def of(goodput: Goodput) -> Arrived:
        """Return the cumulative counts from a run's goodput record."""
        return Arrived(goodput.step_ns, tuple(accumulate(goodput.bytes, initial=0)))

    def until(self, at_ns: float) -> float:
        """Return the bytes that had arrived by a time, interpolated linearly within a time bin."""
        step, last = at_ns / self.step_ns, len(self.sums_bytes) - 1
        whole = min(max(int(step), 0), last)
        after = min(whole + 1, last)
        passed = min(max(step - whole, 0.0), 1.0)
        return self.sums_bytes[whole] + passed * (self.sums_bytes[after] - self.sums_bytes[whole])

    def between(self, since_ns: float, until_ns: float) -> float:
        """Return the bytes that arrived between two times."""
        return self.until(until_ns) - self.until(since_ns)


def shares(arrived: Sequence[Arrived], since_ns: float, until_ns: float) -> list[float] | None:
    """Return each workload's share of the bytes that arrived between two times; None if no bytes
    arrived.
    """
    came = [each.between(since_ns, until_ns) for each in arrived]
    total = sum(came)
    return [each / total for each in came] if total else None


def convergence_ns(arrived: Sequence[Arrived], span_ns: tuple[int, int], rtt_ns: int) -> int | None:
    """Return the time in ns until all workloads have a fair share: delta-fair convergence (RFC
    5166, section 2.3).

    It lasts from the time at which all have started to the beginning of the first window in which
    each share is 1/n within a tenth, provided that the shares from there to the end are fair, too:
    shares that only cross are not. The window is a second, or ten round-trip times if that is
    longer; it is moved in steps of a tenth of its length. None if there is no such window.

    Args:
        arrived: the content that arrived, for each workload.
        span_ns: when all have started, and when the first one ends.
        rtt_ns: round-trip time of the idle path.
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
