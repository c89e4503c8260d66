"""Writes the description of an execution into its run directory: study, plan and provenance."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from netwarp.backends.base import Backend
from netwarp.backends.cpus import CpuTimes, cpu_times
from netwarp.estimate.staging import TimeLimit
from netwarp.execution.earlier_runs import measured_before, refuse_other_programs
from netwarp.machine.load import others_share
from netwarp.machine.speed import stored_speed
from netwarp.plan import PlannedRun
from netwarp.regular_files import is_file
from netwarp.run_directory import RunDirectory
from netwarp.run_files import remove, write_bytes, write_json
from netwarp.study import Study


def is_described(study: Study, plan: Sequence[PlannedRun], directory: RunDirectory) -> bool:
    """Return whether a directory already describes exactly what is to be run in it."""
    return (
        directory.study() == json.loads(json.dumps(study.raw))
        and directory.plan_lines()[: len(plan)] == [planned.to_json() for planned in plan]
        and bool(directory.provenance())
        and _study_text(study) in (None, _text_or_none(directory.study_toml))
    )


def describe(
    study: Study,
    plan: Sequence[PlannedRun],
    now: dict[str, Any],
    backend: Backend,
    directory: RunDirectory,
    *,
    is_measuring: bool,
) -> None:
    """Write the description of what is going to be run, before it is run.

    Args:
        study: the study, with all overrides applied.
        plan: the planned runs.
        now: the provenance of this execution.
        backend: the backend that carries out the runs.
        directory: the run directory, which is locked.
        is_measuring: whether any run is to be carried out.

    Raises:
        RunDirectoryError: the directory has runs that other programs measured.
    """
    remove(directory.drawn_file)
    earlier = directory.provenance()
    if is_measuring and directory.kept_runs():
        # On resumption: runs that are kept were measured by the earlier programs, so today's must
        # be the same.
        refuse_other_programs(earlier, now, directory)
    text = _study_text(study)
    if text is not None:
        write_bytes(directory.study_toml, text.encode())
    write_json(directory.study_json, study.raw)
    planned = [run.to_json() for run in plan]
    directory.write_plan([*planned, *measured_before(directory, planned)])
    if backend.cpu_is_free:
        now["speed"] = stored_speed(now["endpoint"]["sha256"], now["host"]["cpu"])
    if not is_measuring:
        now |= {part: earlier[part] for part in ("kernel", "endpoint") if part in earlier}
    if "kernels" in earlier:  # this includes cells that are not run this time
        now["kernels"] = now.get("kernels", {}) | earlier["kernels"]
    now |= {key: earlier[key] for key in ("other_work",) if key in earlier}
    now["virtual_s"] = earlier.get("virtual_s", 0.0)
    now["wall_s"] = earlier.get("wall_s", 0.0)
    now.setdefault("looks", earlier.get("looks", 1))
    if now["looks"] > 1:
        for key in ("look_sizes", "look_shares"):
            if key in earlier:
                now.setdefault(key, earlier[key])
    write_json(directory.provenance_file, now)


def note_times(directory: RunDirectory, wall_s: float, cpus_before: CpuTimes) -> None:
    """Write into the provenance how long all executions into a directory took, and how much virtual
    time its runs have.

    Args:
        directory: a run directory whose provenance is written.
        wall_s: the wall time of this execution in s.
        cpus_before: the machine's CPU times when this execution began.
    """
    noted = directory.provenance()
    statuses = [directory.status(run) for run in directory.kept_runs()]
    noted["virtual_s"] = sum(status.virtual_s for status in statuses if status is not None)
    noted["wall_s"] += wall_s
    if noted.get("clock") == "real":
        others = others_share(cpus_before, cpu_times())
        noted["other_work"] = max(others, noted.get("other_work", 0.0))
    write_json(directory.provenance_file, noted)


def note_time_limit(
    directory: RunDirectory, limit: TimeLimit | None, left: Sequence[str] = ()
) -> None:
    """Write into the provenance that no more replicates were added because a time limit was
    reached.

    Args:
        directory: a run directory whose provenance is written.
        limit: the limit; None if there is none.
        left: names of the replicates that were not added.
    """
    if limit is not None:
        noted = {"time_limit_s": limit.length_s, "time_limit_left": list(left)}
        write_json(directory.provenance_file, directory.provenance() | noted)


def _study_text(study: Study) -> str | None:
    """Return the text of the study's file; None if the study does not come from a file."""
    return _text_or_none(Path(study.file).absolute()) if is_file(Path(study.file)) else None


def _text_or_none(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None
