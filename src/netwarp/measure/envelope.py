"""The performance envelope of a flow, and the conformance of two flows: the region of the flow's
throughput and queueing delay (Mishra, Lim, Leong: "Understanding Speciation in QUIC Congestion
Control", IMC 2022), as the authors' program computes it (github.com/NUS-SNL/QUICbench, commit
8d501d7, `visualize/plot_perf_env.py`).

A point is the throughput and the mean queueing delay of a window of ten round-trip times. The 5 %
of points that are furthest from their mean are left out, and the envelope is the convex hull of the
others. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

WINDOW_RTTS = 10
"""Length of a window in round-trip times of the idle path."""
KEPT_SHARE = 0.95
"""Share of a flow's time from which windows are taken, and share of its points that are kept."""
_TOLERANCE = 1e-12


@dataclass(frozen=True)
class Point:
    """Throughput and mean queueing delay in one window of a flow."""

    delay_ms: float
    """Mean queueing delay, in ms."""
    rate_mbit_s: float
    """Content that arrived in the window, over the window's length, in Mbit/s."""


@dataclass(frozen=True)
class Envelope:
    """The performance envelope of a flow."""

    points: tuple[Point, ...]
    """The points, without those furthest from their mean."""
    hull: tuple[Point, ...]
    """Corners of the convex hull of `points`, counter-clockwise; fewer than three if it has no
    area.
    """

    def contains(self, point: Point) -> bool:
        """Return whether a point lies in the hull or on its edge."""
        if len(self.hull) < 3:
            return point in self.hull
        corners = zip(self.hull, (*self.hull[1:], self.hull[0]), strict=True)
        return all(_turn(a, b, point) >= -_TOLERANCE for a, b in corners)


def envelope(points: Sequence[Point]) -> Envelope | None:
    """Return the envelope of a flow's points; None if there are no points."""
    if not points:
        return None
    mean = _mean(points)
    from_mean = sorted(
        points,
        key=lambda each: math.hypot(
            each.delay_ms - mean.delay_ms, each.rate_mbit_s - mean.rate_mbit_s
        ),
    )
    kept = from_mean[: int(len(points) * KEPT_SHARE)] or list(points)
    return Envelope(tuple(kept), _hull(kept))


def conformance(one: Envelope, other: Envelope) -> float:
    """Return the share of the points of two envelopes that lie in the other's hull: 1 if the
    envelopes are the same, 0 if they do not overlap.
    """
    inside = sum(map(other.contains, one.points)) + sum(map(one.contains, other.points))
    return inside / (len(one.points) + len(other.points))


def _mean(points: Sequence[Point]) -> Point:
    return Point(
        sum(each.delay_ms for each in points) / len(points),
        sum(each.rate_mbit_s for each in points) / len(points),
    )


def _hull(points: Sequence[Point]) -> tuple[Point, ...]:
    """Return the corners of a convex hull, counter-clockwise (Andrew's monotone chain)."""
    ordered = sorted(set(points), key=lambda each: (each.delay_ms, each.rate_mbit_s))
    if len(ordered) < 3:
        return tuple(ordered)
    lower, upper = _chain(ordered), _chain(ordered[::-1])
    return (*lower[:-1], *upper[:-1])


def _chain(ordered: Sequence[Point]) -> list[Point]:
    chain: list[Point] = []
    for point in ordered:
        while len(chain) > 1 and _turn(chain[-2], chain[-1], point) <= 0:
            chain.pop()
        chain.append(point)
    return chain


def _turn(a: Point, b: Point, c: Point) -> float:
    """Return twice the signed area of a triangle, which is positive if its corners are
    counter-clockwise.
    """
    return (b.delay_ms - a.delay_ms) * (c.rate_mbit_s - a.rate_mbit_s) - (
        b.rate_mbit_s - a.rate_mbit_s
    ) * (c.delay_ms - a.delay_ms)
