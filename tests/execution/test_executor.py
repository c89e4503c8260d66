"""The executor: order, resuming, failures, interruption. With a backend that needs no guest."""

from __future__ import annotations

import errno
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fake_backend import OK, FakeBackend
from netwarp import pipeline
from netwarp.backends.replay import ReplayBackend
from netwarp.errors import BackendError, NetwarpError, RunDirectoryError
from netwarp.execution import Interrupted, LocalExecutor, Unobserved, execute, kept_outcomes
from netwarp.execution.cost import Expected
from netwarp.execution.earlier_runs import measured_before, refuse_another_study
from netwarp.execution.executor import check
from netwarp.library import expected
from netwarp.plan import PlannedRun, plan_study
from netwarp.run_directory import RECORDS_FILE, RunDirectory
from netwarp.run_status import Status
from netwarp.study import Study, study_from_mapping
from netwarp.units import span_text
from netwarp.wire import Job
from older import rewrite_in_format_1


class Silent(Unobserved):
    def __init__(self) -> None:
        self.resumed: list[str] = []

    def finished(self, run: PlannedRun, status: Status, *, resumed: bool) -> None:
        if resumed:
            self.resumed.append(run.run)


def planned(transports: tuple[str, ...] = ("tcp", "quic"), replicates: int = 2) -> list[PlannedRun]:
    study = {
        "title": "t",
        "replicates": replicates,
        "path": {"rtt": "10ms"},
        "workload": {"kind": "bulk", "size": "10MB"},
        "factors": {"transport": list(transports)},
    }
    return plan_study(study_from_mapping(study))


def run_study(
    tmp_path: Path, backend: FakeBackend | ReplayBackend, plan: list[PlannedRun], jobs: int = 1
) -> tuple[dict[str, Status], Silent]:
    directory = RunDirectory(tmp_path)
    observer = Silent()
    with directory.locked():
        directory.write_plan(run.to_json() for run in plan)
        kept = kept_outcomes(plan, directory)
        outcomes = execute(
            plan, kept, backend, directory, executor=LocalExecutor(jobs), observer=observer
        )
        return {run: outcome.status for run, outcome in outcomes.items()}, observer


def test_all_runs_are_carried_out_in_the_order_of_the_plan(tmp_path: Path) -> None:
    backend = FakeBackend()
    statuses, _ = run_study(tmp_path, backend, planned())
    assert backend.ran == ["c000-r00", "c001-r00", "c000-r01", "c001-r01"]
    assert set(statuses) == set(backend.ran)
    assert (tmp_path / "runs/c001-r01" / RECORDS_FILE).is_file()


def test_a_plan_is_checked_without_making_its_jobs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hundred thousand runs are refused, or begun, in a second or two."""
    plan = planned(replicates=50)

    def made(*arguments: object) -> Job:
        raise AssertionError(f"a job was made: {arguments}")

    monkeypatch.setattr("netwarp.plan.plan.job_from_json", made)
    directory = RunDirectory(tmp_path)
    check(plan, FakeBackend(), directory)
    monkeypatch.setattr("netwarp.execution.executor.read_outcome", made)
    assert kept_outcomes(plan, directory) == {}


def test_parallel_runs_are_each_carried_out_once(tmp_path: Path) -> None:
    backend = FakeBackend()
    run_study(tmp_path, backend, planned(replicates=20), jobs=4)
    assert sorted(backend.ran) == sorted(run.run for run in planned(replicates=20))


def test_what_is_finished_is_not_done_again(tmp_path: Path) -> None:
    run_study(tmp_path, FakeBackend(), planned(replicates=1))
    again = FakeBackend()
    _, observer = run_study(tmp_path, again, planned(replicates=2))
    assert again.ran == ["c000-r01", "c001-r01"]
    assert observer.resumed == ["c000-r00", "c001-r00"]


def test_a_failed_run_does_not_stop_the_others_and_is_tried_again(tmp_path: Path) -> None:
    statuses, _ = run_study(tmp_path, FakeBackend(fails=("c001-r00",)), planned())
    assert statuses["c001-r00"].reason == "told to"
    assert statuses["c001-r01"].outcome == "ok"
    again = FakeBackend()
    statuses, _ = run_study(tmp_path, again, planned())
    assert again.ran == ["c001-r00"]
    assert statuses["c001-r00"].outcome == "ok"


def test_an_interruption_keeps_what_was_finished(tmp_path: Path) -> None:
    backend = FakeBackend(interrupts="c000-r01")
    with pytest.raises(Interrupted) as caught:
        run_study(tmp_path, backend, planned())
    assert (caught.value.finished, caught.value.planned) == (2, 4)
    assert backend.stopped.is_set()
    assert sorted(path.name for path in (tmp_path / "runs").glob("c*")) == ["c000-r00", "c001-r00"]
    again = FakeBackend()
    run_study(tmp_path, again, planned())
    assert again.ran == ["c000-r01", "c001-r01"]
    assert not list((tmp_path / "runs").glob(".*")), "what the interrupted run left is removed"


def test_a_refused_job_stops_the_study_before_anything_runs(tmp_path: Path) -> None:
    backend = FakeBackend()
    with pytest.raises(BackendError, match="it is sctp"):
        run_study(tmp_path, backend, planned(("tcp", "sctp")))
    assert backend.ran == []


def test_a_refused_study_leaves_no_directory(tmp_path: Path) -> None:
    sctp = study_from_mapping(
        {
            "title": "refused",
            "workload": {"kind": "bulk", "size": "1kB"},
            "factors": {"transport": ["sctp"]},
        }
    )
    with pytest.raises(BackendError, match="it is sctp"):
        pipeline.run(sctp, FakeBackend(), out=tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_two_writers_are_refused(tmp_path: Path) -> None:
    message = "another netwarp"
    with (
        RunDirectory(tmp_path).locked(),
        pytest.raises(RunDirectoryError, match=message),
        RunDirectory(tmp_path).locked(),
    ):
        pass


def test_where_nothing_can_be_locked_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def flock(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("netwarp.run_files.fcntl.flock", flock)
    (tmp_path / "mine").mkdir()
    for place in (tmp_path / "new" / "out", tmp_path / "mine"):
        with (
            pytest.raises(RunDirectoryError, match="No locks available"),
            RunDirectory(place).locked(),
        ):
            pass
    assert list(tmp_path.iterdir()) == [tmp_path / "mine"], "what was there before stays"


class Announced(Unobserved):
    def __init__(self) -> None:
        self.costs: list[tuple[Expected, int, bool]] = []

    def expected(self, expected: Expected, cpus: int, *, adds: bool) -> None:
        self.costs.append((expected, cpus, adds))


class InGuests(FakeBackend):
    cpu_is_free = True

    def provenance(self) -> dict[str, Any]:
        return {"kernel": {}, "endpoint": {"sha256": "0" * 64}}


def transfer(replicates: int) -> Study:
    return study_from_mapping(
        {
            "title": "t",
            "replicates": replicates,
            "path": {"rtt": "10ms"},
            "workload": {"size": "10MB"},
            "factors": {"transport": ["tcp", "quic"]},
        }
    )


def test_what_is_to_come_is_announced_and_a_dry_run_says_it_and_writes_nothing(
    tmp_path: Path,
) -> None:
    out, backend = tmp_path / "out", InGuests()
    dry = expected(transfer(2), backend=backend, out=out, jobs=2)
    assert (dry["runs"], dry["kept"], dry["cpus"], dry["adds"]) == (4, 0, 2, False)
    assert dry["text"] == f"4 runs: about {span_text(dry['wall_s'])} on 2 CPUs; into {out}"
    assert not out.exists()
    told = Announced()
    pipeline.run(transfer(2), backend, out=out, executor=LocalExecutor(2), observer=told)
    assert [(cost.cpu_s / cpus, adds) for cost, cpus, adds in told.costs] == [
        (dry["wall_s"], False)
    ]
    # What is kept is not announced again, and more replicates cost what is missing.
    pipeline.run(transfer(2), backend, out=out, observer=told)
    assert len(told.costs) == 1
    more = expected(transfer(3), backend=backend, out=out, jobs=2, decide=True)
    assert (more["runs"], more["kept"], more["adds"]) == (6, 4, True)
    assert more["wall_s"] < dry["wall_s"]
    assert "6 runs (4 of them kept)" in more["text"]
    assert "up to 8 times as long where verdicts stay open" in more["text"]


def test_a_dry_run_refuses_what_a_run_would(tmp_path: Path) -> None:
    study = replace(transfer(1), seed=5)
    pipeline.run(study, FakeBackend(), out=tmp_path)
    with pytest.raises(RunDirectoryError, match="another study"):
        expected(replace(study, seed=6), backend=FakeBackend(), out=tmp_path)


def test_a_folder_of_others_is_no_run_directory(tmp_path: Path) -> None:
    thesis = tmp_path / "home" / "thesis.tex"
    thesis.parent.mkdir()
    thesis.write_text("")
    message = "home is no run directory and has files of others .thesis.tex for one.: name with"
    with pytest.raises(RunDirectoryError, match=message):
        pipeline.run(transfer(1), FakeBackend(), out=thesis.parent)
    assert list(thesis.parent.iterdir()) == [thesis]


def test_what_an_interruption_leaves_is_a_run_directory_and_so_is_what_its_user_adds_to(
    tmp_path: Path,
) -> None:
    directory = RunDirectory(tmp_path)
    with directory.locked():
        pass
    (tmp_path / "controls").mkdir()  # where a machine ran a study's controls and not the study
    with directory.locked():
        directory.write_plan(run.to_json() for run in planned())
    (tmp_path / "notes.txt").write_text("mine")
    with directory.locked():
        pass


def test_runs_of_another_study_are_not_mixed_in(tmp_path: Path) -> None:
    run_study(tmp_path, FakeBackend(), planned())
    refuse_another_study(planned(replicates=3), RunDirectory(tmp_path))
    with pytest.raises(RunDirectoryError, match="another study"):
        refuse_another_study(planned(("tls", "quic")), RunDirectory(tmp_path))


def test_a_recorded_study_is_replayed(tmp_path: Path) -> None:
    run_study(tmp_path / "recorded", FakeBackend(), planned())
    replay = ReplayBackend(tmp_path / "recorded")
    statuses, _ = run_study(tmp_path / "again", replay, planned())
    assert replace(statuses["c001-r01"], records_sha256=None) == OK
    for run in planned():
        for name in (RECORDS_FILE, "job.json"):
            first, second = (tmp_path / d / "runs" / run.run / name for d in ("recorded", "again"))
            assert first.read_bytes() == second.read_bytes()


def test_runs_of_an_older_version_are_taken_over_and_replayed(tmp_path: Path) -> None:
    older, again = tmp_path / "older", tmp_path / "again"
    run_study(older, FakeBackend(), planned())
    rewrite_in_format_1(older)
    replay = ReplayBackend(older)
    statuses, _ = run_study(again, replay, planned())
    assert replace(statuses["c001-r01"], records_sha256=None) == OK
    with pytest.raises(RunDirectoryError, match="another study"):
        refuse_another_study(planned(("tls", "quic")), RunDirectory(older))
    refuse_another_study(planned(replicates=3), RunDirectory(older))
    backend = FakeBackend()
    statuses, observer = run_study(older, backend, planned(replicates=3))
    assert observer.resumed == [run.run for run in planned()]
    assert sorted(backend.ran) == ["c000-r02", "c001-r02"]
    assert {each.outcome for each in statuses.values()} == {"ok"}


def test_what_was_not_recorded_is_refused(tmp_path: Path) -> None:
    run_study(tmp_path / "recorded", FakeBackend(), planned())
    with pytest.raises(BackendError, match="no run of the same job"):
        run_study(tmp_path / "again", ReplayBackend(tmp_path / "recorded"), planned(("tls",)))
    with pytest.raises(BackendError, match="not a run directory"):
        ReplayBackend(tmp_path / "nothing").check(jobs=1)


def test_fewer_replicates_keep_what_was_measured_before(tmp_path: Path) -> None:
    run_study(tmp_path, FakeBackend(), planned(replicates=3))
    directory = RunDirectory(tmp_path)
    fewer = [run.to_json() for run in planned(replicates=1)]
    names = [line["run"] for line in measured_before(directory, fewer)]
    assert names == ["c000-r01", "c001-r01", "c000-r02", "c001-r02"]


def test_a_full_disk_is_refused_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=10 << 20))
    backend = FakeBackend()
    with pytest.raises(RunDirectoryError, match="10 MiB left"):
        run_study(tmp_path, backend, planned())
    assert backend.ran == []


def test_a_disk_that_gives_out_keeps_what_was_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish = RunDirectory.finish

    def give_out(self: RunDirectory, run: str, status: Status) -> None:
        if run == "c000-r01":
            raise OSError(errno.ENOSPC, "No space left on device")
        finish(self, run, status)

    monkeypatch.setattr(RunDirectory, "finish", give_out)
    with pytest.raises(NetwarpError, match="No space left on device; 2 of 4 are kept"):
        run_study(tmp_path, FakeBackend(), planned())


class Unready(FakeBackend):
    """A backend that lacks something, such as room for guests' memory."""

    def check(self, jobs: int) -> None:
        raise BackendError(f"no room for {jobs} guests")


def test_a_backend_that_is_not_ready_leaves_no_directory(tmp_path: Path) -> None:
    study = study_from_mapping(
        {"title": "t", "workload": {"size": "1kB"}, "factors": {"transport": ["tcp"]}}
    )
    with pytest.raises(BackendError, match="no room"):
        pipeline.run(study, Unready(), out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_runs_that_somebody_removed_are_not_called_kept(tmp_path: Path) -> None:
    class Removing(FakeBackend):
        def run(self, job: Job, directory: Path, **options: object) -> Status:
            status = super().run(job, directory, **options)  # type: ignore[arg-type]
            if len(self.ran) == 3:
                shutil.rmtree(tmp_path / "runs")
            return status

    with pytest.raises(NetwarpError, match="0 of 4 are kept"):
        run_study(tmp_path, Removing(), planned())
