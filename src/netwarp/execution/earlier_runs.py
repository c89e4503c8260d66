"""Runs that a directory has from before: whether they belong to what is run in it now."""

from collections.abc import Mapping, Sequence
from typing import Any

from netwarp.backends.replay import kept_job_sha256
from netwarp.errors import RunDirectoryError
from netwarp.execution.files_read import FilesRead
from netwarp.plan import PlannedRun
from netwarp.run_directory import RunDirectory


def refuse_another_study(plan: Sequence[PlannedRun], directory: RunDirectory) -> None:
    """See that a directory holds no run that the plan has differently.

    More replicates or cells are welcome, fewer too: what was measured before stays in the results.

    Raises:
        RunDirectoryError: a run of the same name did something else.
    """
    before = {line["run"]: line["job_sha256"] for line in directory.plan_lines()}
    planned = {run.run: run.job_sha256 for run in plan}
    kept = directory.kept_runs() & planned.keys()
    # The plan of an earlier version has hashes of jobs in its own format: then the job says it.
    unlike = {run for run in kept if before.get(run) != planned[run]}
    did = {run: kept_job_sha256(directory, run) or before.get(run) for run in unlike}
    # A run whose job nobody can read any more is done again.
    differs = {run for run, sha256 in did.items() if sha256 not in (None, planned[run])}
    if differs:
        raise RunDirectoryError(
            f"{directory.path} holds runs of another study ({min(differs)} for one):"
            " choose another place with --out DIR, or remove it"
        )


def refuse_other_programs(
    earlier: Mapping[str, Any], now: Mapping[str, Any], directory: RunDirectory
) -> None:
    """See that today's kernel and endpoint are those that measured the runs of a directory.

    Raises:
        RunDirectoryError: they are not, or nobody can tell.
    """
    file = directory.provenance_file
    if not earlier:
        why = directory.damage.get(file, "it is missing")
        raise RunDirectoryError(
            f"{file} cannot be read ({why}), so nobody knows which programs measured the runs"
            f" that {directory.path} holds: start afresh with --out DIR, or remove it"
        )
    for part in ("kernel", "endpoint"):
        if earlier.get(part) != now.get(part):
            raise RunDirectoryError(
                f"{directory.path} was begun with another {part} than today's, and one result must"
                " come from one: start afresh with --out DIR, or remove it"
            )


def refuse_other_files(files: FilesRead | None, directory: RunDirectory) -> None:
    """See that programs read what they read when the runs of a directory were measured.

    Raises:
        RunDirectoryError: a file has changed, or nobody can tell.
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
    """Lines of an earlier plan whose runs are kept and are not planned again."""
    names = {line["run"] for line in planned}
    kept = directory.kept_runs()
    lines = directory.plan_lines()
    return [line for line in lines if line["run"] in kept and line["run"] not in names]
