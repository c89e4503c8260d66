"""Hashes the files of this machine that a study's programs read, because results depend on them."""

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
"""Maximum number of files that are hashed. If there are more, it is unknown whether one has
changed."""
MOST_HASHED_BYTES = 16 << 20
"""Maximum size in bytes of a file whose content is hashed. For a larger file, its size and the time
of its last change are used."""
PACKAGE_DATABASES = ("/var/lib/dpkg/status", "/var/lib/rpm/rpmdb.sqlite")
"""Files that change with every change of the machine's packages. They represent the libraries and
interpreters that programs load."""
NOT_THE_MACHINES = ("/dev", "/proc", "/run", "/sys")
"""Folders of which programs do not see the machine's files (endpoint/programs/src/root.rs)."""
NOT_AS_A_WHOLE = (Path("/"), Path("/tmp"))  # noqa: S108
"""Folders whose files are not all hashed, even if a command names the folder."""
SEPARATORS = re.compile(r"[\s\"'`=,:;|&<>(){}]+")
BUILT = frozenset({"__pycache__", "netwarp-out"})
"""Names of folders to which programs or netwarp write during runs; their content is not hashed."""


@dataclass(frozen=True)
class FilesRead:
    """The files that the programs of runs read, as far as the study's text names them."""

    digests: Mapping[str, str]
    """A hash of each file's content, by its path."""
    unknown: str | None
    """Reason why it is unknown whether the files have changed; None if it is known."""

    @property
    def sha256(self) -> str:
        """A single hash over all files."""
        lines = (f"{path}\0{digest}\n" for path, digest in sorted(self.digests.items()))
        return sha256("".join(lines).encode(errors="surrogateescape")).hexdigest()

    def changed_since(self, earlier: Mapping[str, str]) -> str | None:
        """Return a file whose content has changed since an earlier reading; None if there is
        none.
        """
        paths = sorted(self.digests.keys() | earlier.keys())
        return next((path for path in paths if self.digests.get(path) != earlier.get(path)), None)


def files_read(jobs: Sequence[Job], backend: Backend) -> FilesRead | None:
    """Hash the files that the programs of these jobs read.

    These are the programs and files that the study's text names, and all files in the folder in
    which a command starts. Package databases represent everything else that programs load.

    Args:
        jobs: one job of each cell.
        backend: the backend that carries out the jobs.

    Returns:
        The files and their hashes; None if runs execute only netwarp's own programs.
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
    """Yield the programs and files that the texts of a run name, for example as words of a shell
    command.
    """
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
    except (OSError, ValueError):  # not a file's name, for instance because it is too long
        return False


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    """Yield each file once, including those below folders, except those that runs themselves
    write.
    """
    seen = set()
    for path in paths:
        for file in _files_below(path) if path.is_dir() else iter((path,)):
            if file not in seen:
                seen.add(file)
                yield file


def _files_below(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        kept = (each for each in folders if each not in BUILT)
        folders[:] = sorted(each for each in kept if not is_run_directory(Path(place, each)))
        yield from (Path(place, name) for name in sorted(names))


def _digest(path: Path) -> str:
    """Return the hash of a file (for a very large one, its size and time), or the reason why there
    is none.
    """
    try:
        about = path.stat()
        if not stat.S_ISREG(about.st_mode):
            return "no regular file"
        if about.st_size > MOST_HASHED_BYTES:
            return f"{about.st_size} bytes, changed at {about.st_mtime_ns} ns"
        return sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        return str(error.strerror)
