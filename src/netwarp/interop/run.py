"""Runs the studies of a grid, case by case, and judges their runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from netwarp import pipeline
from netwarp.backends.base import Backend
from netwarp.errors import BackendError, RecordError
from netwarp.execution import Executor, Observer, run_job
from netwarp.interop.checks import check, kbit_s
from netwarp.interop.grid import Field, Grid, Judged
from netwarp.interop.packets import AT_SERVER, CAPTURE, datagrams, require_tshark
from netwarp.interop.plan import Asked, label
from netwarp.interop_cases import CaseName
from netwarp.plan import plan_study
from netwarp.regular_files import is_there
from netwarp.results.results import RunResult
from netwarp.run_directory import RECORDS_FILE, RunDirectory
from netwarp.run_files import read_text, remove, write_json
from netwarp.wire import Program, read_records

UNSUPPORTED_STATUS = 127
"""Exit status with which a program says that it does not support a test case."""

CHECKS = 3
"""Version of the checks: runs that failed by an earlier version are judged again."""


def run_grid(
    asked: Asked,
    backend: Backend,
    executor: Executor,
    out: Path,
    *,
    at_a_time: int,
    observer: Observer | None = None,
    on_case: Callable[[CaseName], None] = lambda _: None,
) -> Grid:
    """Carry out the runs of a grid that are not kept, and judge them.

    Args:
        asked: what the grid consists of.
        backend: where the runs are carried out.
        executor: decides on which CPUs runs are carried out.
        out: the directory with a run directory for each case; runs in it are kept.
        at_a_time: number of captures that are read at a time.
        observer: notified about every run.
        on_case: called with each case before it is run.

    Raises:
        BackendError: tshark is missing, or the backend is not ready.
        StudyError: a pair cannot be planned.
        RunDirectoryError: a directory contains something else.
        Interrupted: on Ctrl-C; the same call continues from there.
    """
    require_tshark()
    fields = {}
    for case in asked.cases:
        on_case(case)
        runs = _run_case(asked, case, (backend, executor, observer), out, at_a_time)
        for client, server in asked.pairs:
            cannot = asked.missing.get(client) or asked.missing.get(server)
            own = tuple(runs.get(label(client, server), ()))
            fields[client, server, case] = Field(client, server, case, own, cannot)
    return Grid(asked, fields)


def repeat(asked: Asked, case: CaseName, pattern: int, backend: Backend, out: Path) -> list[Judged]:
    """Repeat the runs of all pairs with one loss pattern, and keep captures, keys and logs.

    Args:
        asked: what the grid consists of.
        case: the test case.
        pattern: number of the loss pattern's seed, counted from 1.
        backend: where the runs are carried out.
        out: the directory with a directory for each run, which replaces an earlier one.

    Raises:
        BackendError: tshark is missing, or the backend is not ready.
        StudyError: a pair cannot be planned.
        OSError: a directory cannot be created.
    """
    require_tshark()
    study = replace(asked, seeds=pattern).study(case)
    judged = []
    for planned in plan_study(study) if study is not None else ():
        if planned.replicate != pattern - 1:
            continue
        place = out / f"{planned.cell.levels['transport']}-{case}-{pattern}"
        remove(place)
        place.parent.mkdir(parents=True, exist_ok=True)
        outcome = run_job(backend, planned.job, place)
        found = _judgement(case, place, outcome.status.reason if outcome.failed else None)
        judged.append(Judged(place.name, pattern, **found))
    return judged


def _run_case(
    asked: Asked,
    case: CaseName,
    how: tuple[Backend, Executor, Observer | None],
    out: Path,
    at_a_time: int,
) -> dict[str, list[Judged]]:
    """Return the judged runs of a test case, by the label of their pair."""
    study = asked.study(case)
    if study is None:
        return {}
    backend, executor, observer = how
    data = pipeline.run(study, backend, out=out / case, executor=executor, observer=observer)
    known_file = out / f"{case}.json"
    known = json.loads(read_text(known_file)) if is_there(known_file) else {}
    judge = partial(_judge, case, data.kept, known)
    with ThreadPoolExecutor(at_a_time) as threads:
        entries = list(threads.map(judge, data.results.runs))
    of_runs = list(zip(data.results.runs, entries, strict=True))
    write_json(known_file, {run.run: entry for run, entry in of_runs})
    by_pair: dict[str, list[Judged]] = {}
    for run, entry in of_runs:
        pair = run.factors.get("transport") or label(*asked.pairs[0])
        found = (entry["wrong"], entry["kbit_s"], entry["is_unsupported"])
        one = Judged(run.run, run.replicate + 1, *found)
        by_pair.setdefault(pair, []).append(one)
    return by_pair


def _judge(
    case: CaseName, directory: RunDirectory, known: Mapping[str, Any], run: RunResult
) -> dict[str, Any]:
    """Return the judgement on a run. An earlier judgement is reused if it was made from the same
    records.

    The capture of a run in which nothing was wrong is removed: with many seeds, captures would fill
    a disk.
    """
    status = directory.status(run.run)
    sha256 = None if status is None else status.records_sha256
    before = known.get(run.run)
    if before is not None and before["records_sha256"] == sha256 and _still_holds(before):
        return {"is_unsupported": False, **before}
    failure = run.reason if run.outcome == "failed" else None
    entry = _judgement(case, directory.run_path(run.run), failure)
    if entry["wrong"] is None:
        remove(directory.run_path(run.run) / CAPTURE)
    return {**entry, "records_sha256": sha256, "checks": CHECKS}


def _still_holds(entry: Mapping[str, Any]) -> bool:
    """Return whether an earlier judgement is still valid."""
    return entry["wrong"] is None or entry.get("checks") == CHECKS


def _judgement(case: CaseName, run: Path, failure: str | None) -> dict[str, Any]:
    """Return the judgement on a run as an object: what was wrong, else the goodput."""
    if failure is not None:
        return {"wrong": failure, "kbit_s": None, "is_unsupported": is_unsupported(run)}
    try:
        sent = datagrams(run)
        at_server = datagrams(run, AT_SERVER) if case == "amplificationlimit" else []
    except (BackendError, OSError, ValueError) as error:
        unreadable = f"its packets could not be read: {error}"
        return {"wrong": unreadable, "kbit_s": None, "is_unsupported": False}
    wrong = check(case, sent, at_server)
    goodput_kbit_s = kbit_s(case, sent) if wrong is None else None
    return {"wrong": wrong, "kbit_s": goodput_kbit_s, "is_unsupported": False}


def is_unsupported(run: Path) -> bool:
    """Return whether a program of a failed run exited with the status for a test case that it does
    not support.

    Args:
        run: the run's directory; missing or damaged records count as no.
    """
    try:
        records = read_records(run / RECORDS_FILE)
    except RecordError:
        return False
    programs = (each for each in records if isinstance(each, Program))
    return any(each.exit_status == UNSUPPORTED_STATUS for each in programs)
