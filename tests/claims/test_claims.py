"""Claims: every form, every verdict, on results made for it."""

from typing import Any

import pytest

import support
from netwarp.claims import ClaimResult, ClaimVerdict, evaluate_claim, evaluate_claims
from netwarp.errors import StudyError
from netwarp.results import Results, RunResult
from netwarp.study import study_from_mapping
from netwarp.study.questions import Claim

NOISE = (0.99, 1.0, 1.01, 1.005, 0.995)


def judge(results: Results | None = None, **keys: Any) -> ClaimResult:
    claim = Claim(text="a claim", metric="completion_time_s", **keys)
    return evaluate_claim(claim, results or support.results())


def grid(values: dict[tuple[str, str], float], *, noise: tuple[float, ...] = NOISE) -> Results:
    """Make results of transport × streams from means, with the same small noise pattern rotated."""
    runs = []
    for cell, ((transport, streams), mean) in enumerate(values.items()):
        for replicate in range(len(noise)):
            value = mean * noise[(replicate + 2 * cell) % len(noise)]
            runs.append(
                RunResult(
                    f"c{cell:03}-r{replicate:02}", cell, replicate, replicate,
                    {"transport": transport, "streams": streams}, "ok", None,
                    {"completion_time_s": value},
                )
            )  # fmt: skip
    return Results(tuple(runs))


LESS: dict[str, Any] = {"less": {"transport": "quic"}, "than": {"transport": "tcp"}}


def test_a_claim_that_holds_in_every_condition_is_reproduced() -> None:
    result = judge(**LESS, where={"path.loss": "5%"})
    assert result.verdict is ClaimVerdict.REPRODUCED
    assert "all 2 conditions" in result.why
    conditions = result.values["conditions"]
    assert [c["factors"]["path.rtt"] for c in conditions] == ["50ms", "200ms"]
    assert all(c["ci95"][1] < 1 for c in conditions)


def test_a_claim_turned_around_is_reversed() -> None:
    turned: dict[str, Any] = {"less": LESS["than"], "than": LESS["less"]}
    assert judge(**turned, where={"path.loss": "5%"}).verdict is ClaimVerdict.REVERSED


def test_an_exact_tie_is_no_difference() -> None:
    result = judge(**LESS, where={"path.loss": "0%", "path.rtt": "50ms"})
    assert result.verdict is ClaimVerdict.NO_DIFFERENCE
    assert "exact" in result.why


def test_a_claim_that_holds_here_and_not_there_is_not_reproduced() -> None:
    result = judge(**LESS)
    assert result.verdict is ClaimVerdict.NO_DIFFERENCE
    assert "holds at loss 1 %" in result.why
    assert "is open at loss 0 %" in result.why


@pytest.mark.parametrize(
    ("share", "verdict"),
    [(0.05, ClaimVerdict.REPRODUCED), (0.3, ClaimVerdict.NO_DIFFERENCE)],
)
def test_by_at_least_asks_for_a_size(share: float, verdict: ClaimVerdict) -> None:
    where = {"path.loss": "5%", "path.rtt": "50ms"}
    result = judge(**LESS, where=where, by_at_least=f"{share:.0%}")
    assert result.verdict is verdict
    if verdict is ClaimVerdict.NO_DIFFERENCE:
        assert "not shown to be 30.0 % less" in result.why


def test_what_was_not_run_is_not_testable() -> None:
    assert judge(**LESS, where={"path.loss": "20%"}).verdict is ClaimVerdict.NOT_TESTABLE
    one = support.results(replicates=1, failed_run=None)
    result = judge(one, **LESS, where={"path.loss": "5%"})
    assert result.verdict is ClaimVerdict.NOT_TESTABLE
    assert "one replicate" in result.why


def test_a_lead_that_grows() -> None:
    ratios = {"1": 1.0, "2": 1.3, "4": 1.9}
    means = {("tcp", x): 10 * ratio for x, ratio in ratios.items()}
    means |= {("quic", x): 10.0 for x in ratios}
    grows = judge(grid(means), **LESS, grows_with="streams")
    assert grows.verdict is ClaimVerdict.REPRODUCED
    assert "from 1.00 at 1 to 1.90 at 4" in grows.why
    shrinks = {("tcp", x): 10.0 for x in ratios}
    shrinks |= {("quic", x): 10 * ratio for x, ratio in ratios.items()}
    assert judge(grid(shrinks), **LESS, grows_with="streams").verdict is ClaimVerdict.REVERSED
    steady = {(t, x): 10.0 for t in ("tcp", "quic") for x in ratios}
    result = judge(grid(steady), **LESS, grows_with="streams")
    assert result.verdict is ClaimVerdict.NO_DIFFERENCE


def test_a_lead_cannot_grow_over_one_level() -> None:
    one = grid({("tcp", "1"): 12.0, ("quic", "1"): 10.0})
    assert judge(one, **LESS, grows_with="streams").verdict is ClaimVerdict.NOT_TESTABLE


@pytest.mark.parametrize(
    ("last", "verdict"),
    [
        (10.1, ClaimVerdict.REPRODUCED),
        (15.0, ClaimVerdict.REVERSED),
        (10.5, ClaimVerdict.NO_DIFFERENCE),
    ],
)
def test_flat_means_equivalent_at_every_level(last: float, verdict: ClaimVerdict) -> None:
    results = grid({("tcp", "1"): 10.0, ("tcp", "2"): 10.0, ("tcp", "4"): last})
    assert judge(results, flat_over="streams").verdict is verdict


@pytest.mark.parametrize(
    ("means", "verdict"),
    [
        ((10.0, 20.0, 30.0, 40.0), ClaimVerdict.REPRODUCED),
        ((40.0, 30.0, 20.0, 10.0), ClaimVerdict.REVERSED),
        ((10.0, 11.0, 14.0, 80.0), ClaimVerdict.REVERSED),
        ((10.0, 10.0, 10.0, 10.0), ClaimVerdict.NO_DIFFERENCE),
    ],
)
def test_linear_means_growth_along_a_line(means: tuple[float, ...], verdict: ClaimVerdict) -> None:
    results = grid({("tcp", str(x)): mean for x, mean in zip((1, 2, 3, 4), means, strict=True)})
    assert judge(results, linear_over="streams").verdict is verdict


def test_a_line_needs_three_levels() -> None:
    two = grid({("tcp", "1"): 10.0, ("tcp", "2"): 20.0})
    assert judge(two, linear_over="streams").verdict is ClaimVerdict.NOT_TESTABLE


@pytest.mark.parametrize(
    ("other", "verdict"),
    [
        (10.1, ClaimVerdict.REPRODUCED),
        (13.0, ClaimVerdict.REVERSED),
        (10.5, ClaimVerdict.NO_DIFFERENCE),
    ],
)
def test_equal_needs_an_interval_within_the_tolerance(other: float, verdict: ClaimVerdict) -> None:
    results = grid({("tcp", "1"): 10.0, ("tls", "1"): other})
    both = [{"transport": "tcp"}, {"transport": "tls"}]
    assert judge(results, equal=both).verdict is verdict


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
    ],
)
def test_claims_that_say_nothing_checkable_are_refused(claim: Any, message: str) -> None:
    one = {"text": "a claim", "metric": "completion_time_s", **claim}
    with pytest.raises(StudyError, match=message):
        study_from_mapping(support.STUDY | {"claim": [one]})


def test_the_reason_is_given_only_where_a_claim_is_not_reproduced() -> None:
    means = {("quic", "1"): 1.0, ("tcp", "1"): 2.0}
    assert judge(grid(means), **LESS, why="windows").reason is None
    turned = {("quic", "1"): 2.0, ("tcp", "1"): 1.0}
    result = judge(grid(turned), **LESS, why="windows")
    assert result.verdict is ClaimVerdict.REVERSED
    assert result.to_json()["reason"] == "windows"


def test_a_claim_that_nothing_can_test_says_why() -> None:
    claim = Claim(text="humans like it", not_testable="nobody was asked")
    result = evaluate_claim(claim, support.results())
    assert (result.verdict, result.why) == (ClaimVerdict.NOT_TESTABLE, "nobody was asked")


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
