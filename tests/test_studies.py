"""Every study that is shipped can be run."""

from pathlib import Path

import pytest

from netwarp.plan import plan_study
from netwarp.study import load_study

STUDIES = sorted((Path(__file__).parents[1] / "studies").rglob("*.toml"))


def test_the_starter_studies_are_there() -> None:
    assert {path.stem for path in STUDIES} >= {
        "loss-sweep",
        "rtt-sweep",
        "rate-sweep",
        "congestion-control",
        "bursty-loss",
    }


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_a_study_states_its_question_and_plans(path: Path) -> None:
    study = load_study(path)
    assert study.question is not None
    assert study.question.endswith("?")
    assert study.figures
    assert len(plan_study(study)) == len(study.cells) * study.replicates


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
