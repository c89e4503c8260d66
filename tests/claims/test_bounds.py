"""Claims that bound a lead, refuse that there is none, or leave levels out."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from typing import Any

import pytest

from claimed import LESS, NOISE, grid, judge, lead
from netwarp.claims import ClaimVerdict
from netwarp.errors import StudyError
from netwarp.results import Results
from netwarp.study import study_from_mapping

NOT_LESS: dict[str, Any] = {**LESS, "by_at_most": "0%"}
EXACT = (1.0, 1.0, 1.0, 1.0, 1.0)


@pytest.mark.parametrize(
    ("ratio", "verdict"),
    [
        (1.0, ClaimVerdict.REPRODUCED),
        (0.8, ClaimVerdict.REPRODUCED),
        (1.2, ClaimVerdict.REVERSED),
    ],
)
def test_not_less_is_borne_out_by_as_much_and_by_more(ratio: float, verdict: ClaimVerdict) -> None:
    """The source says "not better": that nothing differs is no verdict against it."""
    assert judge(lead(ratio, noise=EXACT), **NOT_LESS).verdict is verdict


def test_not_less_is_undecided_where_noise_hides_a_relevant_difference() -> None:
    wide = (0.8, 1.3, 1.0, 1.1, 0.9)
    assert judge(lead(1.02, noise=wide), **NOT_LESS).verdict is ClaimVerdict.UNDECIDED


def test_an_upper_bound_of_a_lead() -> None:
    bound = {**LESS, "by_at_most": "50%"}
    assert judge(lead(1.5), **bound).verdict is ClaimVerdict.REPRODUCED
    assert judge(lead(3.0), **bound).verdict is ClaimVerdict.REVERSED
    assert judge(lead(2.0), **bound).verdict is ClaimVerdict.UNDECIDED, "it lies at the limit"
    zeros = grid({("quic", "1"): 0.0, ("tcp", "1"): 0.0})
    assert judge(zeros, **bound).verdict is ClaimVerdict.NOT_TESTABLE


@pytest.mark.parametrize(
    ("ratios", "verdict"),
    [
        ((2.0,), ClaimVerdict.REPRODUCED),
        ((1.3,), ClaimVerdict.SMALLER),
        ((3.0,), ClaimVerdict.LARGER),
        ((1.0,), ClaimVerdict.EQUIVALENT),
        ((0.7,), ClaimVerdict.REVERSED),
        ((1.75,), ClaimVerdict.SIZE_UNDECIDED),
        ((2.25,), ClaimVerdict.SIZE_UNDECIDED),
        ((2.0, 3.0), ClaimVerdict.LARGER),
        ((1.3, 3.0), ClaimVerdict.SMALLER),
        ((2.0, 1.0), ClaimVerdict.PARTLY),
        ((3.0, 0.7), ClaimVerdict.DEPENDS),
    ],
)
def test_about_twice_is_reproduced_only_between_both_bounds(
    ratios: tuple[float, ...], verdict: ClaimVerdict
) -> None:
    """An upper bound alone is borne out by a lead that is too small, and by none at all."""
    both = {**LESS, "by_at_least": "42.9%", "by_at_most": "55.6%"}
    assert judge(lead(*ratios), **both).verdict is verdict


@pytest.mark.parametrize(
    ("ratios", "verdict"),
    [
        ((1.1, 1.3), ClaimVerdict.REPRODUCED),
        ((1.1, 1.1), ClaimVerdict.SMALLER),
        ((1.1, 2.0), ClaimVerdict.LARGER),
        ((1.0, 1.3), ClaimVerdict.PARTLY),
    ],
)
def test_up_to_a_size_and_nowhere_more(ratios: tuple[float, ...], verdict: ClaimVerdict) -> None:
    bounds = {**LESS, "up_to": "23.1%", "by_at_most": "25%"}
    assert judge(lead(*ratios), **bounds).verdict is verdict


def test_a_lead_within_two_close_bounds_is_rarely_called_outside() -> None:
    """It may miss either bound by chance; both together must not err more often than one."""
    generator = random.Random(7)  # noqa: S311 - no secret
    both = {**LESS, "by_at_least": "49.9%", "by_at_most": "50.1%"}
    wrong = 0
    for _ in range(400):
        noise = tuple(math.exp(generator.gauss(0, 0.1)) for _ in range(12))
        others = tuple(math.exp(generator.gauss(0, 0.1)) for _ in range(12))
        results = joined(
            grid({("quic", "1"): 1.0}, noise=noise), grid({("tcp", "1"): 2.0}, noise=others)
        )
        wrong += judge(results, **both).verdict in (ClaimVerdict.SMALLER, ClaimVerdict.LARGER)
    assert wrong <= 28, "5 % of 400, and 1.9 standard errors"


def joined(first: Results, second: Results) -> Results:
    """Put the second's cell beside the first's."""
    return Results((*first.runs, *(replace(run, cell=1) for run in second.runs)))


def test_a_sentence_that_says_there_is_a_difference_is_refuted_by_none() -> None:
    zero = grid({("quic", "1"): 0.0, ("tcp", "1"): 0.0})
    assert judge(zero, **LESS).verdict is ClaimVerdict.EQUIVALENT
    assert judge(zero, **LESS, needs_difference=True).verdict is ClaimVerdict.REVERSED
    assert judge(lead(2.0), **LESS, needs_difference=True).verdict is ClaimVerdict.REPRODUCED


def test_a_gap_that_stays_is_judged_by_the_gap_not_by_the_volumes() -> None:
    """Both double, and the gap stays; or both nearly stay, and the gap doubles."""
    stays = {**LESS, "stays_over": "streams", "tolerance": "10%"}
    kept = {("quic", "1"): 10.0, ("tcp", "1"): 11.0, ("quic", "2"): 20.0, ("tcp", "2"): 21.0}
    found = judge(grid(kept, noise=EXACT), **stays)
    assert found.verdict is ClaimVerdict.REPRODUCED
    assert "the gap is 1.00 at 1, 1.00 at 2 s" in found.found
    doubled = {("quic", "1"): 100.0, ("tcp", "1"): 101.0, ("quic", "2"): 100.0, ("tcp", "2"): 102.0}
    assert judge(grid(doubled, noise=EXACT), **stays).verdict is ClaimVerdict.REVERSED
    noisy = judge(grid(doubled, noise=NOISE[:10]), **stays)
    assert noisy.verdict is ClaimVerdict.UNDECIDED, "1 % of noise hides it"


def test_levels_that_the_source_discards_are_left_out() -> None:
    results = lead(0.5, 2.0, 2.0)
    assert judge(results, **LESS).verdict is ClaimVerdict.DEPENDS
    assert judge(results, **LESS, without={"streams": ["0"]}).verdict is ClaimVerdict.REPRODUCED


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"by_at_most": "5%", "by_at_least": "5%"}, "no lead is as large as the lower bound"),
        ({"by_at_most": "5%", "up_to": "6%"}, "no lead is as large as the lower bound"),
        ({"by_at_most": "5%", "by_at_least": "0%"}, "0 % is no lower bound"),
        ({"by_at_most": "5%", "up_to": "0%"}, "0 % is no lower bound"),
        ({"by_at_most": "5%", "overall": "path.loss"}, "by_at_most cannot stand beside overall"),
        ({"stays_over": "path.loss", "overall": "path.loss"}, "stays_over cannot stand beside"),
        ({"grows_with": "path.loss", "by_at_most": "5%"}, "by_at_most has no effect beside"),
        ({"stays_over": "path.rtt"}, "not a factor"),
        ({"without": {"path.loss": ["7%"]}}, "not a level of factors"),
    ],
)
def test_bounds_that_do_not_go_together_are_refused(keys: dict[str, Any], message: str) -> None:
    claim = {
        "text": "t", "metric": "completion_time_s", "less": {"transport": "quic"},
        "than": {"transport": "tcp"}, **keys,
    }  # fmt: skip
    study = {
        "title": "t", "workload": {"size": "1MB"}, "claim": [claim],
        "factors": {"transport": ["tcp", "quic"], "path.loss": ["0%", "1%"]},
    }  # fmt: skip
    with pytest.raises(StudyError, match=message):
        study_from_mapping(study)
