"""Expectations as they are written: what they say, and what is refused."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from claims.expected_cells import judge, results, study
from netwarp.claims import Kept
from netwarp.errors import StudyError
from netwarp.pipeline import default_directory
from netwarp.plan import plan_study
from netwarp.results import Results
from netwarp.study import study_from_mapping
from netwarp.study.expecting import expecting


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
