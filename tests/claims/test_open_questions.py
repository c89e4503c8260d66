"""Which cells get more replicates."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from netwarp.claims.open_questions import cells_to_repeat
from netwarp.estimate.criteria import Criteria
from netwarp.estimate.staging import LOOKS, Staging
from netwarp.results import Results, RunResult
from netwarp.study import Study, study_from_mapping

LEVELS = ("0%", "1%")


def study(*claims: dict[str, Any]) -> Study:
    return study_from_mapping(
        {
            "title": "t",
            "replicates": 4,
            "workload": {"size": "1MB"},
            "factors": {"transport": ["tcp", "quic"], "path.loss": list(LEVELS)},
            "claim": list(claims),
        }
    )


QUIC_FIRST: dict[str, Any] = {
    "text": "QUIC is sooner",
    "metric": "completion_time_s",
    "less": {"transport": "quic"},
    "than": {"transport": "tcp"},
}


def results(ratios: dict[str, float], spread: float = 0.1) -> Results:
    """Make eight replicates in which QUIC takes so many times as long as TCP, level by level."""
    runs = []
    for cell, (transport, level) in enumerate(
        (transport, level) for transport in ("tcp", "quic") for level in LEVELS
    ):
        for replicate in range(8):
            own = 1 + spread * (-1) ** replicate * (replicate % 4 + 1) / 4
            value = 10 * (ratios[level] * own if transport == "quic" else 1)
            runs.append(
                RunResult(
                    f"c{cell:03}-r{replicate:02}", cell, replicate, replicate,
                    {"transport": transport, "path.loss": level}, "ok", None,
                    {"completion_time_s": value},
                )
            )  # fmt: skip
    return Results(tuple(runs), Criteria(looks=LOOKS))


def test_only_the_cells_of_what_is_undecided_get_more_replicates() -> None:
    found = cells_to_repeat(study(QUIC_FIRST), results({"0%": 0.1, "1%": 0.95}), Staging())
    assert found == {1, 3}
    one_level = QUIC_FIRST | {"where": {"path.loss": "0%"}}
    assert not cells_to_repeat(study(one_level), results({"0%": 0.1, "1%": 0.95}), Staging())


def test_a_level_at_a_limit_does_not_keep_others_from_being_decided() -> None:
    noise = (1.025 * 0.95 * 1.075 * 0.9) ** 0.25  # the geometric mean of what `results` adds
    made = results({"0%": 1 / 1.01 / noise, "1%": 0.95})
    assert cells_to_repeat(study(QUIC_FIRST), made, Staging()) == {1, 3}


def test_a_lead_that_grows_from_end_to_end_only_gets_more_replicates() -> None:
    grows = QUIC_FIRST | {"grows_with": "path.loss"}
    made = results({"0%": 1.0, "1%": 0.7}, spread=0.6)
    assert cells_to_repeat(study(grows), made, Staging()) == {0, 1, 2, 3}


def test_without_claims_comparisons_are_decided() -> None:
    assert cells_to_repeat(study(), results({"0%": 0.1, "1%": 0.95}), Staging()) == {1, 3}


def test_what_no_number_of_replicates_decides_gets_none() -> None:
    assert not cells_to_repeat(study(), results({"0%": 0.1, "1%": 1.012}), Staging())


def test_a_precision_asks_for_narrow_intervals() -> None:
    made = results({"0%": 0.5, "1%": 0.9})
    assert cells_to_repeat(study(), made, Staging(precision=0.05)) == {2, 3}
    assert not cells_to_repeat(study(), made, Staging(precision=0.9))


def test_stages_double() -> None:
    assert Staging().sizes(5) == (5, 10, 20, 40)
    assert Staging().sizes(8000) == (8000, 10000)


def test_without_claims_equivalences_get_the_replicates_that_they_take() -> None:
    """Equal but for a thousandth, only their number of replicates keeps them from a verdict."""
    made = results({"0%": 1.0, "1%": 1.0}, spread=0.001)
    assert cells_to_repeat(study(), made, Staging()) == {0, 1, 2, 3}
    few = replace(study(), replicates=1)
    assert not cells_to_repeat(few, made, Staging()), "49 are needed, more than 4 × 8"
