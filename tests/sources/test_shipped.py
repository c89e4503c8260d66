"""Studies that come with netwarp: listed with their questions, and run by name."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from netwarp.claims.too_few import least_for_comparisons
from netwarp.cli.program import app
from netwarp.errors import InputError, StudyError
from netwarp.sources import find_sources, load_sources
from netwarp.sources.preparation import prepare
from netwarp.sources.shipped import question_of, shipped_studies, study_named
from netwarp.sources.variants import not_run_text
from netwarp.study import Study, load_study
from netwarp.study.claims import Claim

SOURCES = sorted(find_sources())
WHOSE = ("ours", "taken as", "bound", "up to", "about")
"""Words by which `claimed` says that a threshold is a choice, or which number it comes from."""


def test_run_says_that_it_leaves_controls_alone_and_what_runs_them(tmp_path: Path) -> None:
    path = study_named(Path("park-2008/fig-4"))
    study = load_study(path)
    assert study.controls
    assert not_run_text(study).endswith("`netwarp reproduce park-2008` runs them")
    assert f"{len(study.controls)} control" in not_run_text(study)
    alone = tmp_path / "alone.toml"
    alone.write_text(path.read_text())
    assert "where a source.toml beside the study names it" in not_run_text(load_study(alone))


@pytest.mark.parametrize("name", sorted(shipped_studies()))
def test_a_study_to_start_from_has_the_replicates_that_its_table_takes(name: str) -> None:
    study = load_study(shipped_studies()[name])
    assert study.replicates >= least_for_comparisons(study)


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_dry_run_of_a_source_says_what_is_to_come_and_writes_nothing(
    tmp_path: Path, options: list[str]
) -> None:
    command = ["reproduce", "tso-2021", "--quick", "--dry-run", "--jobs", "4", *options]
    answer = CliRunner().invoke(app, [*command, "--out", str(tmp_path / "out")])
    assert answer.exit_code == 0, answer.output
    said = json.loads(answer.stdout)["text"] if options else answer.stdout.strip()
    # Further lines name what is installed before, where it is not there.
    first, *_ = said.splitlines()
    assert re.fullmatch(r"\d+ studies and variants, \d+ runs: about .* on 4 CPUs", first)
    assert not (tmp_path / "out").exists()


def test_every_shipped_study_has_a_question_and_is_one() -> None:
    found = shipped_studies()
    assert {"loss-sweep", "rtt-sweep", "handover"} <= set(found)
    for path in found.values():
        assert question_of(path).endswith("?")
        assert load_study(path).cells


def test_a_study_is_found_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert study_named(Path("loss-sweep")).name == "loss-sweep.toml"
    (tmp_path / "loss-sweep").mkdir()  # such as a run directory
    assert study_named(Path("loss-sweep")).name == "loss-sweep.toml"
    (tmp_path / "rtt-sweep").write_text("mine")
    assert study_named(Path("rtt-sweep")) == Path("rtt-sweep")
    assert study_named(Path()) == Path()
    assert study_named(Path("mine.toml")) == Path("mine.toml")  # its reader says it is missing


def test_a_study_of_a_source_has_the_name_of_both() -> None:
    found = study_named(Path("park-2008/fig-3"))
    assert (found.parent.name, found.name) == ("park-2008", "fig-3.toml")
    with pytest.raises(InputError, match='did you mean "park-2008/fig-3"'):
        study_named(Path("park-2008/fig-03"))
    assert study_named(Path("../park-2008")) == Path("../park-2008")


def test_a_name_that_is_none_is_refused_with_the_nearest() -> None:
    with pytest.raises(InputError, match='no study of this name: did you mean "loss-sweep"'):
        study_named(Path("los-sweep"))


def test_the_list_says_what_each_study_asks() -> None:
    listed = CliRunner().invoke(app, ["studies"])
    assert listed.exit_code == 0
    assert len(listed.stdout.splitlines()) == len(shipped_studies())
    assert all(line.endswith("?") for line in listed.stdout.splitlines())
    rows = json.loads(CliRunner().invoke(app, ["studies", "--json"]).stdout)["studies"]
    assert {row["name"] for row in rows} == set(shipped_studies())


@pytest.mark.parametrize("source", ["kim-2022", "nam-2021"])
def test_a_source_has_its_own_quic_whose_verdicts_say_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("NETWARP_STACKS", raising=False)
    study = load_study(study_named(Path(source) / "quic-go"))
    assert all("quic-go" in claim.text for claim in study.claims)
    stacks = {stack.name for cell in study.cells if (stack := cell.sections.transport.stack)}
    assert stacks == {"quic-go"}, "planned also where it is not built: then it is not testable"


def test_a_hypothesis_of_ours_does_not_name_the_publication_as_who_says_so() -> None:
    misplaced = [
        f"{study.file}: {claim.id}"
        for study, claim in _claims_of_sources()
        if claim.authors == (claim.source or "").startswith("ours")
    ]
    assert misplaced == []


def test_a_threshold_under_the_authors_name_says_whose_it_is() -> None:
    silent = [
        f"{study.file}: {claim.id}"
        for study, claim in _claims_of_sources()
        if claim.authors
        and _thresholds(claim)
        and not any(word in (claim.claimed or "") for word in WHOSE)
    ]
    assert silent == []


@pytest.mark.parametrize("source", SOURCES)
def test_each_variant_of_a_source_can_be_planned_and_finds_cells_for_its_claims(
    source: str,
) -> None:
    prepared = prepare(load_sources([source])[0])
    for each in prepared.studies:
        for study, place in each.executions():
            for claim in study.claims:
                assert claim.not_testable or _has_cells(study, claim), f"{place}: {claim.id}"


def test_quick_leaves_out_the_studies_that_have_no_smaller_version(tmp_path: Path) -> None:
    source = load_sources(["rfc-9438"])[0]
    quick, full = (
        {each.name for each in prepare(source, out=tmp_path, quick=is_quick).studies}
        for is_quick in (True, False)
    )
    assert "linux-1e-6" in full
    assert full - quick == set(source.index.not_quick)


def test_a_study_that_quick_leaves_out_is_one_of_the_source(tmp_path: Path) -> None:
    texts = dict.fromkeys(("title", "authors", "published", "method", "differs"), "it")
    lines = [f'{key} = "{text}"' for key, text in texts.items()]
    lines += ['studies = ["one"]', 'not_quick = ["oen"]']
    (tmp_path / "source.toml").write_text("\n".join(lines))
    (tmp_path / "one.toml").write_text("")
    with pytest.raises(StudyError, match='did you mean "one"'):
        load_sources([f"{tmp_path}/"])


def _claims_of_sources() -> list[tuple[Study, Claim]]:
    studies = [load_study(path) for source in load_sources(SOURCES) for path in source.studies]
    return [(study, claim) for study in studies for claim in study.claims]


def _thresholds(claim: Claim) -> bool:
    is_equality = any((claim.equal, claim.flat_over, claim.linear_over, claim.stays_over))
    shares = (claim.by_at_least, claim.by_at_most, claim.up_to)
    return is_equality or any(shares)


def _has_cells(study: Study, claim: Claim) -> bool:
    """Whether the study has a cell for both sides of a claim, at levels that are not left out."""
    both = claim.equal or [side for side in (claim.less, claim.than) if side is not None] or [{}]
    return all(
        any(
            all(cell.levels[f] == level for f, level in {**claim.where, **side}.items())
            and not any(cell.levels[f] in levels for f, levels in claim.without.items())
            for cell in study.cells
        )
        for side in both
    )
