"""Reads the directories of kept runs: the job and the records of each."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from netwarp.errors import RecordError
from netwarp.run_directory import CONSOLE_FILE, JOB_FILE, RECORDS_FILE
from netwarp.run_files import read_tail, read_text, require_regular
from netwarp.wire import Job, Record, job_from_json, read_records

CONSOLE_TAIL_BYTES = 64 << 10
"""Maximum number of bytes that are read from the end of a console."""


class Kept(Protocol):
    """The interface of everything that gives access to the jobs and records of kept runs."""

    def job(self, run: str) -> Job | None:
        """Return a run's job; None if it was not kept."""

    def records(self, run: str) -> list[Record]:
        """Return a run's records; empty if they were not kept."""


@dataclass(frozen=True)
class KeptRuns:
    """Gives access to the jobs and records of kept runs in their directories."""

    path: Path

    def job(self, run: str) -> Job | None:
        """Return a run's job; None if its directory was not kept."""
        path = self.path / run / JOB_FILE
        if not _is_kept(path):
            return None
        try:
            return job_from_json(read_text(path), str(path))
        except (OSError, ValueError) as error:
            raise RecordError(f"cannot read the job in {path}: {error}") from None

    def records(self, run: str) -> list[Record]:
        """Return a run's records; empty if its directory was not kept."""
        path = self.path / run / RECORDS_FILE
        return read_records(path) if _is_kept(path) else []

    def console_tail(self, run: str, lines: int) -> str:
        """Return the last lines of a run's console; "" if its directory was not kept."""
        path = self.path / run / CONSOLE_FILE
        if not _is_kept(path):
            return ""
        return "\n".join(read_tail(path, CONSOLE_TAIL_BYTES).splitlines()[-lines:])


def _is_kept(path: Path) -> bool:
    try:
        require_regular(path)
    except OSError:
        return False
    return not path.parent.is_symlink()
