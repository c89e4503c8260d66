"""Quantiles that are values themselves."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from netwarp.measure.ranks import nearest_rank


def test_quantiles_are_values_that_were_seen() -> None:
    values = list(range(1, 11))
    shares = (0.0, 0.1, 0.5, 0.9, 1.0)
    assert [nearest_rank(share, values) for share in shares] == [1, 1, 5, 9, 10]
    assert nearest_rank(0.5, [3]) == 3
    assert nearest_rank(0.55, range(1, 101)) == 55, "0.55 * 100 is more than 55 in binary"


@given(st.integers(1, 1000), st.lists(st.integers(0, 50), min_size=1))
def test_a_quantile_is_the_smallest_that_the_share_does_not_exceed(
    thousandths: int, values: list[int]
) -> None:
    found = nearest_rank(thousandths / 1000, values)
    asked = Fraction(thousandths, 1000) * len(values)
    assert sum(value <= found for value in values) >= asked
    assert sum(value < found for value in values) < asked
