"""Every study that is shipped can be run."""

from pathlib import Path

import pytest

from netwarp.plan import plan_study
from netwarp.sources import SOURCE_FILE, load_sources
from netwarp.study import Study, load_study
from netwarp.wire import Bulk, Flow, Page, Stream, Workload

STUDIES = sorted(
    path
    for path in (Path(__file__).parents[2] / "studies").rglob("*.toml")
    if path.name != SOURCE_FILE
)
OF_SOURCES = [path for source in load_sources(["all"]) for path in source.studies]


def test_the_starter_studies_are_there() -> None:
    assert {path.stem for path in STUDIES} >= {
        "loss-sweep",
        "rtt-sweep",
        "rate-sweep",
        "congestion-control",
        "bursty-loss",
        "handover",
        "adaptive-stream",
    }


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_a_study_states_its_question_and_plans(path: Path) -> None:
    study = load_study(path)
    assert study.question is not None
    assert study.question.endswith("?")
    assert study.figures
    assert len(plan_study(study)) == len(study.cells) * study.replicates


def test_every_study_in_a_sources_folder_is_in_its_index() -> None:
    """Except those between two real hosts, as `reproduce` has one."""
    there = {path for path in STUDIES if (path.parent / SOURCE_FILE).is_file()}
    assert {path for path in there if not path.stem.endswith("-remote")} == set(OF_SOURCES)


def work(study: Study) -> int:
    """Give what all runs of a study send (bytes, messages) or play (nanoseconds)."""
    return sum(_work_of(each.workload) for run in plan_study(study) for each in run.job.workloads)


def _work_of(workload: Workload) -> int:
    match workload:
        case Bulk():
            return workload.content.size_bytes
        case Stream():
            return workload.watch_ns
        case Flow():
            return workload.messages or 0
        case Page():
            return sum(each.body_bytes for each in workload.resources)
        case _:
            return 0


@pytest.mark.parametrize("path", OF_SOURCES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_the_quick_version_of_a_study_is_smaller_and_keeps_every_conclusion(path: Path) -> None:
    full, quick = load_study(path), load_study(path, quick=True)
    assert work(quick) < work(full) or "quick" not in full.raw
    # Levels that it does not run are not left out a second time.
    assert [claim.model_copy(update={"without": {}}) for claim in quick.claims] == [
        claim.model_copy(update={"without": {}}) for claim in full.claims
    ]
    for claim, whole in zip(quick.claims, full.claims, strict=True):
        for factor, levels in claim.without.items():
            assert set(levels) <= set(whole.without[factor])
    assert quick.figures == full.figures
    assert all(claim.source for claim in full.claims)


@pytest.mark.parametrize("path", OF_SOURCES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_the_quick_version_of_a_study_is_the_same_experiment(path: Path) -> None:
    """It has fewer replicates and levels; sizes and watch times are those of the study."""
    full, quick = load_study(path), load_study(path, quick=True)
    jobs = {tuple(cell.levels.items()): cell.template for cell in full.cells}
    for cell in quick.cells:
        assert cell.template == jobs[tuple(cell.levels.items())]


def test_bursty_levels_lose_the_same_share() -> None:
    study = load_study(next(path for path in STUDIES if path.stem == "bursty-loss"))
    planned = plan_study(study)
    shares = set()
    for run in planned:
        loss = run.job.paths[0].down.loss
        if loss.kind == "gemodel":
            shares.add(round(loss.p / (loss.p + loss.r) * loss.loss_bad, 4))
        elif loss.kind == "random":
            shares.add(loss.ratio)
    assert shares == {0.01}


def test_the_saw_tooth_climbs_from_one_to_eight_megabits_and_falls() -> None:
    study = load_study(next(path for path in STUDIES if path.stem == "adaptive-stream"))
    trace = plan_study(study)[0].job.timeline.traces[0]
    assert trace.step_ns * len(trace.rates_bit_s) == 20_000_000_000
    for step, rate_bit_s in enumerate(trace.rates_bit_s):
        assert rate_bit_s == pytest.approx(1e6 + 7e6 * (step + 0.5) / 200, abs=1.1 * 120_320)
