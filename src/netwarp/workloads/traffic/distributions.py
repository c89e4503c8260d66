"""Distributions of flow sizes from the literature on data centres.

A distribution is given by points of its cumulative curve: a size in packets of 1 460 bytes, and the
share of flows that are not larger, as the authors of pFabric simulated them (Alizadeh et al.,
pFabric: Minimal Near-Optimal Datacenter Transport, SIGCOMM 2013, section 5 and figure 4); sizes
between two points are equally likely.
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import Literal

from netwarp import wire

PACKET_BYTES = 1460
SizesName = Literal["web-search", "data-mining"]
POINTS: Mapping[SizesName, tuple[tuple[int, float], ...]] = {
    # Measured in a production cluster for web search: Alizadeh et al., Data Center TCP (DCTCP),
    # SIGCOMM 2010.
    "web-search": (
        (6, 0.0), (6, 0.15), (13, 0.2), (19, 0.3), (33, 0.4), (53, 0.53), (133, 0.6), (667, 0.7),
        (1333, 0.8), (3333, 0.9), (6667, 0.97), (20_000, 1.0),
    ),
    # Measured in a cluster for data mining: Greenberg et al., VL2, SIGCOMM 2009.
    "data-mining": (
        (1, 0.0), (1, 0.5), (2, 0.6), (3, 0.7), (7, 0.8), (267, 0.9), (2107, 0.95),
        (66_667, 0.99), (666_667, 1.0),
    ),
}  # fmt: skip


def size_points(name: SizesName, scale: float) -> tuple[wire.SizePoint, ...]:
    """Return the points of a distribution's cumulative curve, with sizes multiplied by `scale`."""
    return tuple(
        wire.SizePoint(size_bytes=max(1, round(packets * PACKET_BYTES * scale)), ratio=ratio)
        for packets, ratio in POINTS[name]
    )


def mean_bytes(points: tuple[wire.SizePoint, ...]) -> float:
    """Return the mean size in bytes of a distribution whose cumulative curve is linear between
    these points.
    """
    return sum(
        (after.ratio - before.ratio) * (after.size_bytes + before.size_bytes) / 2
        for before, after in pairwise(points)
    )
