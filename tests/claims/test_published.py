"""Claims that give a number: within a tolerance of it, or within the range of single runs."""

from dataclasses import replace
from typing import Any

import pytest

from claimed import NOISE, grid, judge
from netwarp.claims import ClaimVerdict
from netwarp.errors import StudyError
from netwarp.results import Results
from netwarp.study import study_from_mapping

ALL_TEN = {("tcp", "1"): 10.0}
SPREAD = (0.8, 0.9, 1.0, 1.1, 1.25) * 2
"""Ten runs whose logarithms spread by 0.163: with t(9) = 2.26, 95 % of runs are in 6.8 … 14.7."""


@pytest.mark.parametrize(
    ("published", "verdict", "word"),
    [
        ("9.6 s", ClaimVerdict.REPRODUCED, "reproduced"),
        ("10.4 s", ClaimVerdict.REPRODUCED, "reproduced"),
        ("9 s", ClaimVerdict.REVERSED, "missed"),
        ("11 s", ClaimVerdict.REVERSED, "missed"),
        # The mean is 9.52 s ± 0.1 %, which 5 % of it (9.524 s) cuts in two.
        ("10.0 s", ClaimVerdict.UNDECIDED, "undecided"),
    ],
)
def test_a_number_holds_within_its_tolerance_and_is_missed_outside(
    published: str, verdict: ClaimVerdict, word: str
) -> None:
    mean = 10 / 1.05 if published == "10.0 s" else 10.0
    result = judge(grid({("tcp", "1"): mean}), published=published, tolerance="5%")
    assert (result.verdict, result.word) == (verdict, word)
    assert result.random


def test_what_was_found_has_both_numbers_and_the_interval() -> None:
    result = judge(grid(ALL_TEN), published="20 s", tolerance="5%")
    assert result.found.startswith("10.0 [9.9")
    assert result.found.endswith(", published 20.0 s, ratio 0.500")
    (values,) = result.values["conditions"]
    assert values["mean"] == pytest.approx(10, rel=0.001)
    assert values["published"] == 20
    assert values["interval"][0] == pytest.approx(values["mean_interval"][0] / 20)


def test_a_number_at_the_limit_of_its_tolerance_holds_where_nothing_is_random() -> None:
    fixed = grid({("tcp", "1"): 11.0}, noise=(1.0,) * 2)
    assert judge(fixed, published="10 s", tolerance="10%").word == "reproduced"
    assert judge(fixed, published="10 s", tolerance="9.99%").word == "missed"


def test_one_replicate_is_the_value_only_where_nothing_is_random() -> None:
    fixed = grid(ALL_TEN, noise=(1.0,))
    assert judge(fixed, published="10 s", tolerance="1%").word == "reproduced"
    assert judge(fixed, published="20 s", tolerance="1%").word == "missed"
    random = Results(tuple(replace(run, random=("loss",)) for run in fixed.runs))
    assert judge(random, published="10 s", tolerance="1%").word == "not-testable"


def test_few_random_replicates_within_the_tolerance_need_those_of_an_equivalence() -> None:
    """Ten replicates may all have missed an event in a tenth of the runs: 0.9¹⁰ is 35 %."""
    ten = judge(grid(ALL_TEN, noise=NOISE[:10]), published="10 s", tolerance="10%")
    assert ten.word == "undecided"
    assert ten.replicates_needed == 29
    enough = judge(grid(ALL_TEN, noise=NOISE[:29]), published="10 s", tolerance="10%")
    assert enough.word == "reproduced"


def test_a_number_ranges_over_the_factors_that_its_claim_does_not_name() -> None:
    two = grid({("tcp", "1"): 10.0, ("quic", "1"): 13.0})
    assert judge(two, published="10 s", tolerance="5%").word == "depends"
    of_tcp = judge(two, published="10 s", tolerance="5%", where={"transport": "tcp"})
    assert of_tcp.word == "reproduced"


@pytest.mark.parametrize(
    ("published", "word"), [("6.8 s", "reproduced"), ("14.6 s", "reproduced"), ("14.9 s", "missed")]
)
def test_a_number_of_one_run_is_held_against_the_range_of_runs(published: str, word: str) -> None:
    result = judge(grid(ALL_TEN, noise=SPREAD), published=published, of_one_run=True)
    assert result.word == word
    assert "[95 % of our runs in 6." in result.found
    assert result.random
    assert result.replicates_needed is None


def test_four_runs_are_no_range() -> None:
    result = judge(grid(ALL_TEN, noise=SPREAD[:4]), published="10 s", of_one_run=True)
    assert result.verdict is ClaimVerdict.NOT_TESTABLE
    assert result.found == "a range of runs takes 5 of them"


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ({"published": "10 Mbit/s"}, "claim.0.published"),
        ({"published": "0 s"}, "a share of 0 is 0"),
        ({"published": "10 s", "of_one_run": True, "tolerance": "5%"}, "range of runs"),
        ({"flat_over": "transport", "of_one_run": True}, "no effect without published"),
        ({"flat_over": "transport", "published": "10 s"}, "a claim has one form"),
    ],
)
def test_a_number_that_says_nothing_is_refused(keys: dict[str, Any], reason: str) -> None:
    claim = {"text": "a number", "metric": "completion_time_s", **keys}
    study = {"title": "numbers", "workload": {"size": "1MB"}, "claim": [claim]}
    with pytest.raises(StudyError, match=reason):
        study_from_mapping({**study, "factors": {"transport": ["tcp", "quic"]}})
