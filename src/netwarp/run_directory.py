"""The run directory, which contains everything about the execution of a study.

Its layout is all that running, reporting and the user interface share; `docs/run-format.md`
describes it. All its files are named, read and written here. Each is written as a whole and never
through a symbolic link, so that a directory of somebody else cannot make netwarp write elsewhere.
Damaged parts are recorded and left out when they are read.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from netwarp.errors import RunDirectoryError, one_line
from netwarp.plan_lines import RUN_NAME, intact_lines, refuse_too_many_lines
from netwarp.regular_files import is_link, is_there
from netwarp.run_files import (
    LOCK_FILE,
    acquire,
    closed_to_others,
    file_sha256,
    lines_of,
    make_folder,
    missing_folders,
    parse_json,
    read_text,
    refuse_folder_of_others,
    refuse_unwritable,
    remove,
    unwritable,
    write_json,
    write_text,
)
from netwarp.run_provenance import readable_fields
from netwarp.run_status import Status
from netwarp.study_shape import wrong_table

PLAN_FILE = "plan.jsonl"
JOB_FILE = "job.json"
RECORDS_FILE = "records.jsonl"
CONSOLE_FILE = "console.log"
STATUS_FILE = "status.json"
PACKETS_FILE = "packets.csv"
"""Table of a flow's messages that arrived; it is written on request."""
QLOG_FOLDER = "qlog"
"""Folder of the qlog files of QUIC connections; they are written on request."""
# A run in progress has a hidden name; a directory with the run's name is a finished run.
PARTIAL_SUFFIX = ".partial"

CONTROLS_FOLDER = "controls"
SENSITIVITIES_FOLDER = "sensitivities"
SEEDS_FOLDER = "seeds"
"""Folder of a reproduced study for the run directories of the study with other seeds."""
_VARIANTS = (CONTROLS_FOLDER, SENSITIVITIES_FOLDER, SEEDS_FOLDER)

_LINK = "it is a symbolic link, and none is followed here"

Clock = Literal["virtual", "real"]

# The time at which virtual time begins, 2026-01-01T00:00:00Z: TLS certificates need a date, and a
# run must not depend on today's.
EPOCH_NS = 1_767_225_600_000_000_000


def clock_of(provenance: Mapping[str, Any]) -> Clock:
    """Return the clock of results from their provenance: virtual or real time."""
    return "real" if provenance.get("clock") == "real" else "virtual"


def question_in(study: str) -> str | None:
    """Return the question in a study's text, which is the comment in its first line; None if there
    is none.
    """
    first = study.partition("\n")[0].strip()
    return first.lstrip("# ") or None if first.startswith("#") else None


def is_run_directory(path: Path) -> bool:
    """Return whether a folder is a run directory, whose runs are not behind a symbolic link."""
    runs = path / "runs"
    return not is_link(runs) and runs.is_dir() and (path / PLAN_FILE).is_file()


class RunDirectory:
    """The paths in a run directory, and functions that read and write its files consistently."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.runs = path / "runs"
        self.figures = path / "figures"
        self.plan_file = path / PLAN_FILE
        self.study_toml = path / "study.toml"
        self.study_json = path / "study.json"
        self.provenance_file = path / "provenance.json"
        self.files_file = path / "files.json"
        """Hashes of the files that programs read, by path; the file does not exist if no programs
        read any.
        """
        self.results_file = path / "results.parquet"
        self.packets_file = path / "packets.parquet"
        self.summary_file = path / "summary.json"
        self.report_file = path / "report.html"
        self.drawn_file = path / ".drawn"
        """The version of netwarp that wrote results and report; the file does not exist before
        that.
        """
        self.damage: dict[Path, str] = {}
        """Damaged files that have been left out so far, with the reasons."""

    def run_path(self, run: str) -> Path:
        """Return the directory of a finished run."""
        return self.runs / run

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Context manager: lock the directory for writing until the block ends.

        Raises:
            RunDirectoryError: it cannot be created, contains files of others, or another netwarp is
                writing to it.
        """
        self.refuse_unwritable()
        made = missing_folders(self.path)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            lock = os.open(self.path / LOCK_FILE, flags, 0o644)
            try:
                acquire(self.path, lock, made)
                make_folder(self.runs)
            except BaseException:
                os.close(lock)
                raise
        except OSError as error:
            is_link = error.errno == errno.ELOOP and isinstance(error.filename, str)
            where = error.filename if is_link else self.path
            raise unwritable(where, _why(error)) from None
        try:
            with closed_to_others(self.runs):
                try:
                    yield
                finally:
                    self.discard_partials()
        finally:
            os.close(lock)

    def refuse_unwritable(self) -> None:
        """Raise the RunDirectoryError of :meth:`locked` if it can be told without writing."""
        if not is_there(self.plan_file):
            refuse_folder_of_others(self.path, {*self._own_names(), *_VARIANTS}, "run directory")
        refuse_unwritable(self.path)

    def _own_names(self) -> set[str]:
        places = (place for place in vars(self).values() if isinstance(place, Path))
        return {LOCK_FILE, *(place.name for place in places if place != self.path)}

    def kept_runs(self) -> set[str]:
        """Return the names of the runs that have ended, successfully or not.

        Raises:
            RunDirectoryError: the folder of the runs is a symbolic link.
        """
        self._refuse_linked_runs()
        try:
            with os.scandir(self.runs) as entries:
                folders = [each.name for each in entries if each.is_dir(follow_symlinks=False)]
        except OSError:
            return set()
        return {name for name in folders if RUN_NAME.fullmatch(name)}

    def begin(self, run: str) -> Path:
        """Create a new run's hidden directory; one that an interrupted run left is replaced."""
        partial = self.partial_path(run)
        remove(partial)
        partial.mkdir()
        return partial

    def finish(self, run: str, status: Status) -> None:
        """Rename the directory of a run that has ended to its final name, in one step."""
        partial = self.partial_path(run)
        written = replace(status, records_sha256=file_sha256(partial / RECORDS_FILE))
        write_json(partial / STATUS_FILE, written.to_json())
        final = self.run_path(run)
        remove(final)  # an earlier attempt, which failed or is damaged
        partial.rename(final)

    def discard_partials(self) -> None:
        """Remove the directories of interrupted runs.

        Raises:
            RunDirectoryError: one cannot be removed.
        """
        for partial in self.runs.glob(f".*{PARTIAL_SUFFIX}"):
            try:
                remove(partial)
            except OSError as error:
                raise RunDirectoryError(
                    f"cannot remove {one_line(str(partial))}, which an interrupted run has left"
                    f" ({_why(error)}): remove it, or choose another directory with --out DIR"
                ) from None

    def status(self, run: str) -> Status | None:
        """Return the status of a run; None if it has not ended, or its directory is a symbolic
        link, which is noted as damage.
        """
        path = self.run_path(run) / STATUS_FILE
        if is_link(path.parent):
            self.damage[path.parent] = _LINK
            return None
        content = self._json_object(path)
        if content is None:
            return None
        try:
            return Status.from_json(content)
        except (TypeError, OverflowError):
            self.damage[path] = "it is not a run's status"
            return None

    def records_sha256(self, runs: Iterable[str]) -> str | None:
        """Return the hash of the records of these runs, with their names; None if one of them has
        no records.
        """
        digest = sha256()
        for run in sorted(runs):
            status = self.status(run)
            # The hash in the status was compared with the file when the run was read.
            records = status and status.records_sha256
            records = records or file_sha256(self.run_path(run) / RECORDS_FILE)
            if records is None:
                return None
            digest.update(f"{run} {records}\n".encode())
        return digest.hexdigest()

    def provenance(self) -> dict[str, Any]:
        """Return the provenance; empty if there is none. A field of a wrong type is recorded as
        damage.
        """
        fields, wrong = readable_fields(self._json_object(self.provenance_file) or {})
        if wrong is not None:
            self.damage[self.provenance_file] = wrong
        return fields

    def files_read(self) -> dict[str, str] | None:
        """Return the hashes of the files that the runs' programs read; None if there are none."""
        return self._json_object(self.files_file)

    def discard_runs(self) -> None:
        """Remove all runs, and the files about them."""
        remove(self.drawn_file)
        remove(self.provenance_file)
        for run in self.kept_runs():
            remove(self.run_path(run))

    def study(self) -> dict[str, Any] | None:
        """Return the study as tables; None if it was not written, or is damaged."""
        raw = self._json_object(self.study_json)
        wrong = None if raw is None else wrong_table(raw)
        if wrong is not None:
            self.damage[self.study_json] = wrong
            return None
        return raw

    def printed(self, run: str, name: str, most_bytes: int) -> tuple[str, int]:
        """Return the beginning of a program's output, and the output's size in bytes.

        Bytes that are not UTF-8 are replaced; the text is empty if the program printed nothing.
        """
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            with os.fdopen(os.open(self.run_path(run) / name, flags), "rb") as file:
                about = os.fstat(file.fileno())
                if not stat.S_ISREG(about.st_mode):
                    return "", 0
                return file.read(most_bytes).decode(errors="replace"), about.st_size
        except OSError:
            return "", 0

    def question(self) -> str | None:
        """Return the question in the first line of the study's text; None for `compare`."""
        try:
            return question_in(read_text(self.study_toml))
        except (OSError, ValueError):
            return None

    def packets_of(self, run: str) -> Path | None:
        """Return the path of the table of messages that a run wrote; None if the job did not ask
        for it.
        """
        path = self.run_path(run) / PACKETS_FILE
        return path if path.is_file() and not path.is_symlink() else None

    def qlog_of(self, run: str) -> list[Path]:
        """Return the run's qlog files; empty if the job did not ask for them."""
        folder = self.run_path(run) / QLOG_FOLDER
        return [] if is_link(folder) else sorted(folder.glob("*.sqlog"))

    def is_drawn_by(self, version: str) -> bool:
        """Return whether results, summary and report were made by this version from all existing
        runs, and have not been changed since.
        """
        try:
            return self.report_file.is_file() and read_text(self.drawn_file) == self.drawn(version)
        except (OSError, ValueError):
            return False

    def drawn(self, version: str) -> str:
        """Return the text that marks results and report as up to date: the version, and hashes of
        files.
        """
        files = (self.results_file, self.packets_file, self.summary_file, self.report_file)
        hashes = [f"{file_sha256(file)} {file.name}" for file in files]
        return "\n".join([version, *hashes]) + "\n"

    def known_records_sha256(self) -> str | None:
        """Return the hash of all records from which results were made; None if it is unknown.

        It covers all runs that exist, because further runs remove the file that marks results as up
        to date.
        """
        if not self.drawn_file.is_file():
            return None
        known = (self._json_object(self.summary_file) or {}).get("records_sha256")
        return known if isinstance(known, str) else None

    def plan_lines(self) -> list[dict[str, Any]]:
        """Return the valid lines of the plan; empty if nothing was planned here yet.

        Raises:
            RunDirectoryError: the folder of the runs is a symbolic link.
        """
        self._refuse_linked_runs()
        try:
            text = read_text(self.plan_file)
            refuse_too_many_lines(text)
            lines = lines_of(text)
        except (FileNotFoundError, NotADirectoryError):
            return []
        except (OSError, ValueError) as error:
            self.damage[self.plan_file] = _why(error)
            return []
        intact, damage = intact_lines(lines)
        if damage is not None:
            self.damage[self.plan_file] = damage
        return intact

    def planned_runs(self) -> int:
        """Return the number of lines of the plan, valid or not; 0 if it cannot be read."""
        try:
            return read_text(self.plan_file).count("\n")
        except (OSError, ValueError):
            return 0

    def write_plan(self, lines: Iterable[dict[str, Any]]) -> None:
        """Write the plan, with one line for each run."""
        write_text(self.plan_file, "".join(json.dumps(line) + "\n" for line in lines))

    def _refuse_linked_runs(self) -> None:
        """Refuse to read runs that lie outside of the directory."""
        if is_link(self.runs):
            raise RunDirectoryError(
                f"cannot read the runs in {one_line(str(self.runs))} ({_LINK}): name the directory"
                " that has them"
            )

    def partial_path(self, run: str) -> Path:
        """Return the directory of a run in progress."""
        return self.runs / f".{run}{PARTIAL_SUFFIX}"

    def _json_object(self, path: Path) -> dict[str, Any] | None:
        try:
            content = parse_json(read_text(path))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RecursionError) as error:
            self.damage[path] = _why(error)
            return None
        if isinstance(content, dict):
            return content
        self.damage[path] = "it is not an object"
        return None


def _why(error: Exception) -> str:
    if isinstance(error, OSError) and error.errno == errno.ELOOP:
        return _LINK
    return str(error.strerror or error) if isinstance(error, OSError) else str(error)
