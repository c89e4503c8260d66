"""The replay backend: returns the recorded results of another run directory, without a guest."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from netwarp.backends.needs import Need
from netwarp.backends.watch import Bounds
from netwarp.errors import BackendError, RecordError
from netwarp.run_directory import JOB_FILE, Clock, RunDirectory, clock_of
from netwarp.run_files import read_text
from netwarp.run_status import Status
from netwarp.wire import Job, job_from_json, job_sha256


def kept_job_sha256(directory: RunDirectory, run: str) -> str | None:
    """Return the hash of a kept run's job, converted to today's format; None if it cannot be
    read.
    """
    try:
        return job_sha256(job_from_json(read_text(directory.run_path(run) / JOB_FILE)))
    except (OSError, ValueError, RecordError):
        return None


_RECORDED = ("kernel", "kernels", "endpoint", "speed")
"""The fields of a recording's provenance that its replay copies."""


class ReplayBackend:
    """Returns recorded runs. It finds them by the hash of their job, so that the study's file and
    names may be different.
    """

    name = "replay"
    needs: tuple[Need, ...] = ()
    parallel = True
    interleaved = False
    sets_path = True
    suffix = ""
    cpu_is_free = False  # The recording already contains what CPU work cost, if anything.

    def __init__(self, recorded: Path) -> None:
        self.directory = RunDirectory(recorded)
        self._runs = {line["job_sha256"]: line["run"] for line in self.directory.plan_lines()}
        self._has_read_jobs = False
        self.check(jobs=1)

    @classmethod
    def opened(cls, argument: str, bounds: Bounds) -> Self:
        """Open the replay backend; see :class:`netwarp.backends.base.Backend`."""
        return cls(Path(argument))

    @property
    def clock(self) -> Clock:
        """The clock with which the runs were recorded."""
        return clock_of(self.directory.provenance())

    def check(self, jobs: int) -> None:
        """Check that the directory contains recorded runs."""
        if not self._runs:
            raise BackendError(
                f"{self.directory.path} is not a run directory (no plan.jsonl with runs in it):"
                " name one with --backend replay:DIR"
            )

    def _find(self, sha256: str) -> str | None:
        """Return the name of the run whose job has this hash; None if there is none.

        A plan of an earlier version has hashes of jobs in that version's format. So if it does not
        contain the hash, all jobs are read once and hashed again.
        """
        if sha256 not in self._runs and not self._has_read_jobs:
            self._has_read_jobs = True
            kept = {kept_job_sha256(self.directory, run): run for run in self._runs.values()}
            self._runs |= {sha256: run for sha256, run in kept.items() if sha256 is not None}
        return self._runs.get(sha256)

    def refuse(self, job: Job, sha256: str) -> str | None:
        """Return the reason why a run cannot be replayed, which is that it was not recorded; None
        if it was.
        """
        run = self._find(sha256)
        if run is None:
            return f"{self.directory.path} has no run of the same job"
        if self.directory.status(run) is None:
            return f"{run} in {self.directory.path} never finished"
        return None

    def run(
        self, job: Job, directory: Path, *, slot: int, on_progress: Callable[[float], None]
    ) -> Status:
        """Copy records, console and status of the recorded run; see
        :class:`netwarp.backends.base.Backend`.
        """
        run = self._runs[job_sha256(job)]
        status = self.directory.status(run)
        if status is None:
            raise BackendError(f"{run} in {self.directory.path} went away while it was replayed")
        for path in self.directory.run_path(run).iterdir():
            if path.name != JOB_FILE and path.is_file():
                shutil.copy2(path, directory / path.name)
        on_progress(status.virtual_s)
        return status

    def stop(self) -> None:
        """Do nothing: a replay starts no process."""

    def provenance(self) -> dict[str, Any]:
        """The provenance of the replayed runs: the directory in which they were recorded, and the
        versions and hashes from its own provenance.
        """
        recorded = self.directory.provenance()
        return {
            "replayed_from": str(self.directory.path),
            **{key: recorded[key] for key in _RECORDED if key in recorded},
        }
