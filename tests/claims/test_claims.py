"""Claims: every form, every verdict, on results made for it."""

from dataclasses import replace
from typing import Any

import pytest

import support
from claimed import LESS, NOISE, grid, judge, lead
from netwarp.claims import ClaimVerdict, evaluate_claims
from netwarp.errors import StudyError
from netwarp.estimate.criteria import Criteria
from netwarp.results import Results, RunResult
from netwarp.study import study_from_mapping
from netwarp.study.claims import Claim


def test_a_claim_that_holds_in_every_condition_is_reproduced() -> None:
    result = judge(**LESS, where={"path.loss": "5%"})
    assert result.verdict is ClaimVerdict.REPRODUCED
    assert result.found.startswith(
        "QUIC against TCP: holds at RTT 50 ms (59.3 against 68.1 s, ratio 0.870 ["
    )
    conditions = result.values["conditions"]
    assert [c["factors"]["path.rtt"] for c in conditions] == ["50ms", "200ms"]
    assert all(c["ci95"][1] < 1 for c in conditions)


def test_versions_of_http_are_named_once() -> None:
    versions = {"tcp": "2", "quic": "3"}
    runs = [
        replace(run, factors={"workload.http": versions[run.factors["transport"]]})
        for run in grid({("quic", "1"): 10.0, ("tcp", "1"): 20.0}).runs
    ]
    relation = {"less": {"workload.http": "3"}, "than": {"workload.http": "2"}}
    assert judge(Results(tuple(runs)), **relation).found.startswith("HTTP/3 against HTTP/2: ")


def test_a_claim_turned_around_is_reversed() -> None:
    turned: dict[str, Any] = {"less": LESS["than"], "than": LESS["less"]}
    assert judge(**turned, where={"path.loss": "5%"}).verdict is ClaimVerdict.REVERSED


def test_an_exact_tie_is_equivalent() -> None:
    result = judge(**LESS, where={"path.loss": "0%", "path.rtt": "50ms"})
    assert result.verdict is ClaimVerdict.EQUIVALENT
    assert "ratio 1.00, identical; they differ by less than 1.0 %" in result.found
    assert not result.random


def test_nothing_against_nothing_is_equivalent() -> None:
    zero = grid({("quic", "1"): 0.0, ("tcp", "1"): 0.0})
    assert judge(zero, **LESS).verdict is ClaimVerdict.EQUIVALENT


def test_a_claim_that_holds_here_and_not_there_holds_partly() -> None:
    result = judge(**LESS)
    assert result.verdict is ClaimVerdict.PARTLY
    assert "holds at loss 1 %" in result.found
    assert "no relevant difference (less than 1.0 %) at loss 0 %" in result.found


def test_a_claim_that_holds_here_and_is_reversed_there_depends() -> None:
    means = {("quic", "1"): 10.0, ("tcp", "1"): 20.0, ("quic", "2"): 20.0, ("tcp", "2"): 10.0}
    result = judge(grid(means), **LESS)
    assert result.verdict is ClaimVerdict.DEPENDS
    assert "holds at streams 1 (10.0 against 20.0 s, ratio 0.500" in result.found
    assert "reversed at streams 2 (20.0 against 10.0 s, ratio 2.00" in result.found


def test_a_tiny_difference_is_none_however_many_replicates_show_it() -> None:
    means = {("quic", "1"): 10.0, ("tcp", "1"): 10.02}
    many = grid(means, noise=NOISE * 20)
    assert judge(many, **LESS).verdict is ClaimVerdict.EQUIVALENT
    exact = grid(means, noise=(1.0, 1.0))
    found = judge(exact, **LESS)
    assert found.verdict is ClaimVerdict.EQUIVALENT
    assert "10.00 against 10.02 s" in found.found


@pytest.mark.parametrize(
    ("share", "verdict"),
    [("30%", ClaimVerdict.REPRODUCED), ("60%", ClaimVerdict.SMALLER)],
)
@pytest.mark.parametrize("key", ["by_at_least", "up_to"])
def test_a_size_that_is_not_reached_is_smaller(key: str, share: str, verdict: ClaimVerdict) -> None:
    means = {("quic", "1"): 10.0, ("tcp", "1"): 20.0}
    assert judge(grid(means), **LESS, **{key: share}).verdict is verdict


def test_up_to_asks_for_the_size_at_one_level_only() -> None:
    means = {("quic", "1"): 10.0, ("tcp", "1"): 20.0, ("quic", "2"): 10.0, ("tcp", "2"): 12.0}
    assert judge(grid(means), **LESS, up_to="50%").verdict is ClaimVerdict.REPRODUCED
    assert judge(grid(means), **LESS, by_at_least="40%").verdict is ClaimVerdict.SMALLER
    assert judge(grid(means), **LESS, up_to="60%").verdict is ClaimVerdict.SMALLER


def test_what_was_not_run_is_not_testable() -> None:
    assert judge(**LESS, where={"path.loss": "20%"}).verdict is ClaimVerdict.NOT_TESTABLE
    one = support.results(replicates=1, failed_run=None)
    result = judge(one, **LESS, where={"path.loss": "5%"})
    assert result.verdict is ClaimVerdict.NOT_TESTABLE
    assert "one replicate" in result.found


def failing(means: dict[tuple[str, str], float], failed: dict[tuple[str, str], int]) -> Results:
    """Make results in which the first so many runs of these cells failed."""
    runs = []
    for run in grid(means).runs:
        level = (run.factors["transport"], run.factors["streams"])
        fails = run.replicate < failed.get(level, 0)
        runs.append(replace(run, outcome="failed", metrics={}) if fails else run)
    return Results(tuple(runs))


def test_failures_count_against_the_one_that_fails() -> None:
    """One that fails most runs and wins the rest has not been shown to be faster."""
    means = {("quic", "1"): 10.0, ("tcp", "1"): 20.0, ("quic", "2"): 10.0, ("tcp", "2"): 20.0}
    some = judge(failing(means, {("quic", "1"): 3}), **LESS)
    assert some.verdict is ClaimVerdict.PARTLY
    assert "not compared at streams 1 (QUIC failed in 3 of 30 runs)" in some.found
    everywhere = judge(failing(means, {("quic", "1"): 3, ("quic", "2"): 30}), **LESS)
    assert everywhere.verdict is ClaimVerdict.FAILED
    levels = judge(failing(means, {("quic", "2"): 1}), **LESS, grows_with="streams")
    assert levels.verdict is ClaimVerdict.FAILED


def test_a_claim_may_be_about_smaller_differences_than_the_study() -> None:
    results = grid({("quic", "1"): 10.0, ("tcp", "1"): 10.03}, noise=(1.0, 1.0))
    assert judge(results, **LESS).verdict is ClaimVerdict.EQUIVALENT
    assert judge(results, **LESS, relevant="0.1%").verdict is ClaimVerdict.REPRODUCED


@pytest.mark.parametrize(
    ("other", "verdict"),
    [
        (10.1, ClaimVerdict.REPRODUCED),
        (13.0, ClaimVerdict.REVERSED),
        (10.5, ClaimVerdict.UNDECIDED),
    ],
)
def test_equal_needs_an_interval_within_the_tolerance(other: float, verdict: ClaimVerdict) -> None:
    results = grid({("tcp", "1"): 10.0, ("tls", "1"): other})
    both = [{"transport": "tcp"}, {"transport": "tls"}]
    assert judge(results, equal=both).verdict is verdict


def test_what_is_undecided_says_how_many_replicates_it_takes() -> None:
    means = {("quic", "1"): 10.0, ("tcp", "1"): 10.6}
    found = judge(grid(means, noise=(0.9, 1.1, 1.05, 0.95, 1.0)), **LESS)
    assert found.verdict is ClaimVerdict.UNDECIDED
    assert found.replicates_needed is not None
    assert 20 < found.replicates_needed < 200
    assert f"about {found.replicates_needed}" in found.found or "replicates" in found.found


def test_what_is_undecided_takes_more_replicates_than_there_are() -> None:
    means = {("quic", "1"): 10.0, ("tcp", "1"): 13.0}
    claim = Claim(text="a claim", metric="completion_time_s", **LESS)
    few = grid(means, noise=(0.9, 1.1, 1.0))
    found = evaluate_claims([claim] * 30, few)[0]
    assert found.verdict is ClaimVerdict.UNDECIDED
    assert (found.replicates_needed or 0) > 3


def test_claims_of_a_study_are_one_family() -> None:
    """What is decided alone may be undecided among twenty: the family's error is held."""
    means = {("quic", "1"): 10.0, ("tcp", "1"): 10.23}
    results = grid(means, noise=NOISE[:10])
    claim = Claim(text="a claim", metric="completion_time_s", **LESS)
    alone = evaluate_claims([claim], results)[0].verdict
    among = {result.verdict for result in evaluate_claims([claim] * 50, results)}
    assert (alone, among) == (ClaimVerdict.REPRODUCED, {ClaimVerdict.UNDECIDED})


def test_looking_more_often_asks_for_more() -> None:
    results = grid({("quic", "1"): 10.0, ("tcp", "1"): 10.23}, noise=NOISE[:10])
    claim = Claim(text="a claim", metric="completion_time_s", **LESS)
    often = replace(results, criteria=Criteria(looks=40))
    assert evaluate_claims([claim], often)[0].verdict is ClaimVerdict.UNDECIDED


def test_hypotheses_of_our_own_have_words_of_their_own() -> None:
    means = {("quic", "1"): 1.0, ("tcp", "1"): 2.0}
    turned: dict[str, Any] = {"less": LESS["than"], "than": LESS["less"]}
    assert judge(grid(means), **LESS, authors=False).word == "supported"
    assert judge(grid(means), **turned, authors=False).word == "not-supported"
    assert judge(grid(means), **LESS).to_json()["authors"] is True


def test_claims_of_chance_are_rarely_reproduced() -> None:
    """A claim about two equal cells is reproduced in at most 2.5 % of studies."""
    wrong = 0
    studies = 400
    for study in range(studies):
        rng = support.rng(f"study {study}")
        means = {("tcp", "1"): 1.0, ("quic", "1"): 1.0}
        runs = []
        for cell, key in enumerate(means):
            runs += [
                RunResult(
                    f"{cell}-{r}", cell, r, r, {"transport": key[0]}, "ok", None,
                    {"completion_time_s": float(rng.lognormal())},
                )
                for r in range(5)
            ]  # fmt: skip
        wrong += judge(Results(tuple(runs)), **LESS).verdict is ClaimVerdict.REPRODUCED
    assert wrong / studies <= 0.025 + 3 * (0.025 * 0.975 / studies) ** 0.5


def test_the_claims_of_a_study_in_its_order() -> None:
    study = study_from_mapping(support.STUDY)
    results = evaluate_claims(study.claims, support.results())
    assert [(r.id, r.verdict.value) for r in results] == [
        ("claim-1", "reproduced"),
        ("sctp", "reversed"),
    ]


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        ({}, "without a relation"),
        ({**LESS, "flat_over": "path.loss"}, "one form"),
        ({"less": {"transport": "tcp"}}, "same factors"),
        ({"equal": [{"transport": "tcp"}]}, "two selections"),
        ({"flat_over": "path.loss", "by_at_least": "5%"}, "no effect without less"),
        ({**LESS, "tolerance": "5%"}, "no effect beside less"),
        ({"flat_over": "path.nothing"}, "not a factor"),
        ({**LESS, "grows_with": "path.loss", "where": {"path.loss": "1%"}}, "stands in where"),
        ({**LESS, "grows_with": "path.rtt", "shrinks_with": "path.loss"}, "grows or shrinks"),
        ({**LESS, "lead": "gap"}, "no effect without grows_with"),
        ({**LESS, "grows_with": "path.rtt", "up_to": "5%"}, "no effect beside grows_with"),
        ({**LESS, "control": "rto"}, "not a control of this study"),
    ],
)
def test_claims_that_say_nothing_checkable_are_refused(claim: Any, message: str) -> None:
    one = {"text": "a claim", "metric": "completion_time_s", **claim}
    with pytest.raises(StudyError, match=message):
        study_from_mapping(support.STUDY | {"claim": [one]})


def test_a_claim_that_nothing_can_test_says_why() -> None:
    claim = Claim(text="humans like it", not_testable="nobody was asked")
    (result,) = evaluate_claims([claim], support.results())
    assert (result.verdict, result.found) == (ClaimVerdict.NOT_TESTABLE, "nobody was asked")


@pytest.mark.parametrize(
    ("claim", "part"),
    [
        ({"text": "t", "not_testable": "n", "metric": "goodput_bit_s"}, "compares nothing"),
        ({"text": "t", "flat_over": "transport"}, "claim.0.metric: missing"),
    ],
)
def test_a_claim_is_testable_or_not(claim: dict[str, Any], part: str) -> None:
    with pytest.raises(StudyError, match=part):
        study_from_mapping(support.STUDY | {"claim": [claim]})


def test_means_are_those_of_the_pairs_that_were_compared() -> None:
    """One cell has two replicates more, because another claim needed them; they are far off."""
    runs = grid({("quic", "1"): 10.0, ("tcp", "1"): 20.0}).runs
    more = [
        replace(runs[0], run=f"c000-r{replicate:02}", replicate=replicate, seed=replicate,
                metrics={"completion_time_s": 1000.0})
        for replicate in (30, 31)
    ]  # fmt: skip
    result = judge(Results((*runs, *more)), **LESS)
    (condition,) = result.values["conditions"]
    assert condition["means"][0] / condition["means"][1] == pytest.approx(condition["ratio"])
    assert condition["means"] == pytest.approx([10.0, 20.0], rel=0.01)


def test_exact_leads_are_written_with_the_digits_that_tell_them_apart() -> None:
    means = {("quic", "1"): 100.0, ("tcp", "1"): 101.4, ("quic", "2"): 100.0, ("tcp", "2"): 101.0}
    found = judge(grid(means, noise=(1.0, 1.0)), **LESS, shrinks_with="streams").found
    assert "1.014 at 1, 1.010 at 2" in found


def test_a_run_without_the_metric_counts_as_missing() -> None:
    """What is left is no sample of the cell, however clear it is: it is not judged."""
    whole = lead(2.0)
    assert judge(whole, **LESS).verdict is ClaimVerdict.REPRODUCED
    first = next(run for run in whole.runs if run.factors["transport"] == "quic")
    without = [replace(run, metrics={}) if run is first else run for run in whole.runs]
    found = judge(Results(tuple(without)), **LESS)
    assert found.verdict is ClaimVerdict.FAILED
    assert f"no value in 1 of {len(NOISE)} runs" in found.found
    nowhere = [
        replace(run, metrics={}) if run.factors["transport"] == "quic" else run
        for run in whole.runs
    ]
    assert judge(Results(tuple(nowhere)), **LESS).verdict is ClaimVerdict.NOT_TESTABLE


def without(results: Results, transport: str, *streams: str) -> Results:
    """Leave out the cells of a transport at some numbers of streams, as if they were not run."""
    kept = (
        run
        for run in results.runs
        if run.factors["transport"] != transport or run.factors["streams"] not in streams
    )
    return Results(tuple(kept), results.criteria)


def test_a_condition_of_which_one_side_was_run_is_shown_as_missing() -> None:
    result = judge(without(lead(1.3, 1.4, 1.5), "tcp", "1"), **LESS)
    assert result.verdict is ClaimVerdict.PARTLY, "nothing is known of one condition"
    assert "not tested at streams 1 (only one of the two cells was run)" in result.found
    says = {each["factors"]["streams"]: each["says"] for each in result.values["conditions"]}
    assert says == {"0": "holds", "1": "untested", "2": "holds"}
    alone = judge(without(lead(1.3, 1.4), "quic", "0", "1"), **LESS)
    assert alone.verdict is ClaimVerdict.NOT_TESTABLE
    assert "only one of the two cells was run" in alone.found


def test_an_equality_of_which_one_side_was_run_is_shown_as_missing() -> None:
    same = {"equal": [{"transport": "quic"}, {"transport": "tcp"}], "tolerance": "5%"}
    exact = lead(1.0, 1.0, noise=(1.0, 1.0, 1.0))
    assert judge(exact, **same).verdict is ClaimVerdict.REPRODUCED
    result = judge(without(exact, "quic", "1"), **same)
    assert result.verdict is ClaimVerdict.PARTLY
    assert "not tested at streams 1" in result.found


def test_a_trend_is_not_judged_without_a_level_that_one_side_has() -> None:
    grows = {**LESS, "grows_with": "streams"}
    steep = lead(1.0, 1.3, 1.7, 2.2, noise=(1.0, 1.0, 1.0))
    assert judge(steep, **grows).verdict is ClaimVerdict.REPRODUCED
    result = judge(without(steep, "tcp", "1"), **grows)
    assert result.verdict is ClaimVerdict.NOT_TESTABLE
    assert result.found == "at 1 only one of the two cells was run"
