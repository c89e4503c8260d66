"""Before anything runs, a study says what its replicates cannot tell, and how many could."""

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import support
from netwarp.claims.too_few import TooFew, too_few_as_planned
from netwarp.cli.progress import ProgressBar
from netwarp.estimate.staging import Staging
from netwarp.evaluation import RunData
from netwarp.output.summary import summary
from netwarp.study import Study, load_study, study_from_mapping

ROOT = Path(__file__).parents[2]
SHIPPED = [*sorted((ROOT / "studies").glob("*.toml")), ROOT / "src" / "netwarp" / "demo.toml"]

SOONER: dict[str, Any] = {
    "id": "sooner", "text": "QUIC is sooner", "metric": "completion_time_s",
    "less": {"transport": "quic"}, "than": {"transport": "tcp"},
}  # fmt: skip
SAME: dict[str, Any] = {
    "id": "same", "text": "They take as long", "metric": "completion_time_s",
    "equal": [{"transport": "quic"}, {"transport": "tcp"}],
}  # fmt: skip


def study(
    replicates: int, *claims: dict[str, Any], loss: str = "1%", contender: str = "quic"
) -> Study:
    return study_from_mapping(
        {
            "title": "t",
            "replicates": replicates,
            "path": {"loss": loss},
            "workload": {"size": "1MB"},
            "factors": {"transport": ["tcp", {"kind": contender, "label": "quic"}]},
            "claim": list(claims),
        }
    )


def least(found: list[TooFew]) -> int | None:
    return found[0].least if found else None


@pytest.mark.parametrize(
    ("replicates", "claims", "wanted"),
    [
        (2, [], 7), (6, [], 7), (7, [], None),
        (6, [SOONER], 7), (7, [SOONER], None),
        # Of twelve the first has a twelfth of the error: 0.6 ^ 11 + 0.4 ^ 11 is below 0.0042.
        (10, [{**SOONER, "id": f"c{i}"} for i in range(12)], 11),
        (10, [SOONER, SAME], 29), (29, [SOONER, SAME], None),
        # Of two equivalences the first has half of the error: 0.9 ^ 36 is below 0.025.
        (29, [SAME, {**SAME, "id": "again"}], 36),
        (10, [{**SAME, "tolerance": "60%"}], None),
        (2, [{"text": "t", "not_testable": "nothing can"}], 7),
    ],
)  # fmt: skip
def test_the_least_replicates_are_those_that_can_show_it(
    replicates: int, claims: list[dict[str, Any]], wanted: int | None
) -> None:
    assert least(too_few_as_planned(study(replicates, *claims), None)) == wanted


def test_only_what_is_random_needs_replicates() -> None:
    steady = study(2, SOONER, SAME, loss="0%", contender="sctp")
    assert too_few_as_planned(steady, None) == []
    own = study(2, SOONER, SAME, loss="0%")
    assert least(too_few_as_planned(own, None)) == 29, "QUIC draws by itself"
    assert least(too_few_as_planned(steady, None, in_real_time=True)) == 29
    alone = too_few_as_planned(study(2), None, ["transport=tcp"])
    assert alone == [], "nothing is compared"


def test_decide_adds_as_many_as_it_takes() -> None:
    assert too_few_as_planned(study(5, SAME), Staging()) == []
    assert least(too_few_as_planned(study(3, SAME), Staging())) == 29, "3 × 8 at 0.95 of the error"
    assert least(too_few_as_planned(study(5, SAME), Staging(precision=0.05))) == 29


def test_the_warning_names_claims_and_the_remedy() -> None:
    (found,) = too_few_as_planned(study(5, SOONER, SAME), None)
    assert found.text == (
        "2 of 2 claims cannot be judged with 5 replicates unless a ratio is below 0.65 or above"
        " 1.54, as what they compare is random (sooner, same): 1 could be with 8, all with 29, or"
        " with --decide"
    )
    assert found.sentence("without --quick").endswith("all with 29, or without --quick")
    (differs,) = too_few_as_planned(study(5, SOONER), None)
    assert differs.text.startswith(
        "the claim cannot be judged with 5 replicates unless a ratio is below 0.66 or above 1.52,"
        " as what it compares is random (sooner): with "
    )
    (table,) = too_few_as_planned(study(1), None)
    assert table.text.startswith(
        "cells with something random cannot all be compared with 1 replicate: with 7"
    )


def test_it_is_printed_when_a_study_begins() -> None:
    written = io.StringIO()
    bar = ProgressBar(Console(file=written, width=200), lambda clock: [f"{clock} [few]"])
    bar.planned(2, "virtual")
    assert written.getvalue() == "warning: virtual [few]\n"


def test_progress_names_the_study_where_there_are_several() -> None:
    written = io.StringIO()
    bar = ProgressBar(Console(file=written, width=200))
    bar.study("park-2008/fig-4/controls/bbr")
    bar.planned(2, "virtual")
    bar.ended()
    assert written.getvalue().startswith("park-2008/fig-4/controls/bbr: 0 of 2 runs · ")


def test_json_has_what_the_replicates_could_not_tell(tmp_path: Path) -> None:
    few = support.results(replicates=3, failed_run=None)
    given = study_from_mapping({**support.STUDY, "replicates": 3})
    data = RunData(tmp_path, few, {"clock": "virtual"}, given_study=given)
    found = summary(data)["too_few_replicates"]
    assert (found["replicates"], found["least"]) == (3, 8)
    enough = replace(data, results=support.results(replicates=8, failed_run=None))
    assert summary(enough)["too_few_replicates"] is None


def test_expectations_need_replicates_too_and_comparisons_no_more() -> None:
    bound = {"that": "quic / tcp: completion_time_s <= 1.1"}
    bounds = [{"that": f"tcp.completion_time_s < {s} s"} for s in range(1, 12)]
    raw = study(5).raw
    (one,) = too_few_as_planned(study_from_mapping({**raw, "expect": [bound]}), None)
    assert (one.what, one.least) == ("expectations", 7)
    assert one.text == (
        "the expectation cannot be judged with 5 replicates unless a ratio is below 0.66 or"
        f" above 1.52 ({bound['that']}): with 7 it could be, or with --decide"
    )
    (twelve,) = too_few_as_planned(study_from_mapping({**raw, "expect": [bound, *bounds]}), None)
    assert twelve.least == 11, "the first of twelve has a twelfth of the error"
    steady = study_from_mapping({**study(1, loss="0%", contender="sctp").raw, "expect": [bound]})
    (fixed,) = too_few_as_planned(steady, None)
    assert fixed.least == 2
    both = study_from_mapping({**study(5, SOONER).raw, "expect": [bound]})
    assert [each.what for each in too_few_as_planned(both, None)] == ["claims", "expectations"]


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_shipped_study_has_the_replicates_that_its_verdicts_take(path: Path) -> None:
    assert too_few_as_planned(load_study(path), None) == []
