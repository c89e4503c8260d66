"""The studies that can be run from a page, and the run directories that exist."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netwarp.errors import InputError, one_line
from netwarp.execution.observer import Observer
from netwarp.run_directory import RunDirectory, is_run_directory
from netwarp.ui.asked import Asked, Event

if TYPE_CHECKING:
    from netwarp.plan import PlannedRun
    from netwarp.run_directory import Clock
    from netwarp.run_status import Status

MOST_DIRECTORIES = 200
"""Maximum number of run directories that are listed, beginning with the newest."""
MOST_TITLE_CHARACTERS = 200
MOST_RUNS = 100_000
"""Most planned runs of a directory that the pages show: each takes some 2 kB of memory."""
SCORECARD = "scorecard.html"


def shipped() -> list[dict[str, Any]]:
    """Return the studies that come with netwarp: names, questions, and whether they have a smaller
    version.
    """
    from netwarp.sources.shipped import question_of, shipped_studies

    return [
        {"name": name, "question": question_of(path),
         "has_quick": "[quick]" in path.read_text(encoding="utf-8")}
        for name, path in shipped_studies().items()
    ]  # fmt: skip


def kept(folder: Path) -> list[dict[str, Any]]:
    """Return the run directories of a folder, the newest first."""
    paths = [path for path in _visible(folder) if is_run_directory(path)]
    paths.sort(key=lambda path: -path.stat().st_mtime_ns)
    return [_described(path) for path in paths[:MOST_DIRECTORIES]]


def scorecards(folder: Path) -> list[str]:
    """Return the scorecards of reproduced sources, as paths below a folder; links are left out."""
    found = [*folder.glob(f"reproduce/{SCORECARD}"), *folder.glob(f"reproduce/*/{SCORECARD}")]
    return sorted(
        str(path.relative_to(folder))
        for path in found
        if path.is_file() and path.resolve() == folder.resolve() / path.relative_to(folder)
    )


def kept_at(folder: Path, name: str) -> Path:
    """Return the path of a run directory in a folder.

    Raises:
        InputError: there is no run directory of this name, or its plan is too long.
    """
    # The name is only compared with those that are there: none can lead elsewhere.
    path = next((path for path in _visible(folder) if path.name == name), None)
    if path is None or not is_run_directory(path):
        raise InputError(f"{name}: no run directory in {folder}")
    if RunDirectory(path).planned_runs() > MOST_RUNS:
        raise InputError(
            f"{name}: the pages show at most {MOST_RUNS} planned runs: `netwarp show` shows more"
        )
    return path


def _visible(folder: Path) -> Iterator[Path]:
    """Yield the files and folders in a folder, except hidden ones, and links, which may lead
    elsewhere.
    """
    return (path for path in folder.glob("[!.]*") if not path.is_symlink())


def differences_text(folder: Path, before: str, after: str) -> str:
    """Return the differences of two run directories as lines of text, as `netwarp diff` prints
    them.

    Raises:
        InputError: they cannot be compared.
    """
    from netwarp.evaluation import load
    from netwarp.output.diff import differences
    from netwarp.output.diff_lines import difference_lines

    found = differences(load(kept_at(folder, before)), load(kept_at(folder, after)), [], {})
    return "\n".join(line.plain for line in difference_lines(found, 100))


def _described(path: Path) -> dict[str, Any]:
    """Return what the page lists about a run directory."""
    directory = RunDirectory(path)
    study = directory.study() or {}
    return {
        "name": path.name,
        "title": one_line(str(study.get("title", "")), MOST_TITLE_CHARACTERS),
        "question": directory.question() or "",
        "runs": len(directory.kept_runs()),
        "planned": directory.planned_runs(),
        "is_quick": "--quick" in directory.provenance().get("command_line", []),
    }


class StudyRun(Asked):
    """A study that is run into a folder, as by `netwarp run`; one that was cancelled continues
    where it was.

    Args:
        name: the name of a study that comes with netwarp.
        quick: whether its smaller version is run.
        into: the folder of run directories.
        after: see :class:`Asked`.
    """

    def __init__(self, name: str, quick: bool, into: Path, after: Asked | None = None) -> None:
        super().__init__(after)
        self._name, self._quick, self._into = name, quick, into

    def _answers(self) -> Iterator[Event]:
        from netwarp.library import backend_for, expected, load, run
        from netwarp.sources.shipped import shipped_studies

        path = shipped_studies().get(self._name)
        if path is None:
            raise InputError(f"{self._name}: no study of this name")
        study = load(path, quick=self._quick)
        backend = backend_for(study)
        if not self._begins_with(backend):
            return
        cost = expected(study, backend=backend)
        self.directory = self._into / Path(cost["out"]).name
        into = expected(study, backend=backend, out=self.directory)["text"]
        yield "started", {"title": study.title, "of": cost["runs"], "expected": into}
        line = ["netwarp", "run", self._name, *(["--quick"] if self._quick else [])]
        done = run(
            study, backend, out=self.directory, command_line=line, observer=Progress(self._put)
        )
        yield "drawing", {}
        done.report()
        yield "kept", {"name": self.directory.name, "failed": len(done.failed)}


class Progress(Observer):
    """Sends to a page how many runs have ended.

    Args:
        put: sends an event.
        of: number of runs of several studies; None for those of the one study.
    """

    def __init__(self, put: Callable[[str, dict[str, Any]], None], of: int | None = None) -> None:
        self._put, self._of = put, of
        self._lock = threading.Lock()
        self._planned = self._ended = self._failed = self._kept = 0

    def planned(self, runs: int, clock: Clock) -> None:
        """Store the number of runs."""
        self._planned = self._of or runs

    def finished(self, run: PlannedRun, status: Status, *, resumed: bool) -> None:
        """Send the number of runs that have ended."""
        with self._lock:
            self._ended += 1
            self._failed += status.outcome == "failed"
            self._kept += resumed
            said = {"ended": self._ended, "of": self._planned, "failed": self._failed,
                    "kept": self._kept}  # fmt: skip
            self._put("progress", said)
