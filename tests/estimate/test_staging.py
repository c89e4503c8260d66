"""Looks: how many replicates each has, and which share of the error."""

import pytest

from netwarp.estimate.staging import Staging


@pytest.mark.parametrize("first", [1, 2, 5, 6, 9, 10, 13, 29, 5_000, 10_000])
def test_looks_share_the_error(first: int) -> None:
    shares = Staging().shares(first)
    assert len(shares) == len(Staging().sizes(first))
    assert sum(shares) == pytest.approx(1)
    assert min(shares) > 0


def test_the_first_look_that_can_tell_something_has_half_of_the_error() -> None:
    assert Staging().shares(13)[0] == 0.5
    assert Staging().shares(5)[:2] == (0.05, 0.5)
    assert Staging().shares(5)[2] < Staging().shares(5)[3]
