"""Checks whether the runs that a directory already contains belong to the plan that is to be run in
it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from netwarp.backends.replay import kept_job_sha256
from netwarp.errors import RunDirectoryError
from netwarp.execution.files_read import FilesRead
from netwarp.plan import PlannedRun
from netwarp.run_directory import RunDirectory


def refuse_another_study(plan: Sequence[PlannedRun], directory: RunDirectory) -> None:
    """Refuse a directory that contains a run which the plan defines differently.

    More or fewer replicates or cells are allowed: the existing runs remain in the results.

    Raises:
        RunDirectoryError: the directory has a run of the same name with another job.
    """
    before = {line["run"]: line["job_sha256"] for line in directory.plan_lines()}
    planned = {run.run: run.job_sha256 for run in plan}
    kept = directory.kept_runs() & planned.keys()
    # The plan of an earlier version has hashes of jobs in its own format; then the job itself is
    # compared.
    unlike = {run for run in kept if before.get(run) != planned[run]}
    did = {run: kept_job_sha256(directory, run) or before.get(run) for run in unlike}
    # A run whose job cannot be read any more is repeated.
    differs = {run for run, sha256 in did.items() if sha256 not in (None, planned[run])}
    if differs:
        raise RunDirectoryError(
            f"{directory.path} holds runs of another study ({min(differs)} for one):"
            " choose another place with --out DIR, or remove it"
        )


def refuse_other_programs(
    earlier: Mapping[str, Any], now: Mapping[str, Any], directory: RunDirectory
) -> None:
    """Refuse a directory whose runs were measured with another kernel or endpoint than the present
    one.

    Raises:
        RunDirectoryError: they were measured with another, or this is unknown.
    """
    file = directory.provenance_file
    if not earlier:
        why = directory.damage.get(file, "it is missing")
        raise RunDirectoryError(
            f"{file} cannot be read ({why}), so nobody knows which programs measured the runs"
            f" that {directory.path} holds: start afresh with --out DIR, or remove it"
        )
    parts = [(part, earlier.get(part), now.get(part)) for part in ("kernel", "endpoint")]
    kernels = earlier.get("kernels", {})
    parts += [
        (f"kernel {name}", kernels[name], today)
        for name, today in now.get("kernels", {}).items()
        if name in kernels
    ]
    for part, then, today in parts:
        if then != today:
            raise RunDirectoryError(
                f"{directory.path} was begun with another {part} than today's, and one result must"
                " come from one: start afresh with --out DIR, or remove it"
            )


def refuse_other_files(files: FilesRead | None, directory: RunDirectory) -> None:
    """Refuse a directory if files that the programs of its runs read have changed since.

    Raises:
        RunDirectoryError: a file has changed since, or this is unknown.
    """
    statuses = (directory.status(run) for run in directory.kept_runs())
    if files is None or not any(each is not None and each.outcome == "ok" for each in statuses):
        return
    remedy = "start afresh with --out DIR, or remove it"
    earlier = directory.files_read()
    unknown = files.unknown or (None if earlier is not None else "it does not say what they read")
    if earlier is None or unknown is not None:
        raise RunDirectoryError(
            f"{directory.path} holds runs of programs, and whether they would do the same today"
            f" cannot be told ({unknown}): {remedy}"
        )
    changed = files.changed_since(earlier)
    if changed is not None:
        raise RunDirectoryError(
            f"{directory.path} holds runs of programs that read another {changed} than today's,"
            f" and one result must come from one: {remedy}"
        )


def measured_before(
    directory: RunDirectory, planned: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return the lines of an earlier plan for runs that are kept but are not in the present
    plan.
    """
    names = {line["run"] for line in planned}
    kept = directory.kept_runs()
    lines = directory.plan_lines()
    return [line for line in lines if line["run"] in kept and line["run"] not in names]
