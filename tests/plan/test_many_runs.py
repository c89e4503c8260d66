"""A hundred thousand runs are planned by doing little for each: counted here, not timed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from netwarp.plan import plan_study
from netwarp.study import load_study, study_from_mapping
from netwarp.study.sections.paths import PathSection
from netwarp.wire import Job, job_from_json, job_sha256, job_to_json
from support import tables

STUDIES = sorted((Path(__file__).parents[2] / "studies").rglob("*.toml"))
MANY: dict[str, Any] = {
    "replicates": 200,
    "factors": {
        "transport": ["tcp", "quic"],
        "path.loss": [f"{permille / 10}%" for permille in range(50)],
    },
}


@pytest.mark.parametrize(
    "path", [path for path in STUDIES if path.name != "source.toml"], ids=lambda path: path.stem
)
def test_what_is_written_and_hashed_is_the_job(path: Path) -> None:
    """The text with its slots filled is what the job itself would be written as."""
    for run in plan_study(load_study(path, quick=True), size_of=lambda _: 1000):
        assert job_to_json(job_from_json(run.job_json)) == run.job_json
        assert job_to_json(run.job) == run.job_json
        assert job_sha256(run.job) == run.job_sha256
        assert run.job.run == run.run


def test_no_text_of_a_job_is_taken_for_a_slot() -> None:
    named = {'\\ud800run"': "1MB", '"\\ud800content"': "2MB", "\\": "3MB"}
    workload = {"kind": "stream", "qualities": named}
    (run,) = plan_study(study_from_mapping(tables("tcp", workload=workload)))
    assert job_to_json(run.job) == run.job_json
    assert {quality.name for quality in run.job.workload.qualities} == set(named)  # type: ignore[union-attr]


def test_work_grows_with_cells_and_not_with_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    done: Counter[str] = Counter()
    validate, dump = PathSection.model_validate, Job.model_dump

    def counted_validate(*arguments: Any, **options: Any) -> PathSection:
        done["paths validated"] += 1
        return validate(*arguments, **options)

    def counted_dump(self: Job, **options: Any) -> dict[str, Any]:
        done["jobs written"] += 1
        return dump(self, **options)

    monkeypatch.setattr(PathSection, "model_validate", counted_validate)
    monkeypatch.setattr(Job, "model_dump", counted_dump)
    plan = plan_study(study_from_mapping(tables("tcp", **MANY)))
    assert len({run.job_sha256 for run in plan}) == len(plan) == 2 * 50 * 200
    assert done == {"paths validated": 50, "jobs written": 100}


def test_a_long_timeline_is_gone_through_and_not_searched() -> None:
    """How often entries are looked at grows with their number, not with its square."""

    def looks(count: int) -> int:
        seen = 0

        class Watched(tuple):  # type: ignore[type-arg]
            def __iter__(self) -> Any:
                nonlocal seen
                for each in super().__iter__():
                    seen += 1
                    yield each

        entries = [
            {"at": f"{ms}ms", "change": "restore" if ms % 2 else "outage"} for ms in range(count)
        ]
        section = PathSection.model_validate({"rtt": "10ms", "timeline": entries})
        fresh = section.model_copy(update={"timeline": Watched(section.timeline)})
        fresh.__dict__.pop("may_hand_over", None)
        fresh.__dict__.pop("events", None)
        fresh._refuse_impossible_timelines()  # type: ignore[operator]
        return seen

    assert looks(200) == 2 * looks(100)
