"""A run directory, read: what reports and summaries are made from."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from netwarp.errors import ResultError, RunDirectoryError
from netwarp.estimate.criteria import Criteria
from netwarp.results.parquet import RESULTS_FILE, read_results
from netwarp.run_directory import CONSOLE_FILE, JOB_FILE, RECORDS_FILE, Clock, RunDirectory
from netwarp.study import Study, study_from_mapping
from netwarp.units import parse_ratio
from netwarp.wire import Job, Record, job_from_json, read_records

if TYPE_CHECKING:
    from pathlib import Path

    from netwarp.results.results import Results


@dataclass(frozen=True)
class KeptRuns:
    """The directories of runs, as far as they were kept."""

    path: Path

    def job(self, run: str) -> Job | None:
        """Read what a run was asked; None when its directory was not kept."""
        path = self.path / run / JOB_FILE
        return job_from_json(path.read_text(), str(path)) if path.is_file() else None

    def records(self, run: str) -> list[Record]:
        """Read what a run wrote down; nothing when its directory was not kept."""
        path = self.path / run / RECORDS_FILE
        return read_records(path) if path.is_file() else []


@dataclass(frozen=True)
class RunData:
    """Study, results and provenance of one run directory."""

    directory: Path
    study: Study
    results: Results
    provenance: dict[str, Any]

    @property
    def clock(self) -> Clock:
        """Whose time the numbers tell."""
        return "real" if self.provenance.get("clock") == "real" else "virtual"

    def job(self, run: str) -> Job | None:
        """Read what a run was asked; None when its directory was not kept."""
        return self._kept.job(run)

    def records(self, run: str) -> list[Record]:
        """Read what a run wrote down; nothing when its directory was not kept."""
        return self._kept.records(run)

    def console_tail(self, run: str, lines: int = 15) -> str:
        """Give the last lines of a run's console."""
        path = self._kept.path / run / CONSOLE_FILE
        if not path.is_file():
            return ""
        return "\n".join(path.read_text(errors="replace").splitlines()[-lines:])

    @property
    def _kept(self) -> KeptRuns:
        return KeptRuns(RunDirectory(self.directory).runs)


def load(directory: Path) -> RunData:
    """Read a run directory whose `results.parquet` is written.

    Raises:
        RunDirectoryError: it is no run directory.
        ResultError: a file there cannot be read.
        StudyError: its study is not one of this version.
    """
    paths = RunDirectory(directory)
    raw = _read_json(paths.study_json)
    return RunData(
        directory=directory,
        study=study_from_mapping(raw, file=str(paths.study_json), question=_question(paths)),
        results=replace(read_results(directory / RESULTS_FILE), criteria=criteria_of(paths)),
        provenance=_read_json(paths.provenance_file),
    )


def criteria_of(paths: RunDirectory) -> Criteria:
    """Read by what the results of a run directory are judged."""
    usual = Criteria()
    relevant = _read_json(paths.study_json).get("relevant")
    looks = _read_json(paths.provenance_file).get("looks", usual.looks)
    return Criteria(usual.relevant if relevant is None else parse_ratio(relevant), looks)


def _question(paths: RunDirectory) -> str | None:
    """Find the question in line one of the study's own text; `compare` has no such text."""
    if not paths.study_toml.is_file():
        return None
    first = paths.study_toml.read_text(encoding="utf-8").partition("\n")[0].strip()
    return first.lstrip("# ") or None if first.startswith("#") else None


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(path.read_text())
    except FileNotFoundError:
        raise RunDirectoryError(
            f"{path.parent} is not a run directory (no {path.name}):"
            " name one that `netwarp run` made"
        ) from None
    except (OSError, ValueError) as error:
        raise ResultError(f"cannot read {path}: {error}") from None
    return content
