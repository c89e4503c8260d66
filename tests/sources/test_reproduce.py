"""Sources, and their scorecards, without any run."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

import support
from netwarp.claims import ClaimVerdict, not_tested
from netwarp.cli.preparing import build_stacks, missing_stacks, preparations
from netwarp.cli.printing import print_scorecard
from netwarp.errors import InputError, RunDirectoryError, StudyError
from netwarp.estimate.staging import Staging, TimeLimit
from netwarp.evaluation import RunData, load
from netwarp.execution.time_limits import time_limit
from netwarp.pipeline import write_outputs
from netwarp.sources import find_sources, load_source, load_sources
from netwarp.sources.page import render
from netwarp.sources.preparation import expected, prepare
from netwarp.sources.reproduce import reproduce_document, to_json, write_all
from netwarp.sources.reproduction import Reproduction
from netwarp.sources.scorecard import expected_text, score_text, total_text
from netwarp.sources.seeds import fresh_seeds, release_seed
from netwarp.study import Study, load_study
from netwarp.study.overrides import apply_quick
from sources.made_source import controlled, outcome, printed, write_source


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


def test_stacks_that_are_not_built_are_known_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    prepared = prepare(load_sources(["kim-2022"])[0], out=tmp_path / "out", quick=True)
    assert missing_stacks([prepared]) == ["quic-go"]
    (ahead,) = preparations([prepared])
    assert ahead.startswith("cannot run what needs the stack quic-go: ")
    assert "built by go, which is missing: install Go" in ahead
    (said,) = build_stacks(["quic-go"])
    assert "what needs the stack quic-go" in said
    assert "go, which is missing" in said
    assert "not run: what needs the stack quic-go" in " ".join(capsys.readouterr().err.split())


def test_programs_that_are_missing_are_known_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("netwarp.backends.needs.GUEST_PATH", str(tmp_path))
    prepared = prepare(load_sources(["nam-2021"])[0], out=tmp_path / "out", quick=True)
    said = [line for line in preparations([prepared]) if "the program" in line]
    assert [line.split(":")[0] for line in said] == [
        "cannot run what needs the program caddy",
        "cannot run what needs the program chromium",
    ]
    assert all("apt-get install" in line for line in said)
