"""Quantiles that are one of the values themselves (type 1 of Hyndman and Fan 1996)."""

from collections.abc import Sequence
from typing import TypeVar

N = TypeVar("N", int, float)


def nearest_rank(share: float, values: Sequence[N]) -> N:
    """Return the smallest of the values that at least this share of them does not exceed.

    Args:
        share: 0 to 1; counted in thousandths, so that it is exact.
        values: one or more, in any order.
    """
    ranked = sorted(values)
    return ranked[max(0, -(-round(share * 1000) * len(ranked) // 1000) - 1)]
