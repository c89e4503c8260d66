"""Sources, and their scorecards, without any run."""

from __future__ import annotations

import io
import json
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

import support
from netwarp.claims import ClaimVerdict, not_tested
from netwarp.cli.printing import print_scorecard
from netwarp.cli.running import build_stacks, missing_stacks
from netwarp.errors import BackendError, InputError, RunDirectoryError, StudyError
from netwarp.estimate.staging import Staging, TimeLimit
from netwarp.evaluation import RunData, load
from netwarp.execution.time_limits import time_limit
from netwarp.pipeline import write_outputs
from netwarp.plan import PlannedRun, plan_study
from netwarp.results import Results, RunResult
from netwarp.sources import find_sources, load_source, load_sources
from netwarp.sources.page import render
from netwarp.sources.preparation import expected, prepare
from netwarp.sources.reproduce import outcomes_of, reproduce_document, to_json, write_all
from netwarp.sources.reproduction import Executed, Reproduction
from netwarp.sources.scorecard import expected_text, score_text, total_text
from netwarp.sources.seeds import fresh_seeds, release_seed
from netwarp.sources.variants import control_study, sensitivity_study
from netwarp.study import Study, load_study, study_from_mapping
from netwarp.study.overrides import apply_quick

INDEX = """# A test.
title = "A test of <everything>"
authors = "Nobody"
published = "nowhere"
method = "none"
differs = "nothing"
studies = ["one", "two"]
"""
STUDY = """# Is it?
title = "Study"
replicates = 3
[path]
rtt = "10ms"
[workload]
size = "1MB"
[factors]
transport = ["tcp", "quic"]
"path.loss" = ["0%", "1%"]
[[claim]]
text = "QUIC is sooner"
source = "test, figure 1"
metric = "completion_time_s"
less = { transport = "quic" }
than = { transport = "tcp" }
[quick]
replicates = 2
workload.size = "1kB"
[quick.factors]
"path.loss" = ["1%"]
"""


def write_source(place: Path) -> Path:
    folder = place / "test-2000"
    folder.mkdir(parents=True)
    (folder / "source.toml").write_text(INDEX)
    for name in ("one", "two"):
        (folder / f"{name}.toml").write_text(STUDY)
    return folder


def outcome(
    tmp_path: Path, *, refuse: str | None = None, not_run: str | None = None
) -> Reproduction:
    """Do the test source again; results are those of the shared example."""

    def run_study(
        study: Study, directory: Path, staging: Staging | None
    ) -> tuple[RunData, str | None]:
        assert staging is None
        if directory.name == refuse:
            raise BackendError("no <namespaces> here")
        directory.parent.mkdir(parents=True, exist_ok=True)
        data = load(support.write_run_directory(directory), study=study)
        write_outputs(data)
        return data, not_run

    source = load_source(write_source(tmp_path))
    prepared = prepare(source, out=tmp_path / "out", quick=True)
    return reproduce_document(prepared, run_study)


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    """Give the test source, done again once for all tests that only read what it left."""
    return outcome(tmp_path_factory.mktemp("done"))


def test_the_shipped_sources_are_found() -> None:
    assert {"kim-2022", "park-2008"} <= set(find_sources())
    assert [source.name for source in load_sources(["park-2008", "park-2008"])] == ["park-2008"]
    with pytest.raises(InputError, match=r'kim-2020: no such source .* did you mean "kim-2022"'):
        load_sources(["kim-2020"])
    with pytest.raises(InputError, match=r"\./mine: no such source .* has a source\.toml"):
        load_sources(["./mine"])


def test_a_folder_of_ones_own_is_a_source(tmp_path: Path) -> None:
    folder = write_source(tmp_path)
    (source,) = load_sources([str(folder)])
    assert (source.name, len(source.studies)) == ("test-2000", 2)


def test_an_index_that_names_no_study_is_refused(tmp_path: Path) -> None:
    folder = write_source(tmp_path)
    (folder / "two.toml").unlink()
    with pytest.raises(StudyError, match='studies = "two": there is no such study'):
        load_source(folder)


def test_quick_changes_what_it_names_and_nothing_else(tmp_path: Path) -> None:
    path = write_source(tmp_path) / "one.toml"
    full, quick = load_study(path), load_study(path, quick=True)
    assert (full.replicates, quick.replicates) == (3, 2)
    assert (len(full.cells), len(quick.cells)) == (4, 2)
    assert support.bulk(quick.cells[0].template).content.size_bytes == 1000
    assert quick.cells[0].sections.path.rtt_ns == 10_000_000
    assert apply_quick({"title": "t"}) == {"title": "t"}


def test_the_scorecard_counts_verdicts_and_clocks(done: Reproduction) -> None:
    assert not done.succeeded  # one run of the example failed
    assert len(done.rows) == 2
    assert done.virtual_s == 2 * 12345.6
    kept = json.loads((done.directory / "scorecard.json").read_text())
    assert kept["claims"] == json.loads(json.dumps(to_json([done])["claims"]))
    assert sum(kept["verdicts"].values()) == 2
    assert [study["failed"] for study in kept["studies"]] == [1, 1]
    assert "2 conclusions: " in score_text(done)


def test_a_time_limit_that_was_reached_is_said_everywhere(tmp_path: Path) -> None:
    done = outcome(tmp_path)
    assert "--max-time" not in printed(done)
    finished = done.studies[1].executed.finished
    assert finished is not None
    finished.provenance["time_limit_s"] = 600
    assert "10 min 00 s was reached" in " ".join(printed(done).split())
    assert "10 min 00 s was reached" in render([done], tmp_path)
    assert [study["time_limit"] is None for study in done.to_json()["studies"]] == [True, False]


def test_studies_share_the_time_in_which_replicates_are_added(tmp_path: Path) -> None:
    """A share is as large as a study's cost; what is left goes to those that were cut short."""
    prepared = prepare(load_source(write_source(tmp_path)), out=tmp_path / "out")
    shares: list[tuple[str, TimeLimit]] = []

    def run_study(study: Study, directory: Path, staging: Staging | None) -> tuple[RunData, None]:
        assert staging is not None
        limit = staging.limit
        assert limit is not None
        shares.append((directory.name, limit))
        if not directory.exists():
            directory.parent.mkdir(parents=True, exist_ok=True)
            support.write_run_directory(directory)
        data = load(directory, study=study)
        is_cut_short = directory.name == "one" and len(shares) == 1
        data.provenance["time_limit_s"] = limit.length_s if is_cut_short else None
        write_outputs(data)
        return data, None

    whole = time_limit(3600)
    done = reproduce_document(prepared, run_study, whole)
    assert [name for name, _ in shares] == ["one", "two", "one"]
    ends_s = [whole.until_s - limit.until_s for _, limit in shares]
    assert ends_s == [pytest.approx(1800, abs=60), pytest.approx(0), pytest.approx(0)]
    assert {(limit.length_s, limit.is_share) for _, limit in shares} == {(3600, True)}
    assert done.limit_text is None

    shares.clear()
    reproduce_document(prepared, run_study, time_limit(0))
    assert [name for name, _ in shares] == ["one", "two"]


def printed(done: Reproduction) -> str:
    """Print a scorecard to a string."""
    out = io.StringIO()
    print_scorecard(done, Console(file=out, width=100))
    return out.getvalue()


def test_a_folder_of_others_is_no_place_for_a_reproduction(tmp_path: Path) -> None:
    source, out = load_source(write_source(tmp_path)), tmp_path / "out"
    (out / "one").mkdir(parents=True)
    prepare(source, out=out)
    (out / "thesis.tex").write_text("")
    with pytest.raises(RunDirectoryError, match=r"has files of others \(thesis\.tex for one\)"):
        prepare(source, out=out)
    (out / "scorecard.json").write_text("{}")
    prepare(source, out=out)


def test_the_page_shows_every_figure_and_escapes(done: Reproduction) -> None:
    page = (done.directory / "scorecard.html").read_text()
    assert "A test of &lt;everything&gt;" in page
    for study in done.studies:
        assert study.figures
        for figure in study.figures:
            assert f'id="spec-test-2000-{study.name}-{figure.stem}"' in page
        assert f"{study.name}.toml" in page
    assert "src=" not in page.partition("<script")[0]
    assert page.count("QUIC is sooner") == 2 + 2  # the conclusions, and the study files
    assert page.count("Is it?") == 2 * 2


def test_the_page_explains_the_words_that_stand_on_it(done: Reproduction, tmp_path: Path) -> None:
    page = render([done], tmp_path)
    legend = page.partition('<dl class="meanings')[2].partition("</dl>")[0]
    for row in done.rows:
        assert f'<span class="verdict {row.verdict.value}">{row.word}</span>' in legend
    assert legend.count("<span") == len({row.word for row in done.rows})


def test_a_page_has_a_column_of_seeds_where_others_were_tried(
    done: Reproduction, tmp_path: Path
) -> None:
    other = str(fresh_seeds(release_seed(), 1)[0])
    tried = controlled(tmp_path, {other: 10.0})
    assert "Stable over seeds</th>" in render([tried], tmp_path)
    assert "Stable over seeds" not in render([done], tmp_path)


def test_a_figure_has_the_command_that_makes_it_alone(done: Reproduction) -> None:
    place = done.directory
    page = (place / "scorecard.html").read_text()
    assert f"netwarp figure {place}/one 1 -o " in page
    assert f"netwarp run {place.parent}/test-2000/one.toml --quick" in page
    assert 'download="test-2000-one.csv" href="data:text/csv;base64,' in page


def test_a_study_has_its_time(done: Reproduction, tmp_path: Path) -> None:
    runs = len(done.studies[0].executed.finished.results.runs)  # type: ignore[union-attr]
    page = render([done], tmp_path)
    assert page.count(f"<li>{runs} runs: virtual time ") == 2


def test_several_sources_are_one_page(done: Reproduction, tmp_path: Path) -> None:
    page = write_all([done, done], tmp_path)
    text = page.read_text()
    assert (page.name, text.count("What differs from the source, and why")) == ("scorecard.html", 2)
    kept = json.loads((tmp_path / "scorecard.json").read_text())
    assert [source["source"] for source in kept["sources"]] == ["test-2000"] * 2
    assert "total of 2 sources: 4 conclusions: " in total_text([done, done])


def test_what_is_to_come_is_said_beforehand(tmp_path: Path) -> None:
    prepared = prepare(load_source(write_source(tmp_path)), out=tmp_path / "out")
    whole = expected([prepared])
    assert (whole.studies, whole.runs, whole.kept) == (2, 2 * 4 * 3, 0)
    (tmp_path / "out" / "one" / "runs" / "c000-r00").mkdir(parents=True)
    rest = expected([prepared])
    assert (rest.runs, rest.kept) == (whole.runs, 1)
    assert rest.cpu_s < whole.cpu_s
    assert expected_text(rest, 2, quick=True).startswith(
        "2 studies and variants, 24 runs (1 of them kept): about "
    )
    assert expected_text(rest, 2, quick=False).endswith("8 times as long where verdicts stay open")


def test_a_study_this_machine_cannot_run_is_not_testable(tmp_path: Path) -> None:
    done = outcome(tmp_path, refuse="two")
    assert [row.result.verdict for row in done.rows][1] is ClaimVerdict.NOT_TESTABLE
    assert done.rows[1].result.found == "no <namespaces> here"
    assert not done.succeeded
    console = Console(record=True, width=80, file=io.StringIO())
    print_scorecard(done, console)
    text = console.export_text()
    assert "not run: no <namespaces> here" in text
    assert "not-testable (provisional): QUIC is sooner" in text
    assert "no &lt;namespaces&gt; here" in (tmp_path / "out" / "scorecard.html").read_text()


def test_a_study_of_which_a_part_is_not_run_says_why(tmp_path: Path) -> None:
    """The cells that were run have verdicts; a claim on the others has the reason."""
    done = outcome(tmp_path, not_run="its cells in ns-3. No network")
    executed = done.studies[0].executed
    assert executed.finished is not None
    assert executed.claims[0].verdict is not ClaimVerdict.NOT_TESTABLE
    elsewhere = executed.study.claims[0].model_copy(update={"less": {"transport": "udp"}})
    other = replace(executed.finished, given_study=replace(executed.study, claims=(elsewhere,)))
    (untested,) = replace(executed, finished=other).claims
    assert untested.found == "not run: its cells in ns-3. No network"
    compared = not_tested(elsewhere, "one replicate")
    compared = replace(compared, values={"conditions": []})
    other.__dict__["claims"] = [compared]  # what it caches
    assert replace(executed, finished=other).claims == [compared], "a reason of its own"
    assert not done.succeeded, "not all that was asked for happened"
    console = Console(record=True, width=80, file=io.StringIO())
    print_scorecard(done, console)
    assert "not run: its cells in ns-3. No network" in console.export_text()


CONTROLLED = STUDY.replace(
    'source = "test, figure 1"\n',
    'source = "test, figure 1"\nwhy = "windows"\ncontrol = "wide"\nunder_control = "higher"\n',
).replace(
    "[quick]\n",
    """[[control]]
id = "wide"
text = "windows are wide"
change = { transport.buffer = "8MB" }
[[sensitivity]]
id = "rate"
chosen = "the rate"
here = "no limit"
over = "path.rate"
levels = ["10mbit", "1gbit"]
[[sensitivity]]
id = "delay"
chosen = "the reading of the delay"
here = "a round trip"
text = "one way"
change = { path.rtt = "20ms" }
quick = false
[quick]
""",
)


def controlled(
    tmp_path: Path, values: dict[str, float], *, quick: bool = True, text: str = CONTROLLED
) -> Reproduction:
    """Do a study with variants again; QUIC takes 10 s, TCP so long by run directory and rate."""

    def run_study(
        study: Study, directory: Path, staging: Staging | None
    ) -> tuple[RunData, str | None]:
        runs = []
        for planned in plan_study(study):
            cell = planned.cell
            rate = cell.levels.get("path.rate", "")
            value = 10.0
            if cell.levels["transport"] == "tcp":
                value = values.get(f"{directory.name}{rate}", 20.0)
            seed, metrics = planned.replicate, {"completion_time_s": value}
            runs.append(
                RunResult(planned.run, cell.index, planned.replicate, seed, cell.levels, "ok",
                          None, metrics, ())
            )  # fmt: skip
        return RunData(directory, Results(tuple(runs)), {}, given_study=study), None

    source = load_source(write_source(tmp_path))
    for path in source.studies:
        path.write_text(text)
    prepared = prepare(source, out=tmp_path / "out", quick=quick, other_seeds=2)
    outcomes = outcomes_of(prepared, run_study, None)
    return Reproduction(source, prepared.directory, quick, prepared.seed, outcomes)


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


def test_stacks_that_are_not_built_are_known_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    prepared = prepare(load_sources(["kim-2022"])[0], out=tmp_path / "out", quick=True)
    assert missing_stacks([prepared]) == ["quic-go"]
    (said,) = build_stacks(["quic-go"])
    assert "what needs the stack quic-go" in said
    assert "go, which is missing" in said
    assert "not run: what needs the stack quic-go" in " ".join(capsys.readouterr().err.split())
