"""Wilcoxon's signed-rank test (1945, Biometrics Bulletin 1:80); ties share their mean rank."""

import math
from collections.abc import Sequence
from itertools import groupby

MOST_EXACT = 50
"""Maximum number of differences for which the exact distribution is used; for more, the normal
approximation is used."""


def signed_rank_p(differences: Sequence[float]) -> float:
    """Return the two-sided p-value of paired differences, none of which is 0."""
    ranks = _doubled_ranks([abs(difference) for difference in differences])
    positive = sum(rank for rank, d in zip(ranks, differences, strict=True) if d > 0)
    smaller = min(positive, sum(ranks) - positive)
    if len(ranks) > MOST_EXACT:
        return _normal_p(ranks, smaller)
    return min(1.0, 2 * _share_up_to(ranks, smaller))


def signed_rank_above(differences: Sequence[float]) -> float:
    """Return the one-sided p-value of paired differences this high if their distribution were
    symmetric around 0 or a lower value.

    It is exact for any distribution; differences of 0 count as below.
    """
    ranks = _doubled_ranks([abs(difference) for difference in differences])
    rest = sum(rank for rank, d in zip(ranks, differences, strict=True) if d <= 0)
    return _share_up_to(ranks, rest)


def _doubled_ranks(sizes: Sequence[float]) -> list[int]:
    """Return twice the rank of each size: equal sizes share their mean rank, which may be a
    half.
    """
    order = sorted(range(len(sizes)), key=sizes.__getitem__)
    ranks = [0] * len(sizes)
    before = 0
    for _, tied in groupby(order, key=sizes.__getitem__):
        members = list(tied)
        for member in members:
            ranks[member] = 2 * before + len(members) + 1
        before += len(members)
    return ranks


def _share_up_to(ranks: Sequence[int], most: int) -> float:
    """Return the share of all assignments of signs whose sum of positive ranks is at most
    `most`.
    """
    ways: list[int] = [1] + [0] * sum(ranks)
    reached = 0
    for rank in ranks:
        reached += rank
        for total in range(reached, rank - 1, -1):
            ways[total] += ways[total - rank]
    return float(sum(ways[: most + 1]) / 2 ** len(ranks))


def _normal_p(ranks: Sequence[int], smaller: int) -> float:
    # Signs are independent: the sum of positive ranks has mean Σr/2 and variance Σr²/4.
    distance = sum(ranks) / 2 - smaller
    return math.erfc(distance / math.sqrt(sum(rank * rank for rank in ranks) / 2))
