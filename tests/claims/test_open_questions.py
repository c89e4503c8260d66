"""Which cells get more replicates."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from netwarp.claims import evaluate_claims
from netwarp.claims.open_questions import cells_to_repeat
from netwarp.estimate.comparison import Verdict
from netwarp.estimate.criteria import Criteria
from netwarp.estimate.staging import Look, Staging
from netwarp.results import Results, RunResult
from netwarp.results.comparisons import compare_contenders
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
    return Results(tuple(runs), Criteria(by_look=Staging().looks(8, questions=2)))


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


def test_without_claims_equivalences_get_the_replicates_that_they_take() -> None:
    """Equal but for a thousandth, only their number of replicates keeps them from a verdict."""
    made = results({"0%": 1.0, "1%": 1.0}, spread=0.001)
    assert cells_to_repeat(study(), made, Staging()) == {0, 1, 2, 3}
    few = replace(made, criteria=Criteria(by_look=(Look(8, 0.5), Look(32, 0.5))))
    assert not cells_to_repeat(study(), few, Staging()), "more are needed than the last look has"


def first_replicates(results: Results, level: str, replicates: int) -> Results:
    """Leave the first replicates at one level, as of cells that were not repeated."""
    runs = (
        run
        for run in results.runs
        if run.factors["path.loss"] != level or run.replicate < replicates
    )
    return replace(results, runs=tuple(runs))


def test_what_was_decided_at_a_look_stays_decided() -> None:
    """At 0 % the first look decides, with 0.9 of the error; its cells are not repeated."""
    claim = study(QUIC_FIRST)
    looks = (Look(6, 0.9), Look(8, 0.001), Look(640, 0.099))
    made = replace(results({"0%": 0.5, "1%": 0.98}), criteria=Criteria(by_look=looks))
    later = first_replicates(made, "0%", 6)
    (judged,) = evaluate_claims(claim.claims, later)
    says = {each["factors"]["path.loss"]: each["says"] for each in judged.values["conditions"]}
    assert says == {"0%": "holds", "1%": "undecided"}
    assert cells_to_repeat(claim, later, Staging()) == {1, 3}
    (at_0, _) = judged.values["conditions"]
    assert at_0["n"] == 6
    assert at_0["interval"][1] < 1, "the interval is that of the look at which it was judged"
    compared = compare_contenders(later).comparisons
    assert [each.share for each in compared] == [0.9, 0.001]
    assert [each.verdict for each in compared] == [Verdict.LESS, Verdict.UNDECIDED]


def test_a_look_counts_with_the_error_that_it_has() -> None:
    """What a look with all of the error would decide is not run for one with hardly any."""
    made = results({"0%": 0.1, "1%": 0.95})
    generous, strict = (
        replace(made, criteria=Criteria(by_look=(Look(8, 0.01), Look(40, share))))
        for share in (0.99, 1e-9)
    )
    assert cells_to_repeat(study(QUIC_FIRST), generous, Staging()) == {1, 3}
    assert not cells_to_repeat(study(QUIC_FIRST), strict, Staging())
