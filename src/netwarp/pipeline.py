"""The whole of netwarp as one flow: study → cells → jobs → backend → records → results → report."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

from netwarp.backends.base import Backend
from netwarp.claims.open_questions import cells_to_repeat
from netwarp.errors import BackendError, RunDirectoryError
from netwarp.estimate.staging import LOOKS, Staging
from netwarp.execution import Interrupted, Observer, execute
from netwarp.execution.provenance import provenance
from netwarp.machine.load import CpuTimes, cpu_times, others_share
from netwarp.machine.speed import stored_speed
from netwarp.metrics import metrics_from_records
from netwarp.plan import PlannedRun, plan_study
from netwarp.results import Results, from_plan
from netwarp.results.rundata import criteria_of
from netwarp.run_directory import RECORDS_FILE, RunDirectory, write_json
from netwarp.study import Study
from netwarp.wire import job_from_json, read_records

SUMMARY_FILE = "summary.json"
DEFAULT_PARENT = Path("netwarp-out")


@dataclass(frozen=True)
class Request:
    """How a study is to be carried out."""

    backend: Backend
    out: Path | None
    jobs: int
    filters: Sequence[str]
    command_line: Sequence[str]
    staging: Staging | None = None
    """How replicates are added until something is decided; None: as many as the study says."""


@dataclass(frozen=True)
class StudyRun:
    """What came of a study."""

    directory: RunDirectory
    results: Results
    summary: dict[str, Any]


def run_study(study: Study, request: Request, observer: Observer) -> StudyRun:
    """Plan a study, run what has not run yet, and evaluate it.

    Raises:
        StudyError: before anything runs.
        BackendError: before anything runs.
        RunDirectoryError: before anything runs, or when the disk gives out.
        Interrupted: on Ctrl-C; what had finished is kept.
    """
    plan = plan_study(study, filters=request.filters)
    directory = RunDirectory(request.out or default_directory(study, plan, request.backend.name))
    with directory.locked():
        refuse_another_study(plan, directory)
        describe(study, plan, request, directory)
        started_s, cpus_before = time.monotonic(), cpu_times()
        observer.planned(len(plan), request.backend.clock)
        try:
            execute(plan, request.backend, directory, jobs=request.jobs, observer=observer)
            add_replicates(study, plan, request, directory, observer)
        except Interrupted:
            note_times(directory, time.monotonic() - started_s, cpus_before)
            raise
        finally:
            observer.ended()
        note_times(directory, time.monotonic() - started_s, cpus_before)
        return evaluate(directory)


def add_replicates(
    study: Study,
    plan: Sequence[PlannedRun],
    request: Request,
    directory: RunDirectory,
    observer: Observer,
) -> None:
    """Run more replicates of the cells that need them, stage by stage, where that was asked for."""
    if request.staging is None:
        return
    done = list(plan)
    for before, size in pairwise(request.staging.sizes(study.replicates)):
        wanted = cells_to_repeat(study, collect(directory), request.staging)
        if not wanted:
            return
        more = [
            run
            for run in plan_study(replace(study, replicates=size), filters=request.filters)
            if run.cell.index in wanted and run.replicate >= before
        ]
        done += more
        planned = [run.to_json() for run in done]
        directory.write_plan([*planned, *measured_before(directory, planned)])
        observer.added(len(more))
        execute(more, request.backend, directory, jobs=request.jobs, observer=observer)


def evaluate(directory: RunDirectory) -> StudyRun:
    """Make results, figures, summary and report from what a run directory holds."""
    from netwarp.output.summary import summarise
    from netwarp.report import write_report
    from netwarp.results.parquet import RESULTS_FILE, write_results

    results = collect(directory)
    write_results(results, directory.path / RESULTS_FILE)
    summary = summarise(directory.path)
    write_json(directory.path / SUMMARY_FILE, summary)
    write_report(directory.path)
    return StudyRun(directory, results, summary)


def collect(directory: RunDirectory) -> Results:
    """Read all finished runs: records → metrics, joined with the plan.

    Raises:
        RunDirectoryError: no study was planned here.
    """
    lines = directory.plan_lines()
    if not lines:
        raise RunDirectoryError(
            f"{directory.path} is not a run directory (no plan.jsonl):"
            " name one that `netwarp run` made"
        )
    outcomes = {}
    metrics = {}
    for line in lines:
        status = directory.status(line["run"])
        if status is None:
            continue
        outcomes[line["run"]] = (status.outcome, status.reason)
        if status.outcome == "ok":
            metrics[line["run"]] = _metrics(directory.run_path(line["run"]))
    return from_plan(lines, outcomes, metrics, criteria_of(directory))


def _metrics(path: Path) -> dict[str, float]:
    job = job_from_json((path / "job.json").read_text(), str(path / "job.json"))
    return metrics_from_records(job, read_records(path / RECORDS_FILE))


def describe(
    study: Study, plan: Sequence[PlannedRun], request: Request, directory: RunDirectory
) -> None:
    """Write down what is going to be run, before it is."""
    source = Path(study.file)
    if source.is_file():
        directory.study_toml.write_bytes(source.read_bytes())
    write_json(directory.study_json, study.raw)
    planned = [run.to_json() for run in plan]
    directory.write_plan([*planned, *measured_before(directory, planned)])
    earlier = _read(directory.provenance_file)
    now = provenance(study, request.backend, request.command_line, request.jobs)
    if request.backend.name == "virtual":
        now["speed"] = stored_speed(now["endpoint"]["sha256"], now["host"]["cpu"])
    # Resumed: what is measured already keeps the programs that measured it, so they must agree.
    for part in ("kernel", "endpoint"):
        if earlier and earlier.get(part) != now.get(part) and any(directory.runs.iterdir()):
            raise RunDirectoryError(
                f"{directory.path} was begun with another {part} than today's, and one result must"
                " come from one: start afresh with --out DIR, or remove it"
            )
    now["virtual_s"] = earlier.get("virtual_s", 0.0)
    now["wall_s"] = earlier.get("wall_s", 0.0)
    now |= {key: earlier[key] for key in ("other_work",) if key in earlier}
    now["looks"] = LOOKS if request.staging is not None else earlier.get("looks", 1)
    write_json(directory.provenance_file, now)


def measured_before(
    directory: RunDirectory, planned: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Lines of an earlier plan whose runs are kept and are not planned again."""
    names = {line["run"] for line in planned}
    kept = directory.kept_runs()
    lines = directory.plan_lines()
    return [line for line in lines if line["run"] in kept and line["run"] not in names]


def note_times(directory: RunDirectory, wall_s: float, cpus_before: CpuTimes) -> None:
    """Note what all executions into a directory took, and the time its runs cover.

    Args:
        directory: with its provenance written.
        wall_s: what this execution took.
        cpus_before: the machine's CPU times when it began.
    """
    noted = _read(directory.provenance_file)
    statuses = [directory.status(run) for run in directory.kept_runs()]
    noted["virtual_s"] = sum(status.virtual_s for status in statuses if status is not None)
    noted["wall_s"] += wall_s
    if noted.get("clock") == "real":
        others = others_share(cpus_before, cpu_times())
        noted["other_work"] = max(others, noted.get("other_work", 0.0))
    write_json(directory.provenance_file, noted)


def refuse_another_study(plan: Sequence[PlannedRun], directory: RunDirectory) -> None:
    """See that a directory holds no run that the plan has differently.

    More replicates or cells are welcome, fewer too: what was measured before stays in the results.

    Raises:
        RunDirectoryError: a run of the same name did something else.
    """
    before = {line["run"]: line["job_sha256"] for line in directory.plan_lines()}
    planned = {run.run: run.job_sha256 for run in plan}
    differs = {
        run for run in directory.kept_runs() if run in planned and before.get(run) != planned[run]
    }
    if differs:
        raise RunDirectoryError(
            f"{directory.path} holds runs of another study ({min(differs)} for one):"
            " choose another place with --out DIR, or remove it"
        )


def default_directory(study: Study, plan: Sequence[PlannedRun], backend: str = "virtual") -> Path:
    """Name a directory after what is run where, so that the same command finds its own again."""
    # More replicates of the same study go to the same place.
    raw = {key: value for key, value in study.raw.items() if key != "replicates"}
    what = json.dumps([raw, sorted({run.cell.index for run in plan})], sort_keys=True)
    stem = Path(study.file).stem
    place = "-native" if backend == "native" else ""
    return DEFAULT_PARENT / f"{stem}-{sha256(what.encode()).hexdigest()[:8]}{place}"


def jobs_for(backend: Backend, asked: int | None) -> int:
    """Choose how many runs go at a time: as many as asked for, else one per CPU.

    Raises:
        BackendError: several at a time where they would disturb each other.
    """
    if not backend.one_at_a_time:
        return asked or len(os.sched_getaffinity(0))
    if asked is not None and asked > 1:
        raise BackendError(
            f"--jobs {asked}: runs of the {backend.name} backend share this machine's CPUs and"
            " would slow each other down: leave it away, they go one at a time"
        )
    return 1


def _read(path: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(path.read_text())
    except FileNotFoundError:
        return {}
    return content
