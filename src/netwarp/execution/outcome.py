"""Carries out one job, and determines the outcome of its run."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from netwarp.backends.base import Backend
from netwarp.errors import RecordError
from netwarp.measure.compact_values import CompactValues
from netwarp.metrics import failure_from_records, metrics_from_records
from netwarp.run_directory import JOB_FILE, RECORDS_FILE, RunDirectory
from netwarp.run_files import file_sha256, read_text, require_regular
from netwarp.run_status import Status
from netwarp.wire import Job, job_from_json, job_to_json, read_records


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run: its status, and its metrics if it succeeded."""

    status: Status
    metrics: Mapping[str, float]
    """Metrics by name, in base units; empty if the run failed."""

    @property
    def failed(self) -> bool:
        """Whether the run failed; the status has the reason."""
        return self.status.outcome == "failed"


def run_job(
    backend: Backend,
    job: Job,
    directory: Path,
    *,
    slot: int = 0,
    on_progress: Callable[[float], None] = lambda _: None,
) -> Outcome:
    """Carry out one job. If the run fails, its outcome says so; no exception is raised.

    Args:
        backend: the backend that carries it out.
        job: the job.
        directory: the directory of the run, which is created here. All files of the run except its
            status are written to it.
        slot: index of the parallel slot in which the run is carried out, counted from 0.
        on_progress: called repeatedly during the run, with the run's clock in seconds.
    """
    directory.mkdir(parents=True, exist_ok=True)
    (directory / JOB_FILE).write_text(job_to_json(job))
    status = backend.run(job, directory, slot=slot, on_progress=on_progress)
    return _measured(status, job, directory)


def read_outcome(directory: RunDirectory, run: str) -> Outcome | None:
    """Return the outcome of a kept run; None if the run has not ended.

    A run whose job or records are damaged has failed, whatever its status is.
    """
    status = directory.status(run)
    if status is None or status.outcome == "failed":
        return None if status is None else Outcome(status, {})
    path = directory.run_path(run)
    try:
        job = job_from_json(read_text(path / JOB_FILE), JOB_FILE)
    except (OSError, ValueError, RecordError) as error:
        return failed(status, f"{JOB_FILE} is damaged: {error}")
    records = path / RECORDS_FILE
    if status.records_sha256 not in (None, file_sha256(records)):
        reason = "it is not what the run wrote: its SHA-256 in status.json is another"
        directory.damage[records] = reason
        return failed(status, f"{RECORDS_FILE} is damaged: {reason}")
    return _measured(status, job, path)


def _measured(status: Status, job: Job, directory: Path) -> Outcome:
    """Return the outcome of a run with its metrics; the run has failed if the records contradict
    its status.
    """
    if status.outcome == "failed":
        return Outcome(status, {})
    path = directory / RECORDS_FILE
    try:
        require_regular(path)
        records = read_records(path)
        failure = failure_from_records(job, records)
        if failure is not None:
            return failed(status, f"{failure.stage}: {failure.message}")
        return Outcome(status, CompactValues(metrics_from_records(job, records)))
    except RecordError as error:
        return failed(status, str(error))
    except OSError as error:
        return failed(status, f"{path} cannot be read: {error.strerror}")
    except (ValueError, LookupError, ArithmeticError, TypeError) as error:
        return failed(status, f"its records do not add up: {type(error).__name__}: {error}")


def failed(status: Status, reason: str) -> Outcome:
    """Return the outcome of a failed run, with the times and the memory of a status."""
    return Outcome(replace(status, outcome="failed", reason=reason), {})
