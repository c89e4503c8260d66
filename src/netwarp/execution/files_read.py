"""What the programs of a study read of this machine's files, hashed: part of what its runs are."""

import os
import re
import shutil
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from netwarp.backends.base import Backend
from netwarp.backends.needs import GUEST_PATH
from netwarp.run_directory import is_run_directory
from netwarp.wire import Job
from netwarp.workloads import Reads, reads_of

MOST_FILES = 10_000
"""Files that are looked at; where there are more, nobody can say whether one has changed."""
MOST_HASHED_BYTES = 16 << 20
"""Of larger files the size and the time of the last change stand for the content."""
PACKAGE_DATABASES = ("/var/lib/dpkg/status", "/var/lib/rpm/rpmdb.sqlite")
"""Files that change when the machine's packages do, whose libraries and interpreters run too."""
NOT_THE_MACHINES = ("/dev", "/proc", "/run", "/sys")
"""Folders of which programs see none of the machine's files (endpoint/programs/src/root.rs)."""
NOT_AS_A_WHOLE = (Path("/"), Path("/tmp"))  # noqa: S108
"""Folders that are not looked into when a command names them."""
SEPARATORS = re.compile(r"[\s\"'`=,:;|&<>(){}]+")
BUILT = frozenset({"__pycache__", "netwarp-out"})
"""Folders that running programs fills, and netwarp: they are not looked into."""


@dataclass(frozen=True)
class FilesRead:
    """The files that runs read, as far as the study's text tells."""

    digests: Mapping[str, str]
    """A hash of each file's content, by its path."""
    unknown: str | None
    """Why it cannot be told whether they have changed; None where it can."""

    @property
    def sha256(self) -> str:
        """Hash of all of them."""
        lines = (f"{path}\0{digest}\n" for path, digest in sorted(self.digests.items()))
        return sha256("".join(lines).encode(errors="surrogateescape")).hexdigest()

    def changed_since(self, earlier: Mapping[str, str]) -> str | None:
        """Name a file whose content is another than in an earlier reading; None if none is."""
        paths = sorted(self.digests.keys() | earlier.keys())
        return next((path for path in paths if self.digests.get(path) != earlier.get(path)), None)


def files_read(jobs: Sequence[Job], backend: Backend) -> FilesRead | None:
    """Look at the files that the programs of these jobs read.

    These are, as far as a study's text tells: programs and files that it names, and all in the
    folder where a command starts. Packages stand for what those load besides.

    Args:
        jobs: one of each cell.
        backend: where they are run.

    Returns:
        None where runs execute nothing but netwarp's own programs.
    """
    every = {reads for job in jobs for reads in reads_of(job)}
    if not every:
        return None
    has_directory = any(reads.directory is not None for reads in every)
    if has_directory and not backend.sets_path:
        return FilesRead({}, "the server's program and its files are another host's")
    paths = [Path(each) for each in PACKAGE_DATABASES] if has_directory else []
    for reads in every:
        paths += named_files(reads)
        paths += [] if reads.directory is None else [Path(reads.directory)]
    digests: dict[str, str] = {}
    for path in _files(paths):
        if len(digests) == MOST_FILES:
            where = " and ".join(sorted({each.directory for each in every if each.directory}))
            reason = f"programs may read more than {MOST_FILES} files, those in {where} included"
            return FilesRead({}, reason)
        digests[str(path)] = _digest(path)
    return FilesRead(digests, None)


def named_files(reads: Reads) -> Iterator[Path]:
    """Find the programs and files that a run's texts name, such as words of a shell's line."""
    folder = Path(reads.directory or "/")
    for text in reads.texts:
        for word in (text, *SEPARATORS.split(text)):
            if not word or word.startswith("-"):
                continue
            if _is_there(path := folder / word):
                yield path
            elif "/" not in word and (found := shutil.which(word, path=GUEST_PATH)):
                yield Path(found)


def _is_there(path: Path) -> bool:
    if path in NOT_AS_A_WHOLE or any(path.is_relative_to(each) for each in NOT_THE_MACHINES):
        return False
    try:
        return path.exists()
    except (OSError, ValueError):  # no name of a file, such as one that is too long
        return False


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    """List files once each, and those below folders, without what runs themselves leave."""
    seen = set()
    for path in paths:
        for file in _below(path) if path.is_dir() else iter((path,)):
            if file not in seen:
                seen.add(file)
                yield file


def _below(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        kept = (each for each in folders if each not in BUILT)
        folders[:] = sorted(each for each in kept if not is_run_directory(Path(place, each)))
        yield from (Path(place, name) for name in sorted(names))


def _digest(path: Path) -> str:
    try:
        about = path.stat()
        if not stat.S_ISREG(about.st_mode):
            return "no regular file"
        if about.st_size > MOST_HASHED_BYTES:
            return f"{about.st_size} bytes, changed at {about.st_mtime_ns} ns"
        return sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        return str(error.strerror)
