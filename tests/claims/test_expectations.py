"""Expectations: what holds, what does not, and what the replicates do not tell."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import support
from claimed import NOISE, grid
from netwarp.claims import ExpectationResult, Kept, evaluate_expectations
from netwarp.claims.expected_sentences import distance_text, found_text
from netwarp.claims.open_questions import cells_to_repeat
from netwarp.errors import StudyError
from netwarp.estimate.criteria import Criteria
from netwarp.estimate.staging import Look, Staging
from netwarp.estimate.stats import mean_interval
from netwarp.pipeline import default_directory
from netwarp.plan import plan_study
from netwarp.results import Results, RunResult
from netwarp.study import Study, study_from_mapping
from netwarp.study.expecting import expecting

EXACT = (1.0, 1.0, 1.0)


def study(*expect: str, **keys: Any) -> Study:
    return study_from_mapping(
        {
            "title": "t",
            "path": {},
            "workload": {"size": "1MB"},
            "factors": {"transport": ["tcp", "quic"], "workload.chunks": [1, 2]},
            "expect": [{"that": each} for each in expect],
            **keys,
        }
    )


def results(tcp: float = 10.0, quic: float = 8.0, noise: tuple[float, ...] = NOISE) -> Results:
    """Make completion times of two transports at two numbers of streams."""
    means = {(t, s): mean for t, mean in (("tcp", tcp), ("quic", quic)) for s in ("1", "2")}
    made = grid(means, noise=noise)
    runs = [
        replace(run, factors={"transport": run.factors["transport"],
                              "workload.chunks": run.factors["streams"]})
        for run in made.runs
    ]  # fmt: skip
    return Results(tuple(runs), made.criteria)


def judge(expect: str, found: Results | None = None) -> ExpectationResult:
    (judged,) = evaluate_expectations(study(expect).expectations, found or results())
    return judged


@pytest.mark.parametrize(
    ("expect", "kept"),
    [
        ("tcp.completion_time_s < 10.5 s", Kept.HOLDS),
        ("tcp.completion_time_s < 9500 ms", Kept.BROKEN),
        ("tcp.completion_time_s <= 10 s", Kept.UNDECIDED),
        ("tcp.completion_time_s > 9.5 s", Kept.HOLDS),
        ("tcp.completion_time_s ≥ 10.5 s", Kept.BROKEN),
        ("completion_time_s < 10.5 s", Kept.HOLDS),
        ("completion_time_s < 9 s", Kept.BROKEN),
        ("quic / tcp: completion_time_s <= 0.85", Kept.HOLDS),
        ("quic / tcp: completion_time_s < 75 %", Kept.BROKEN),
        ("quic / tcp: completion_time_s < 0.8", Kept.UNDECIDED),
        ("tcp / quic: completion_time_s > 1.2 where workload.chunks=2", Kept.HOLDS),
    ],
)
def test_a_bound_holds_does_not_or_is_undecided(expect: str, kept: Kept) -> None:
    assert judge(expect).kept is kept


@pytest.mark.parametrize(
    ("expect", "kept"),
    [
        ("tcp.completion_time_s < 10 s", Kept.BROKEN),
        ("tcp.completion_time_s <= 10 s", Kept.HOLDS),
        ("tcp.completion_time_s > 10 s", Kept.BROKEN),
        ("tcp.completion_time_s >= 10 s", Kept.HOLDS),
        ("quic / tcp: completion_time_s < 0.8", Kept.BROKEN),
        ("quic / tcp: completion_time_s <= 0.8", Kept.HOLDS),
    ],
)
def test_the_bound_itself_is_where_the_relation_says(expect: str, kept: Kept) -> None:
    """Where nothing is random the value is the answer, whatever its logarithm rounds."""
    found = judge(expect, results(noise=EXACT))
    assert found.kept is kept
    assert all(each.is_exact for each in found.conditions)
    rounded = [replace(each, value=(each.value or 0) * (1 + 1e-15)) for each in found.conditions]
    assert {distance_text(found, each) for each in rounded} == {"the bound itself"}


def test_the_interval_is_that_of_the_table_and_decides() -> None:
    """With enough replicates nothing may have been missed, and Student's interval is left."""
    found = results()
    judged = judge("tcp.completion_time_s < 10.5 s where workload.chunks=1", found)
    (condition,) = judged.conditions
    (cell,) = found.select({"transport": "tcp", "workload.chunks": "1"})
    table = mean_interval(cell.values("completion_time_s"))
    assert condition.interval is not None
    assert table is not None
    assert condition.interval == pytest.approx(table, rel=1e-4)
    for bound_s in (condition.interval[1] * 1.0001, condition.interval[1] * 0.9999):
        wanted = Kept.HOLDS if bound_s > condition.interval[1] else Kept.UNDECIDED
        again = judge(f"tcp.completion_time_s < {bound_s:.9f} s where workload.chunks=1", found)
        assert again.kept is wanted


def test_one_condition_that_is_broken_breaks_it() -> None:
    runs = [
        replace(run, metrics={"completion_time_s": 20.0 + 0.01 * run.replicate})
        if run.factors == {"transport": "tcp", "workload.chunks": "2"}
        else run
        for run in results().runs
    ]
    found = judge("tcp.completion_time_s < 12 s", Results(tuple(runs)))
    assert found.kept is Kept.BROKEN
    assert [each.kept for each in found.conditions] == [Kept.HOLDS, Kept.BROKEN]
    assert "68 % above the bound" in found_text(found)


def test_too_few_replicates_leave_it_undecided() -> None:
    few = results(noise=NOISE[:4])
    found = judge("tcp.completion_time_s < 100 s", few)
    assert found.kept is Kept.UNDECIDED
    assert [each.interval for each in found.conditions] == [None, None]
    assert all(each.replicates_needed for each in found.conditions)
    one = judge("tcp.completion_time_s < 100 s", results(noise=(1.0,)))
    assert one.kept is Kept.UNDECIDED
    assert "one replicate" in found_text(one)


def test_failed_runs_and_missing_values_break_it() -> None:
    runs = list(results().runs)
    runs[0] = replace(runs[0], outcome="failed", reason="why", metrics={})
    assert judge("tcp.completion_time_s < 100 s", Results(tuple(runs))).kept is Kept.BROKEN
    runs[0] = replace(runs[0], outcome="ok", reason=None)
    gave_up = judge("tcp.completion_time_s < 100 s", Results(tuple(runs)))
    assert gave_up.kept is Kept.BROKEN
    assert "no value in 1 of 30 runs" in found_text(gave_up)


@pytest.mark.parametrize(
    "expect", ["tcp.goodput_bit_s > 1 Mbit/s", "quic / tcp: goodput_bit_s > 0.5"]
)
def test_cells_without_any_value_break_it(expect: str) -> None:
    """As one missing value does."""
    found = judge(expect)
    assert found.kept is Kept.BROKEN
    assert "no goodput_bit_s" in found_text(found)


def test_a_ratio_with_one_side_only_is_undecided_there() -> None:
    """Such as of an interrupted run: the other conditions alone do not make it hold."""
    half = Results(
        tuple(
            run for run in results().runs
            if run.factors != {"transport": "tcp", "workload.chunks": "2"}
        )
    )  # fmt: skip
    found = judge("quic / tcp: completion_time_s <= 0.85", half)
    assert found.kept is Kept.UNDECIDED
    assert [each.kept for each in found.conditions] == [Kept.HOLDS, Kept.UNDECIDED]
    assert "only one of the two cells was run" in found_text(found)
    broken = judge("quic / tcp: completion_time_s <= 0.5", half)
    assert broken.kept is Kept.BROKEN


def test_what_was_not_run_is_undecided() -> None:
    quic = Results(tuple(run for run in results().runs if run.factors["transport"] == "quic"))
    found = judge("tcp.completion_time_s < 100 s", quic)
    assert (found.kept, found.open) == (Kept.UNDECIDED, ())
    assert "none of the cells" in found_text(found)


def test_a_bound_of_none() -> None:
    def runs(*counts: float) -> Results:
        return Results(
            tuple(
                RunResult(f"c000-r{i:02}", 0, i, i, {"transport": "tcp"}, "ok", None,
                          {"retransmitted_packets": count}, ("loss",))
                for i, count in enumerate(counts)
            )
        )  # fmt: skip

    said = study("tcp.retransmitted_packets <= 0").expectations
    assert evaluate_expectations(said, runs(*[0.0] * 10))[0].kept is Kept.HOLDS
    assert evaluate_expectations(said, runs(*[5.0, 6.0] * 5))[0].kept is Kept.BROKEN


def test_all_are_one_family() -> None:
    """At 10 replicates one bound near the interval's end holds alone, and not among twenty."""
    found = results(noise=(*NOISE[:5], *NOISE[:5]))
    edge = judge("tcp.completion_time_s < 11 s", found).conditions[0].interval
    assert edge is not None
    near = f"tcp.completion_time_s < {edge[1] * 1.0002:.9f} s"
    assert judge(near, found).kept is Kept.HOLDS
    many = [near, *(f"tcp.completion_time_s < {edge[1] * (1.0002 + i * 1e-7):.9f} s"
                    for i in range(1, 20))]  # fmt: skip
    judged = evaluate_expectations(study(*many).expectations, found)
    assert judged[0].kept is Kept.UNDECIDED
    later = replace(found, criteria=Criteria(by_look=(Look(10, 0.05), Look(20, 0.95))))
    assert judge(near, later).kept is Kept.UNDECIDED, "an early look has less of the error"


def test_wrong_answers_are_as_rare_as_is_said() -> None:
    """A mean at the bound is called below it, or above, in at most 5 % of the studies together."""
    rng = support.rng("expectations")
    answers = []
    for _ in range(100):
        noise = tuple(math.exp(rng.normal(0.0, 0.2)) / math.exp(0.02) for _ in range(12))
        answers.append(judge("tcp.completion_time_s < 10 s where workload.chunks=1",
                             results(noise=noise)).kept)  # fmt: skip
    wrong = sum(each is not Kept.UNDECIDED for each in answers) / len(answers)
    assert wrong <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / len(answers))


TIMES = ("completion_time_s", "connect_time_s", "first_byte_s", "busy_s")
A_FAMILY = (
    *(f"{transport}.{metric} < 10 s" for transport in ("tcp", "quic") for metric in TIMES),
    "quic / tcp: completion_time_s > 1",
)


def test_any_wrong_answer_of_a_family_is_as_rare_as_is_said() -> None:
    """Nine expectations of two conditions each. QUIC is at the bound in both, TCP in one, and far
    on the expected side of it in the other. Any answer is wrong, and at most 5 % of the studies
    have one; with each expectation tested alone a quarter of them would.
    """
    rng = support.rng("a family of expectations")
    expected = study(*A_FAMILY).expectations
    many, wrong = 60, 0
    for _ in range(many):
        judged = evaluate_expectations(expected, _at_the_bound(rng))
        assert {len(each.conditions) for each in judged} == {2}
        wrong += any(each.kept is not Kept.UNDECIDED for each in judged)
    assert wrong / many <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / many)


def _at_the_bound(rng: np.random.Generator) -> Results:
    """Make times that vary by themselves, with a mean of 10 s; of TCP with two streams, of 1 s."""
    runs = []
    for run in results(10.0, 10.0, (1.0,) * 12).runs:
        is_far = run.factors == {"transport": "tcp", "workload.chunks": "2"}
        mean_s = 1.0 if is_far else 10.0
        times_s = [mean_s * math.exp(noise) for noise in rng.normal(-0.02, 0.2, len(TIMES))]
        metrics = dict(zip(TIMES, times_s, strict=True))
        runs.append(replace(run, metrics=metrics, random=("loss",)))
    return Results(tuple(runs))


@pytest.mark.parametrize(
    ("replicates", "told", "untold"), [(5, 1.53, 1.51), (6, 1.41, 1.38), (7, 1.05, None)]
)
@pytest.mark.parametrize(
    ("expect", "at"),
    [("tcp.completion_time_s < {} s", 10), ("quic / tcp: completion_time_s < {}", 0.8)],
)
def test_fewer_than_seven_replicates_tell_what_is_far_from_the_bound(
    expect: str, at: float, replicates: int, told: float, untold: float | None
) -> None:
    """As docs/testing.md says."""
    noise = (1.0, 1.002, 1.001, 1.001, 0.999, 1.0005, 0.9995)[:replicates]  # in one mode
    found = results(noise=noise)
    where = "where workload.chunks=1"
    assert judge(f"{expect.format(at * told)} {where}", found).kept is Kept.HOLDS
    if untold is not None:
        assert judge(f"{expect.format(at * untold)} {where}", found).kept is Kept.UNDECIDED


def test_decide_repeats_the_cells_of_an_open_expectation() -> None:
    found = replace(
        results(noise=(0.8, 1.2, 1.0, 1.1, 0.9, 1.05, 0.95, 1.0)),
        criteria=Criteria(by_look=Staging().looks(8)),
    )
    open_ = study("tcp.completion_time_s < 11 s", replicates=8)
    wanted = cells_to_repeat(open_, found, Staging())
    of_tcp = {cell.index for cell in found.cells if cell.factors["transport"] == "tcp"}
    assert wanted == of_tcp
    too_near = study("tcp.completion_time_s < 10.5 s", replicates=8)
    assert cells_to_repeat(too_near, found, Staging()) == frozenset(), "no look has 74 replicates"
    decided = study("tcp.completion_time_s < 30 s", replicates=8)
    assert cells_to_repeat(decided, found, Staging()) == frozenset(), "and no comparison counts"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tcp.completion_time_s", "there is no <, <=, > or >="),
        ("tcp.completion_time_s < 2.5", 'the unit is missing; write a value such as "2.5 s"'),
        ("tcp.completion_time_s < fast", "not a value of this metric"),
        ("tpc.completion_time_s < 2 s", 'did you mean "tcp"?'),
        ("tcp.completion_tme_s < 2 s", 'did you mean "completion_time_s"?'),
        ("quic / workload.chunks=1: completion_time_s < 1", "levels of two factors"),
        ("tcp / quic completion_time_s < 1", "a ratio has a colon before its metric"),
        ("tcp / tcp: completion_time_s < 1", "both are the same level"),
        ("tcp / quic: completion_time_s >= 0", "a ratio is above 0"),
        ("tcp.completion_time_s < 2 s where transport=quic", "transport is said twice"),
        (
            "completion_time_s < 2 s where transport=tcp, transport=quic",
            "transport is said twice",
        ),
        ("tcp.completion_time_s < 2 s where streams", "streams is not FACTOR=LEVEL"),
        ("tcp.goodput_bit_s < 2 MB", 'unknown unit "MB"'),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_remedy(text: str, said: str) -> None:
    with pytest.raises(StudyError) as refused:
        expecting(study(), [text])
    assert said in str(refused.value)
    assert str(refused.value).startswith("command line: --expect = ")


def test_an_error_names_the_line_of_the_study() -> None:
    with pytest.raises(StudyError, match=r"^study:7: expect.1.that = "):
        study_from_mapping(
            {**study().raw, "expect": [{"that": "completion_time_s < 1 s"}, {"that": "nothing"}]},
            lines={"expect.0.that": 4, "expect.1.that": 7},
        )


def test_where_stands_in_the_line_or_beside_it() -> None:
    raw = {**study().raw, "expect": [
        {"that": "tcp.completion_time_s < 1 s", "where": {"workload.chunks": 2}},
    ]}  # fmt: skip
    (beside,) = study_from_mapping(raw).expectations
    (inside,) = study("tcp.completion_time_s < 1 s where workload.chunks=2").expectations
    assert (beside.text, beside.where) == (inside.text, inside.where)


def test_rates_are_weighted_as_in_the_table() -> None:
    """A rate's mean is all content over all time, and its interval is that of the quotient."""
    rated = Results(
        tuple(
            replace(run, metrics={"completion_time_s": time_s, "goodput_bit_s": 8e6 / time_s})
            for time_s, run in (
                (run.value("completion_time_s") or 1.0, run)
                for run in results(noise=(0.7, 1.3, 1.1, 0.9, 1.2, 0.8) * 5).runs
            )
        )
    )  # fmt: skip
    judged = judge("tcp.goodput_bit_s > 500 kbit/s where workload.chunks=1", rated)
    (cell,) = rated.select({"transport": "tcp", "workload.chunks": "1"})
    table = cell.estimate("goodput_bit_s")
    assert table is not None
    assert judged.kept is Kept.HOLDS
    (condition,) = judged.conditions
    assert condition.value == pytest.approx(table.mean)
    assert condition.interval == pytest.approx(table.ci95, rel=1e-4)


def test_other_expectations_are_of_the_same_runs() -> None:
    """They do not name another run directory, so nothing is run again for them."""
    before = study("tcp.completion_time_s < 1 s")
    after = expecting(before, ["quic.completion_time_s < 2 s"])
    names = {default_directory(s, plan_study(s), _Virtual()) for s in (before, after)}  # type: ignore[arg-type]
    assert len(names) == 1


class _Virtual:
    suffix = ""


def test_the_command_line_adds_to_the_study_and_is_kept() -> None:
    before = study("tcp.completion_time_s < 1 s")
    after = expecting(before, ["tcp.completion_time_s  < 1 s", "quic.completion_time_s < 2 s"])
    assert [each.text for each in after.expectations] == [
        "tcp.completion_time_s < 1 s", "quic.completion_time_s < 2 s",
    ]  # fmt: skip
    again = study_from_mapping(after.raw)
    assert [each.text for each in again.expectations] == [each.text for each in after.expectations]
    assert expecting(before, []) is before


def test_a_single_table_is_told_to_be_one_of_several() -> None:
    with pytest.raises(StudyError, match=r"not a list; write \[\[expect\]\] for each"):
        study_from_mapping({**study().raw, "expect": {"that": "completion_time_s < 1 s"}})


@pytest.mark.parametrize(
    ("expect", "reason"),
    [
        ("stall_s < 1 s", "no run can have stall_s; there are: connect_time_s"),
        ("quic / tcp: stall_s < 1", "no run of transport=quic can have stall_s;"),
        (
            "tcp.jain_index > 0.9 where workload.chunks=2",
            "no run of workload.chunks=2, transport=tcp can have jain_index;",
        ),
        (
            "completion_time_s < 9 s where workload.chunks=3",
            'not a level of factors."workload.chunks"; known: 1, 2',
        ),
        ("completion_time_s < 9 s where path.loss=1%", "not a factor of this study; known"),
    ],
)
def test_what_no_cell_can_have_is_refused_when_planned(expect: str, reason: str) -> None:
    with pytest.raises(StudyError, match=re.escape(reason)):
        study(expect)
    with pytest.raises(StudyError, match=re.escape(reason)):
        expecting(study(), [expect])


def test_a_metric_of_some_cells_is_not_refused() -> None:
    named = study("quic.completion_time_s < 9 s", "tcp.connect_time_s < 1 s")
    assert [each.metric for each in named.expectations] == ["completion_time_s", "connect_time_s"]
