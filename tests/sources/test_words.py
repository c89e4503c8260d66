"""The words about a verdict: its reason, its controls, and what it depends on."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from netwarp.claims import ClaimVerdict
from netwarp.errors import StudyError
from netwarp.estimate.staging import Staging
from netwarp.evaluation import RunData
from netwarp.plan import PlannedRun, plan_study
from netwarp.results import Results, RunResult
from netwarp.sources import load_source
from netwarp.sources.page import render
from netwarp.sources.preparation import prepare
from netwarp.sources.reproduce import outcomes_of
from netwarp.sources.reproduction import Executed
from netwarp.sources.scorecard import score_text, total_text
from netwarp.sources.seeds import fresh_seeds, release_seed
from netwarp.sources.variants import control_study, sensitivity_study
from netwarp.study import Study, load_study, study_from_mapping
from netwarp.study.overrides import apply_quick
from sources.made_source import CONTROLLED, STUDY, controlled, printed, write_source


def test_a_reason_is_printed_only_where_its_control_shows_it(tmp_path: Path) -> None:
    shown = controlled(tmp_path, {"wide": 11.0}).rows[0]
    assert (shown.why, shown.to_json()["why"]) == ("windows", "windows")
    assert "ratio 0.500 becomes 0.909" in (shown.control_text or "")


def test_what_is_undecided_has_no_reason(tmp_path: Path) -> None:
    row = controlled(tmp_path, {"wide": 11.0}).rows[0]
    undecided = replace(row, result=replace(row.result, verdict=ClaimVerdict.UNDECIDED))
    assert (row.why, undecided.why) == ("windows", None)


def test_a_reason_whose_control_changes_nothing_is_kept_as_proposed(tmp_path: Path) -> None:
    done = controlled(tmp_path, {})
    row = done.rows[0]
    told = row.to_json()
    assert (row.why, told["why"], told["proposed_why"]) == (None, None, "windows")
    assert told["control"]["shows_it"] is False
    text = " ".join(printed(done).split())
    assert "windows are wide: ratio 0.500 becomes 0.500, ratio of ratios 1.00; the control" in text
    assert "the control does not show it" in text
    assert "why: windows" not in text


def test_a_control_that_is_not_part_of_quick_shows_no_reason(tmp_path: Path) -> None:
    text = CONTROLLED.replace('"8MB" }\n', '"8MB" }\nquick = false\n')
    quick = controlled(tmp_path / "quick", {"wide": 11.0}, text=text).rows[0]
    assert (quick.why, quick.control_text) == (None, "windows are wide: not tried")
    full = controlled(tmp_path / "full", {"wide": 11.0}, text=text, quick=False).rows[0]
    assert full.why == "windows"


def test_a_control_has_as_many_replicates_as_its_reasons_take(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(CONTROLLED.replace("replicates = 3", "replicates = 20"))
    study = load_study(path)
    (control,) = study.controls
    assert (study.replicates, control_study(study, control).replicates) == (20, 8)
    path.write_text(CONTROLLED)
    few = load_study(path)
    assert control_study(few, control).replicates == few.replicates


def test_a_verdict_that_another_choice_contradicts_depends_on_it(tmp_path: Path) -> None:
    done = controlled(tmp_path, {"rate10mbit": 5.0, "rate1gbit": 10.0})
    row = done.rows[0]
    assert (row.word, row.result.word) == ("depends", "reproduced")
    assert row.depends_text == "on the rate, which we chose"
    assert done.counts(authors=True) == {"depends": 2}
    words = "reproduced with no limit, reversed with 10 Mbit/s, equivalent with 1000 Mbit/s"
    assert f"depends on the rate, which we chose: {words}" in " ".join(printed(done).split())
    told = row.to_json()
    assert (told["verdict"], told["verdict_as_chosen"]) == ("depends", "reproduced")
    assert [each["contradicts"] for each in told["sensitivity"]] == [True, False]


def test_a_verdict_that_no_other_choice_contradicts_stays(tmp_path: Path) -> None:
    row = controlled(tmp_path, {"rate10mbit": 15.0}).rows[0]
    assert (row.word, row.depends_text) == ("reproduced", None)
    rate, delay = row.dependences
    assert rate.text.startswith("the rate, which we chose: reproduced with no limit, reproduced")
    assert delay.text.endswith("not tried with another than a round trip"), "not with --quick"


def test_a_size_that_another_choice_does_not_give_depends_on_it(tmp_path: Path) -> None:
    """Here half of the time is saved, a third with the other rate: both are less."""
    text = CONTROLLED.replace(
        'than = { transport = "tcp" }\n', 'than = { transport = "tcp" }\nby_at_least = "40%"\n', 1
    )
    row = controlled(tmp_path / "less", {"rate10mbit": 15.0}, text=text).rows[0]
    assert (row.word, row.result.word) == ("depends", "reproduced")
    assert "reproduced with no limit, smaller with 10 Mbit/s" in row.dependences[0].text
    same = controlled(tmp_path / "more", {"rate10mbit": 40.0}, text=text).rows[0]
    assert same.word == "reproduced", "a larger lead has no upper bound here"


@pytest.mark.parametrize("disturbed", ["one", "rate"], ids=["its own runs", "a variant's"])
def test_words_beside_other_work_are_provisional_and_not_counted(
    tmp_path: Path, disturbed: str
) -> None:
    done = controlled(tmp_path, {})
    first, second = done.studies

    def beside_others(executed: Executed) -> Executed:
        assert executed.finished is not None
        provenance = {"clock": "real", "other_work": 0.4}
        return replace(executed, finished=replace(executed.finished, provenance=provenance))

    if disturbed == "one":
        first = replace(first, executed=beside_others(first.executed))
    else:
        rate, *rest = first.sensitivities
        assert rate.executed is not None
        varied = replace(rate, executed=beside_others(rate.executed))
        first = replace(first, sensitivities=(varied, *rest))
    noisy = replace(done, studies=(first, second))
    assert done.counts(authors=True) == {"reproduced": 2}
    assert noisy.counts(authors=True) == {"reproduced": 1}
    told = noisy.to_json()
    assert told["not_counted"] == 1
    assert [each["counted"] for each in told["claims"]] == [False, True]
    noted = "1 provisional and not counted, as other work disturbed runs in real time"
    assert score_text(noisy).endswith(noted)
    assert "(1 more not counted" in total_text([noisy])
    assert "provisional and not counted; do it again" in " ".join(printed(noisy).split())
    assert "provisional, not counted" in render([noisy], tmp_path)


def test_a_phrase_with_two_readings_is_judged_by_both_on_the_same_runs(tmp_path: Path) -> None:
    """QUIC's lead is 10 s at both losses: as a ratio and as a gap it does not grow."""
    source = load_source(write_source(tmp_path))
    text = CONTROLLED.replace(
        'than = { transport = "tcp" }\n',
        'than = { transport = "tcp" }\ngrows_with = "path.loss"\nlead = "gap"\n', 1,
    )  # fmt: skip
    a, b = text.index("[[sensitivity]]"), text.index("[quick]")
    reading = (
        '[[sensitivity]]\nid = "reading"\nchosen = "how a difference is read"\n'
        'here = "a gap"\ntext = "a ratio"\nlead = "ratio"\n'
    )
    text = (
        text[:a]
        + reading
        + text[b:]
        .replace("replicates = 2", "replicates = 20")
        .replace('"path.loss" = ["1%"]', '"path.loss" = ["0%", "1%"]')
    )
    for path in source.studies:
        path.write_text(text)
    places: list[str] = []

    def run_study(
        study: Study, directory: Path, staging: Staging | None
    ) -> tuple[RunData, str | None]:
        places.append(directory.name)
        times = {("quic", "0%"): 1.0, ("tcp", "0%"): 2.0, ("quic", "1%"): 9.0, ("tcp", "1%"): 15.0}

        def time_of(each: PlannedRun) -> float:
            levels = each.cell.levels
            noise = 1 + 0.001 * ((7 * each.replicate + 3 * each.cell.index) % 5)
            return noise * times[levels["transport"], levels["path.loss"]]

        runs = [
            RunResult(
                each.run, each.cell.index, each.replicate, each.replicate, each.cell.levels, "ok",
                None, {"completion_time_s": time_of(each)},
            )
            for each in plan_study(study)
        ]  # fmt: skip
        return RunData(directory, Results(tuple(runs)), {}, given_study=study), None

    prepared = prepare(source, out=tmp_path / "out", quick=True)
    outcomes = outcomes_of(prepared, run_study, None)
    row = outcomes[0].rows[0]
    assert (row.result.word, row.word) == ("reproduced", "depends")
    assert row.depends_text == "on how a difference is read, which we chose"
    assert row.dependences[0].text.endswith("reproduced with a gap, reversed with a ratio")
    assert places == ["one", "two", "wide", "wide"], "the reading runs nothing"


def test_stability_counts_the_seeds_that_give_the_word(tmp_path: Path) -> None:
    first, second = fresh_seeds(release_seed(), 2)
    row = controlled(tmp_path, {str(second): 10.0}).rows[0]
    assert row.stability_text == "1 of 2 seeds; else equivalent"
    assert row.to_json()["seeds"] == {
        "tried": 2, "same": 1, "words": ["reproduced", "equivalent"]
    }  # fmt: skip
    assert first != second
    assert replace(row, stability=None).stability_text == "not tried"


def test_a_release_has_a_seed_of_its_own_and_more_seeds_keep_the_first() -> None:
    assert release_seed("1.0.0") != release_seed("1.0.1")
    assert release_seed() == release_seed()
    assert fresh_seeds(1, 5)[:2] == fresh_seeds(1, 2)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('why = "windows"\n', "", "claim.0.why: missing beside control and under_control"),
        ('under_control = "higher"\n', "", "claim.0.under_control: missing beside why"),
        ('{ transport.buffer = "8MB" }', "{ replicates = 9 }", "it has the study's replicates"),
        ('"path.rate"\nlevels', '"path.loss"\nlevels', "the study varies it already"),
        ('over = "path.rate"\n', "", "it takes over and levels, or text and change"),
    ],
)
def test_a_loose_reason_and_a_variant_that_changes_nothing_are_refused(
    tmp_path: Path, before: str, after: str, message: str
) -> None:
    path = tmp_path / "study.toml"
    path.write_text(CONTROLLED)
    assert load_study(path).sensitivities[0].claims == ["claim-1"]
    assert before in CONTROLLED
    path.write_text(CONTROLLED.replace(before, after))
    with pytest.raises(StudyError, match=message):
        load_study(path)


def test_quick_need_not_have_the_levels_that_claims_leave_out() -> None:
    tables = tomllib.loads(STUDY)
    tables["claim"][0]["without"] = {"path.loss": ["0%"]}
    assert apply_quick(tables)["claim"][0]["without"] == {"path.loss": []}
    assert study_from_mapping(apply_quick(tables), file="one.toml").claims
    tables["claim"][0]["without"] = {"path.loss": ["7%"]}
    with pytest.raises(StudyError, match="not a level"):
        study_from_mapping(apply_quick(tables), file="one.toml")


def test_a_sensitivity_need_not_have_the_levels_that_its_claims_leave_out() -> None:
    tables = tomllib.loads(STUDY)
    del tables["quick"]
    tables["factors"]["path.loss"] = ["0%", "1%", "2%"]
    tables["claim"][0] |= {"id": "sooner", "without": {"path.loss": ["0%", "2%"]}}
    rate = {"id": "rate", "chosen": "the rate", "here": "none", "over": "path.rate"}
    change = {"factors": {"path.loss": ["1%", "2%"]}}
    tables["sensitivity"] = [{**rate, "levels": ["10mbit"], "change": change}]
    tables["expect"] = [{"that": "completion_time_s < 9 s where path.loss=0%"}]
    study = study_from_mapping(tables, file="one.toml")
    varied = sensitivity_study(study, study.sensitivities[0])
    assert varied.expectations == (), "they are about the study itself"
    (claim,) = varied.claims
    assert claim.without == {"path.loss": ["2%"]}
