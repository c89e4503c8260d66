"""Looks: how many replicates each has, and which share of the error."""

import pytest

from netwarp.estimate import unseen
from netwarp.estimate.comparison import ALPHA
from netwarp.estimate.staging import Look, Staging, is_worth_while, older_looks


@pytest.mark.parametrize("first", [1, 2, 5, 6, 9, 10, 13, 29, 5_000, 10_000])
@pytest.mark.parametrize("questions", [1, 12])
@pytest.mark.parametrize("precision", [None, 0.05])
def test_looks_share_the_error(first: int, questions: int, precision: float | None) -> None:
    looks = Staging(precision).looks(first, questions)
    sizes = [look.replicates for look in looks]
    assert sizes[0] == first
    assert sizes == sorted(set(sizes))
    assert sizes[-1] <= 8 * first
    assert sum(look.share for look in looks) == pytest.approx(1)
    assert min(look.share for look in looks) > 0


def test_the_first_look_that_can_tell_something_has_half_of_the_error() -> None:
    assert Staging().looks(13)[0].share == 0.5
    assert [look.share for look in Staging().looks(5)[:2]] == [0.05, 0.5]
    later = [look.share for look in Staging().looks(13)[1:]]
    assert later == sorted(later)


@pytest.mark.parametrize(("first", "questions"), [(10, 1), (12, 5), (15, 20)])
def test_the_last_look_is_where_an_equivalence_can_be_told(first: int, questions: int) -> None:
    last = Staging().looks(first, questions)[-1]
    error = ALPHA * last.share / questions
    assert unseen.event_chance(last.replicates, 0.0, is_log=True) < error
    assert last.replicates in (4 * first, unseen.least_equivalent(error, 0.0))


def test_a_precision_doubles_replicates() -> None:
    assert [look.replicates for look in Staging(0.05).looks(2)] == [2, 4, 8, 16]
    assert [look.replicates for look in Staging(0.05).looks(8000)] == [8000, 10000]


def test_older_directories_keep_their_looks() -> None:
    found = older_looks(5, [0.1, 0.15, 0.25, 0.5])
    assert found[1:3] == (Look(10, 0.15), Look(20, 0.25))


def test_only_later_looks_are_worth_while() -> None:
    looks = (Look(10, 0.5), Look(20, 0.1), Look(60, 0.4))
    assert is_worth_while(lambda _: 60, 10, looks)
    assert not is_worth_while(lambda _: 61, 10, looks)
    assert not is_worth_while(lambda _: 15, 60, looks)
    assert not is_worth_while(lambda _: None, 10, looks)
    assert is_worth_while(lambda share: 40 if share > 0.3 else 400, 20, looks)
