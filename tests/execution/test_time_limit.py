"""Replicates that are added until something is decided, or until a time limit is reached."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from fake_backend import FakeBackend
from netwarp import pipeline
from netwarp.estimate.staging import Staging, TimeLimit
from netwarp.evaluation import RunData
from netwarp.execution import Unobserved
from netwarp.output.summary import summary
from netwarp.run_directory import RECORDS_FILE
from netwarp.run_status import Status
from netwarp.study import Study, study_from_mapping
from netwarp.wire import Job, record_to_json
from support import records_of


class Wavering(FakeBackend):
    """Gives times that no few replicates decide between: who is ahead goes with the replicate."""

    def run(
        self, job: Job, directory: Path, *, slot: int, on_progress: Callable[[float], None]
    ) -> Status:
        status = super().run(job, directory, slot=slot, on_progress=on_progress)
        replicate = int(job.run.rpartition("r")[2])
        even = "tcp" if replicate % 2 else "quic"
        levels = {"transport": "tcp", "path.loss": "0%", "path.rtt": "50ms"}
        if job.only.transport.kind == even:
            levels["path.rtt"] = "200ms"
        records = records_of(job, levels, 0, failed=False)
        text = "".join(record_to_json(record) + "\n" for record in records)
        (directory / RECORDS_FILE).write_text(text)
        return status


class Told(Unobserved):
    def __init__(self) -> None:
        self.limits_s: list[float] = []
        self.runs = 0

    def planned(self, runs: int, clock: Any) -> None:
        del clock
        self.runs = runs

    def added(self, runs: int) -> None:
        self.runs += runs

    def limited(self, limit: TimeLimit) -> None:
        assert not limit.is_share
        self.limits_s.append(limit.length_s)


def study() -> Study:
    return study_from_mapping(
        {
            "title": "t",
            "replicates": 2,
            "path": {"rtt": "10ms"},
            "workload": {"kind": "bulk", "size": "10MB"},
            "factors": {"transport": ["tcp", "quic"]},
        }
    )


def run(tmp_path: Path, limit: TimeLimit | None) -> tuple[RunData, Told]:
    told = Told()
    staging = Staging(precision=0.01, limit=limit)
    data = pipeline.run(study(), Wavering(), out=tmp_path / "out", staging=staging, observer=told)
    return data, told


def test_without_a_limit_the_stages_come_to_their_end(tmp_path: Path) -> None:
    data, told = run(tmp_path, None)
    assert len(data.results.runs) == told.runs == 2 * 16
    assert (data.limit_text, told.limits_s) == (None, [])
    assert summary(data)["runs_left_by_time_limit"] == []


def test_past_the_limit_every_cell_still_has_its_first_replicates(tmp_path: Path) -> None:
    data, told = run(tmp_path, TimeLimit(600, until_s=0))
    assert len(data.results.runs) == told.runs == 2 * 2
    assert told.limits_s == [600]
    assert "10 min" in (data.limit_text or "")
    assert "--max-time" in (data.limit_text or "")
    left = ["c000-r02", "c000-r03", "c001-r02", "c001-r03"]
    assert sorted(summary(data)["runs_left_by_time_limit"]) == left
    assert (summary(data)["runs_planned"], summary(data)["runs_not_done"]) == (4, [])


def test_a_stage_under_way_ends_with_the_run_that_is_under_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clock that counts the questions: the limit falls into the first stage that is added."""
    seconds = count()
    monkeypatch.setattr("netwarp.pipeline.time.monotonic", lambda: float(next(seconds)))
    limit = TimeLimit(1, until_s=5)
    data, told = run(tmp_path, limit)
    assert 2 * 2 < len(data.results.runs) < 2 * 4
    assert len(data.results.runs) == told.runs
    assert len((tmp_path / "out" / "plan.jsonl").read_text().splitlines()) == told.runs
    assert told.limits_s == [1]
    done = {each.run for each in data.results.runs}
    left = summary(data)["runs_left_by_time_limit"]
    assert not done & set(left)
    assert len(done) + len(left) == 2 * 4


def test_the_same_command_with_more_time_goes_on(tmp_path: Path) -> None:
    run(tmp_path, TimeLimit(1, until_s=0))
    data, _ = run(tmp_path, None)
    assert len(data.results.runs) == 2 * 16
    assert data.limit_text is None
    assert summary(data)["runs_left_by_time_limit"] == []
