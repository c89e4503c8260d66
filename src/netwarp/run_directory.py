"""The run directory: where everything about one execution of a study is kept.

Its layout is the only contract between running, reporting and the user interface;
`docs/run-format.md` has it in words.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from netwarp.errors import RunDirectoryError

JOB_FILE = "job.json"
RECORDS_FILE = "records.jsonl"
CONSOLE_FILE = "console.log"
STATUS_FILE = "status.json"
# A run under way lives under a hidden name; a directory with its proper name is finished.
PARTIAL_SUFFIX = ".partial"

Outcome = Literal["ok", "failed"]
Clock = Literal["virtual", "real"]


@dataclass(frozen=True)
class Status:
    """How a run went on the host.

    This is what differs from one execution to the next; what must not differ is in the records.
    """

    outcome: Outcome
    reason: str | None
    wall_s: float
    cpu_s: float
    peak_rss_bytes: int
    virtual_s: float

    def to_json(self) -> dict[str, Any]:
        """Fields by name, for ``status.json``."""
        return asdict(self)


class RunDirectory:
    """Paths in a run directory, and the atomic writes that keep it whole."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.runs = path / "runs"
        self.plan_file = path / "plan.jsonl"
        self.study_toml = path / "study.toml"
        self.study_json = path / "study.json"
        self.provenance_file = path / "provenance.json"

    @property
    def clock(self) -> Clock:
        """Whose time its numbers tell, as its provenance says."""
        return "real" if self.provenance().get("clock") == "real" else "virtual"

    def provenance(self) -> dict[str, Any]:
        """Read what the numbers depend on; nothing where it cannot be read."""
        try:
            content: dict[str, Any] = json.loads(self.provenance_file.read_text())
        except (OSError, ValueError):
            return {}
        return content

    def run_path(self, run: str) -> Path:
        """Where a finished run is."""
        return self.runs / run

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the directory for writing.

        Raises:
            RunDirectoryError: it cannot be made, or another netwarp is writing to it.
        """
        try:
            self.runs.mkdir(parents=True, exist_ok=True)
            lock = (self.path / ".lock").open("w")
        except OSError as error:
            raise RunDirectoryError(
                f"cannot write to {self.path} ({error.strerror}): choose another with --out DIR"
            ) from None
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise RunDirectoryError(
                    f"another netwarp is running into {self.path}: wait for it, or use --out DIR"
                ) from None
            yield

    def kept_runs(self) -> set[str]:
        """Names of the runs that have ended, well or not."""
        return {path.name for path in self.runs.iterdir() if not path.name.startswith(".")}

    def begin(self, run: str, job_json: str) -> Path:
        """Make the hidden directory of a run that starts, over what an interrupted one left."""
        partial = self.runs / f".{run}{PARTIAL_SUFFIX}"
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        (partial / JOB_FILE).write_text(job_json)
        return partial

    def finish(self, run: str, status: Status) -> None:
        """Give a run that ended its proper name, in one step."""
        partial = self.runs / f".{run}{PARTIAL_SUFFIX}"
        write_json(partial / STATUS_FILE, status.to_json())
        final = self.run_path(run)
        shutil.rmtree(final, ignore_errors=True)  # an earlier, failed try
        partial.rename(final)

    def discard_partials(self) -> None:
        """Remove what interrupted runs left."""
        for partial in self.runs.glob(f".*{PARTIAL_SUFFIX}"):
            shutil.rmtree(partial, ignore_errors=True)

    def status(self, run: str) -> Status | None:
        """How a run went, or None when it has not finished."""
        try:
            return Status(**json.loads((self.run_path(run) / STATUS_FILE).read_text()))
        except (OSError, ValueError, TypeError):
            return None

    def plan_lines(self) -> list[dict[str, Any]]:
        """Read the plan; empty when nothing was planned here yet."""
        try:
            text = self.plan_file.read_text()
        except (FileNotFoundError, NotADirectoryError):
            return []
        return [json.loads(line) for line in text.splitlines()]

    def write_plan(self, lines: Iterable[dict[str, Any]]) -> None:
        """Write the plan, one run a line."""
        write_text(self.plan_file, "".join(json.dumps(line) + "\n" for line in lines))


def write_json(path: Path, value: Any) -> None:
    """Write an object as JSON, atomically."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def write_text(path: Path, text: str) -> None:
    """Replace a file as a whole: a reader sees the old text or the new, never half of one."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text)
    temporary.replace(path)


def write_bytes(path: Path, content: bytes) -> None:
    """Replace a file of bytes as a whole, as `write_text` does."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_bytes(content)
    temporary.replace(path)
