"""Repeats runs of a run directory, and compares the records byte for byte."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from netwarp.backends.base import Backend, kernel_provenance
from netwarp.backends.replay import kept_job_sha256
from netwarp.errors import BackendError, InputError, RecordError, RunDirectoryError, one_line
from netwarp.execution import Executor, LocalExecutor, Observer, Unobserved, execute
from netwarp.file_trees import temporary_directory
from netwarp.kernels_of_runs import kernel_key
from netwarp.plan import PlannedRun, plan_study
from netwarp.run_directory import RECORDS_FILE, RunDirectory
from netwarp.run_files import lines_of, parse_json, read_text

if TYPE_CHECKING:
    from pathlib import Path

    from netwarp.evaluation import RunData

DEFAULT_RUNS = 8
NOTHING = "nothing"
"""Text that is shown instead of a field or record that one side does not have."""


@dataclass(frozen=True)
class FirstDifference:
    """The first place where two record files differ."""

    line: int
    """Line of the record in the file, counted from 1."""
    field: str
    """Dotted path: the record's kind, then the field; only the kind if one side does not have the
    record."""
    kept: str
    again: str

    def __str__(self) -> str:
        return f"record {self.line}, {self.field}: {self.kept} before, {self.again} again"


@dataclass(frozen=True)
class VerifiedRun:
    """A run that was repeated, with the comparison of its records."""

    run: str
    difference: FirstDifference | None
    failed: str | None = None
    """Reason why the repeated run has no records; None if it has records."""

    @property
    def is_identical(self) -> bool:
        """Whether the records of both runs are the same, byte for byte."""
        return self.difference is None and self.failed is None

    @property
    def difference_text(self) -> str | None:
        """Text on where the first difference is, without the values, which may be long; None if
        there is no difference.
        """
        return self.failed or (None if self.difference is None else self.difference.field)

    def __str__(self) -> str:
        if self.failed is not None:
            return f"failed: {self.failed}"
        return "identical" if self.difference is None else str(self.difference)


@dataclass(frozen=True)
class Verification:
    """The result of repeating a sample of a run directory's runs."""

    runs: tuple[VerifiedRun, ...]
    of: int
    """Number of runs from which the sample was drawn."""
    other_programs: dict[str, tuple[str, str]]
    """Programs that have changed since the runs were measured: the versions then and now, by
    part.
    """

    @property
    def is_identical(self) -> bool:
        """Whether all records of the sample are the same as before, byte for byte."""
        return all(run.is_identical for run in self.runs)

    def to_json(self) -> dict[str, Any]:
        """Return the fields that ``--json`` prints."""
        return {
            "identical": self.is_identical,
            "of": self.of,
            "other_programs": {part: list(both) for part, both in self.other_programs.items()},
            "runs": [
                {
                    "run": run.run,
                    "identical": run.is_identical,
                    "failed": run.failed,
                    "difference": None if run.difference is None else vars(run.difference),
                }
                for run in self.runs
            ],
        }


def verify(
    data: RunData,
    backend: Backend,
    *,
    runs: int = DEFAULT_RUNS,
    executor: Executor | None = None,
    observer: Observer | None = None,
) -> Verification:
    """Repeat a sample of a directory's runs, and compare their records.

    Args:
        data: the run directory.
        backend: a backend of virtual time.
        runs: number of runs in the sample, spread evenly over those that are kept.
        executor: the executor, which decides on which CPUs runs are carried out; None for this
            machine's.
        observer: notified about every run.

    Raises:
        InputError: the directory's records are of real time, in which they never repeat; or the
            sample is to have no run.
        RunDirectoryError: the directory contains nothing that can be verified.
        Interrupted: on Ctrl-C; no files are left behind.
    """
    if isinstance(runs, bool) or not isinstance(runs, int):
        raise InputError(
            f"verify {one_line(repr(runs))}: not a number of runs; give a whole number, such as"
            f" {DEFAULT_RUNS}"
        )
    if runs < 1:
        raise InputError(f"verify {runs} runs: at least 1")
    if data.clock == "real":
        raise InputError(
            f"{data.directory} was measured in real time, which never repeats to the digit:"
            " `netwarp diff` compares two such directories by tests"
        )
    kept = data.kept
    succeeded = list(_succeeded(kept))
    if not succeeded:
        raise RunDirectoryError(f"{data.directory} has no run that succeeded: nothing to verify")
    plan = _planned_again(data, spread(succeeded, runs))
    observer = observer or Unobserved()
    with temporary_directory("netwarp-verify-") as place:
        again = RunDirectory(place)
        again.runs.mkdir()
        observer.planned(len(plan), backend.clock)
        try:
            outcomes = execute(
                plan, {}, backend, again,
                executor=executor or LocalExecutor(), observer=observer,
            )  # fmt: skip
        finally:
            observer.ended()
        verified = tuple(
            VerifiedRun(run.run, None, outcomes[run.run].status.reason or "it gave no reason")
            if outcomes[run.run].failed
            else VerifiedRun(run.run, first_difference(*_both(run.run, kept, again)))
            for run in plan
        )
    return Verification(verified, len(succeeded), _other_programs(data.provenance, backend))


def _succeeded(kept: RunDirectory) -> Iterator[str]:
    """Yield the names of the runs that succeeded, in the order of the plan. Runs whose records were
    changed since are among them, because verification has to find these.
    """
    for line in kept.plan_lines():
        status = kept.status(line["run"])
        if status is not None and status.outcome == "ok":
            yield line["run"]


def spread(runs: Sequence[str], count: int) -> list[str]:
    """Return this many runs, at even distances from the first to the last; all runs if there are
    fewer.

    Runs are ordered by replicate, and then by cell, so these are spread over both.
    """
    if count >= len(runs):
        return list(runs)
    if count == 1:
        return [runs[0]]
    return [runs[round(place * (len(runs) - 1) / (count - 1))] for place in range(count)]


def first_difference(kept: str, again: str) -> FirstDifference | None:
    """Return the first difference between two record files; None if they are equal, byte for
    byte.
    """
    if kept == again:
        return None
    for line, (a, b) in enumerate(zip_longest(lines_of(kept), lines_of(again)), start=1):
        if a == b:
            continue
        before, after = (None if each is None else _parsed(each) for each in (a, b))
        if before is None or after is None:
            kind = str((before or after or {}).get("record", "what is no record"))
            return FirstDifference(line, kind, a or NOTHING, b or NOTHING)
        kind = str(before.get("record", "what is no record"))
        for field, x, y in _differing(before, after):
            return FirstDifference(line, f"{kind}{field}", x, y)
    return FirstDifference(1, "the order of fields or blanks", NOTHING, NOTHING)


def _parsed(line: str) -> dict[str, Any] | None:
    """Return a record as an object; None if the line, which may have been changed, is no object."""
    try:
        record = parse_json(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _differing(a: Any, b: Any, field: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield each place in which two values differ, with both values there as JSON."""
    if isinstance(a, dict) and isinstance(b, dict):
        for key in {**a, **b}:
            there = key in a, key in b
            if all(there):
                yield from _differing(a[key], b[key], f"{field}.{key}")
            else:
                yield f"{field}.{key}", _shown(a.get(key), there[0]), _shown(b.get(key), there[1])
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for place, (x, y) in enumerate(zip(a, b, strict=True)):
            yield from _differing(x, y, f"{field}[{place}]")
    elif a != b:
        yield field, _shown(a), _shown(b)


def _shown(value: Any, is_there: bool = True) -> str:
    return json.dumps(value) if is_there else NOTHING


def _planned_again(data: RunData, names: Sequence[str]) -> list[PlannedRun]:
    """Return the planned runs with these names, from a new plan of the study.

    Raises:
        RunDirectoryError: this version of netwarp would plan another job for one of them.
    """
    lines = {line["run"]: line for line in data.kept.plan_lines()}
    replicates = 1 + max(lines[name]["replicate"] for name in names)
    wanted = set(names)
    study = replace(data.study, replicates=replicates)
    plan = [run for run in plan_study(study) if run.run in wanted]
    same = {
        run.run
        for run in plan
        if run.job_sha256 == lines[run.run]["job_sha256"]
        or run.job_sha256 == kept_job_sha256(data.kept, run.run)
    }
    if same != wanted:
        raise RunDirectoryError(
            f"{min(wanted - same)} of {data.directory} would be another job today (another version"
            " of netwarp, or of a file it sends): its records cannot be compared"
        )
    return plan


def _both(run: str, kept: RunDirectory, again: RunDirectory) -> tuple[str, str]:
    first, second = (_records_text(each.run_path(run) / RECORDS_FILE) for each in (kept, again))
    return first, second


def _records_text(path: Path) -> str:
    try:
        return read_text(path)
    except (OSError, ValueError) as error:
        raise RecordError(f"cannot read the records in {path}: {error}") from None


def _other_programs(then: dict[str, Any], backend: Backend) -> dict[str, tuple[str, str]]:
    now = backend.provenance()
    before, today = (
        {"kernel": kernel_key(each.get("kernel", {})), "endpoint": _endpoint(each)}
        for each in (then, now)
    )
    for name, kernel in then.get("kernels", {}).items():
        before[f"kernel {name}"] = kernel_key(kernel)
        today[f"kernel {name}"] = _kernel_named(name, backend)
    return {part: (before[part], today[part]) for part in before if before[part] != today[part]}


def _kernel_named(name: str, backend: Backend) -> str:
    try:
        return kernel_key(kernel_provenance(backend, name))
    except BackendError:
        return NOTHING


def _endpoint(provenance: dict[str, Any]) -> str:
    return str(provenance.get("endpoint", {}).get("sha256", "unknown"))[:12]
