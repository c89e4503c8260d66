"""Combinations of levels that a study leaves out."""

from __future__ import annotations

from typing import Any

import pytest

from netwarp.errors import StudyError
from netwarp.plan import plan_study
from netwarp.plan.without import without_path
from study.good_study import refusal, study_of

FACTORS: dict[str, Any] = {
    "transport": ["tcp", "quic"], "transport.congestion": ["reno", "cubic", "bbr"],
}  # fmt: skip


def cells(*leave_out: dict[str, Any]) -> list[tuple[str, ...]]:
    study = study_of(factors=FACTORS, leave_out=list(leave_out))
    return [tuple(cell.levels.values()) for cell in study.cells]


def test_what_is_left_out_has_no_cells() -> None:
    assert len(cells()) == 6
    entry = {"transport": "quic", "transport.congestion": ["reno", "bbr"]}
    assert cells(entry) == [("tcp", "reno"), ("tcp", "cubic"), ("tcp", "bbr"), ("quic", "cubic")]


def test_what_a_transport_cannot_do_is_no_error_where_it_is_left_out() -> None:
    factors = FACTORS | {"transport.congestion": ["cubic", "vegas"]}
    with pytest.raises(StudyError, match="vegas"):
        study_of(factors=factors)
    entry = {"transport": "quic", "transport.congestion": "vegas"}
    study = study_of(factors=factors, leave_out=[entry])
    assert [cell.index for cell in study.cells] == [0, 1, 2]
    assert {run.job.only.transport.congestion for run in plan_study(study)} == {"cubic", "vegas"}


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"transport": "quic"}, "levels of two factors or more"),
        ({"transport": "quic", "path.loss": "1%"}, "not a factor of this study"),
        ({"transport": "quic", "transport.congestion": "renno"}, 'did you mean "reno"'),
        (
            {"transport": ["tcp", "quic"], "transport.congestion": ["reno", "cubic", "bbr"]},
            "every combination is left out",
        ),
    ],
)
def test_an_entry_that_cannot_be_meant_is_refused(entry: dict[str, Any], reason: str) -> None:
    assert reason in refusal(factors=FACTORS, leave_out=[entry])


def test_what_is_left_out_stays_out_between_two_hosts() -> None:
    entries = [
        {"transport": "quic", "transport.congestion": ["reno", "bbr"]},
        {"transport": "tcp", "path.loss": "1%"},
    ]
    study = study_of(factors=FACTORS | {"path.loss": ["0%", "1%"]}, leave_out=entries)
    chosen = without_path(study, ["path.loss=0%"])
    assert [tuple(cell.levels.values()) for cell in chosen.cells] == [
        ("tcp", "reno"), ("tcp", "cubic"), ("tcp", "bbr"), ("quic", "cubic"),
    ]  # fmt: skip
    without = without_path(study, ["path.loss=0%", "transport.congestion=reno"])
    assert [tuple(cell.levels.values()) for cell in without.cells] == [("tcp", "reno")]
