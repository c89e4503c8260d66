"""Quantiles that are always one of the given values (type 1 of Hyndman and Fan 1996)."""

from collections.abc import Sequence
from typing import TypeVar

N = TypeVar("N", int, float)


def nearest_rank(share: float, values: Sequence[N]) -> N:
    """Return a quantile by the nearest-rank method: the smallest value that at least this share of
    the values does not exceed.

    Args:
        share: the share, 0 to 1; it is counted in thousandths, so that it is exact.
        values: one value or more, in any order.
    """
    ranked = sorted(values)
    return ranked[max(0, -(-round(share * 1000) * len(ranked) // 1000) - 1)]
