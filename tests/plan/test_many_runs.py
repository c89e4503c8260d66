"""A hundred thousand runs are planned by doing little for each: counted here, not timed."""

from __future__ import annotations

import gc
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from netwarp import wire
from netwarp.collector import paused_collector
from netwarp.errors import StudyError
from netwarp.plan import plan_study
from netwarp.plan.job_text import JobWriter
from netwarp.study import load_study, study_from_mapping
from netwarp.study.cells.cell_transport import CellTransport
from netwarp.study.sections.paths import PathSection
from netwarp.wire import job_from_json, job_sha256, job_to_json
from netwarp.workloads.bulk.section import BulkSection
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
    assert {quality.name for quality in run.job.only.workload.qualities} == set(named)  # type: ignore[union-attr]


def _work(monkeypatch: pytest.MonkeyPatch, study: dict[str, Any]) -> Counter[str]:
    """Count what planning a study does that costs more than to look something up."""
    done: Counter[str] = Counter()
    plan_study(study_from_mapping(tables("tcp")))  # what is made once for all studies

    def count(owner: type, name: str, what: str) -> None:
        original = getattr(owner, name)

        def counted(*arguments: Any, **options: Any) -> Any:
            done[what] += 1
            return original(*arguments, **options)

        patch.setattr(owner, name, counted)

    with monkeypatch.context() as patch:
        count(PathSection, "model_validate", "paths validated")
        count(CellTransport, "model_validate", "transports validated")
        count(BulkSection, "model_validate", "workloads validated")
        for checked in (wire.Job, wire.Path):
            count(checked, "of_checked", f"{checked.__name__} made")
        count(JobWriter, "_path", "Path written")
        for part in (wire.Transport, wire.Bulk, wire.Timeline, wire.Limits):
            count(part, "__init__", f"{part.__name__} made")
            count(part, "model_dump", f"{part.__name__} written")
        plan = plan_study(study_from_mapping(study))
    assert len({run.job_sha256 for run in plan}) == len(plan)
    return done


def test_work_grows_with_cells_and_not_with_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    done = _work(monkeypatch, tables("tcp", **MANY))
    assert done == {
        "paths validated": 50,
        "transports validated": 2,
        "workloads validated": 1,
        "Job made": 100,
        "Path made": 100,
        "Transport made": 2,
        "Bulk made": 1,
        "Limits made": 1,
        "Path written": 100,
        "Transport written": 2,
        "Bulk written": 1,
        "Timeline written": 1,
        "Limits written": 1,
    }


def test_a_level_costs_what_it_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of ten thousand levels of one key, each makes its own path, and shares all the rest."""

    def work(levels: int) -> Counter[str]:
        delays = [f"{delay_us}us" for delay_us in range(1, levels + 1)]
        return _work(
            monkeypatch,
            tables("tcp", factors={"path.rtt": delays, "transport": ["tcp"]}, replicates=1),
        )

    small, large = work(10), work(40)
    each = {"paths validated": 1, "Job made": 1, "Path made": 1, "Path written": 1}
    assert large - small == {what: 30 * times for what, times in each.items()}


def test_the_collector_is_paused_while_a_study_is_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would go through all cells again and again, and find nothing to free."""
    collects: list[bool] = []
    for part, name in ((wire.Path, "of_checked"), (JobWriter, "_path")):
        original = getattr(part, name)

        def noticed(*arguments: Any, original: Any = original, **options: Any) -> Any:
            collects.append(gc.isenabled())
            return original(*arguments, **options)

        monkeypatch.setattr(part, name, noticed)
    plan_study(study_from_mapping(tables("tcp")))
    assert collects == [False, False]
    with pytest.raises(StudyError):
        study_from_mapping(tables("no transport"))
    assert gc.isenabled()


def test_what_was_made_meanwhile_is_not_gone_through_as_young() -> None:
    with paused_collector():
        made = [[each] for each in range(1000)]
    young = {id(each) for each in gc.get_objects(generation=0)}
    assert not young & {id(each) for each in made}


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
