"""Reads and writes the files of a run directory, and locks it.

Files from a guest or another host are read only if they are regular files of bounded size; links
are not followed. A written file replaces the old one as a whole.
"""

import errno
import fcntl
import json
import os
import stat
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from hashlib import file_digest
from math import isfinite
from pathlib import Path
from typing import IO, Any

from netwarp.errors import RunDirectoryError, one_line
from netwarp.file_trees import remove_tree
from netwarp.regular_files import UnreadableFileError, is_there, open_regular

LOCK_FILE = ".lock"
NOT_REGULAR = "it is not a regular file"
NO_DIRECTORY = "it is a file, not a directory"
MOST_READ_BYTES = 1 << 30
"""Largest file of a run directory that is read as a whole."""


def acquire(directory: Path, lock: int, made: Sequence[Path]) -> None:
    """Lock a run directory.

    Args:
        directory: the run directory.
        lock: descriptor of the file that is locked, which is in the directory.
        made: folders that were created for it, and that are removed if nothing can be locked.

    Raises:
        RunDirectoryError: another process has locked it, or the file system has no locks.
    """
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise RunDirectoryError(
            f"another netwarp is running into {directory}: wait for it, or use --out DIR"
        ) from None
    except OSError as error:
        if made:
            (directory / LOCK_FILE).unlink()
            for folder in made:
                folder.rmdir()
        raise RunDirectoryError(
            f"cannot lock {directory} (flock: {error.strerror or error}), so two commands might"
            " write there at once: choose a file system that has locks, with --out DIR"
        ) from None


def file_sha256(path: Path) -> str | None:
    """Return the hash of a regular file; None if there is none that can be read, or if it is too
    large.
    """
    try:
        with open(_open_regular(path), "rb") as content:
            _require_readable(os.fstat(content.fileno()))
            return file_digest(content, "sha256").hexdigest()
    except OSError:
        return None


def require_regular(path: Path) -> None:
    """Refuse a path that is a link, a device or a pipe instead of a regular file, or a file that is
    too large to be read.

    Raises:
        OSError: it does not exist, or is something else than such a file.
    """
    _require_readable(path.lstat())


def _require_readable(about: os.stat_result) -> None:
    """Refuse a file of a run directory that is not a regular file, or is too large to be read."""
    if not stat.S_ISREG(about.st_mode):
        raise OSError(errno.EINVAL, NOT_REGULAR)
    if about.st_size > MOST_READ_BYTES:
        most = f"{MOST_READ_BYTES >> 20} MiB"
        raise OSError(errno.EFBIG, f"it has more than the {most} that are read")


def read_text(path: Path) -> str:
    """Return the text of a regular file. Symbolic links, devices and pipes, whose reading could
    block, are refused.

    Raises:
        OSError: it does not exist, is not such a file, or cannot be read.
        ValueError: it is not UTF-8.
    """
    with open(_open_regular(path), encoding="utf-8") as content:
        _require_readable(os.fstat(content.fileno()))
        return content.read()


def parse_json(text: str) -> Any:
    """Parse JSON in which all numbers are finite, as netwarp writes it.

    Raises:
        ValueError: it is not JSON, or a number is infinite or not a number (NaN).
        RecursionError: it is nested too deeply.
    """
    return json.loads(text, parse_constant=_finite, parse_float=_finite)


def _finite(text: str) -> float:
    if not isfinite(value := float(text)):
        raise ValueError(f"{text} is not a finite number")
    return value


def lines_of(text: str) -> list[str]:
    """Return the lines of a file of JSON lines. Only a line feed ends a line, while
    `str.splitlines` also splits at characters such as U+2028, which JSON may contain.
    """
    return text.removesuffix("\n").split("\n") if text else []


def read_tail(path: Path, most_bytes: int) -> str:
    """Return the last bytes of a regular file as text, with the checks of `read_text`; bytes that
    are not UTF-8 are replaced.

    Raises:
        OSError: it does not exist, is not such a file, or cannot be read.
    """
    with open(_open_regular(path), "rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - most_bytes))
        return file.read(most_bytes).decode(errors="replace")


def _open_regular(path: Path) -> int:
    try:
        return open_regular(path, os.O_NOFOLLOW)
    except UnreadableFileError:
        raise OSError(errno.EINVAL, NOT_REGULAR) from None


def make_folder(path: Path) -> None:
    """Create a folder, if it does not exist.

    Raises:
        OSError: it cannot be created, or something else has its name, such as a symbolic link.
    """
    path.mkdir(exist_ok=True)
    if path.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))


@contextmanager
def closed_to_others(path: Path) -> Iterator[None]:
    """Context manager: deny other users access to a folder with files from runs, until these files
    were made harmless or removed.

    If netwarp is killed, the folder remains readable only to its owner. The permissions of a shared
    folder that belongs to another user are not changed.
    """
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        about = os.fstat(folder)
        usual = stat.S_IMODE(about.st_mode)
        is_ours = about.st_uid == os.geteuid()
        if is_ours:
            os.fchmod(folder, usual & ~0o077)
        try:
            yield
        finally:
            if is_ours:
                os.fchmod(folder, usual)
    finally:
        os.close(folder)


def missing_folders(path: Path) -> list[Path]:
    """Return which of a folder and its parent folders do not exist, beginning with the folder."""
    return [folder for folder in (path, *path.parents) if not is_there(folder)]


def remove(path: Path) -> None:
    """Remove a file, a link, or a folder with everything in it; do nothing if it does not exist.

    Raises:
        OSError: a part of it could not be removed.
    """
    try:
        if stat.S_ISDIR(path.lstat().st_mode):
            remove_tree(path)
        else:
            path.unlink()
    except FileNotFoundError:
        return


def write_json(path: Path, value: Any) -> None:
    """Write an object as JSON, atomically."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def write_text(path: Path, text: str) -> None:
    """Replace a text file as a whole: a reader sees the old text or the new one, never a part."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Replace a binary file as a whole, as `write_text` does. A link is replaced, not followed.

    Raises:
        OSError: there is no room, no permission, or a folder of that name.
    """
    with replaced(path) as file:
        file.write(content)


@contextmanager
def replaced(path: Path) -> Iterator[IO[bytes]]:
    """Context manager: open a file for writing; it appears under its name, or replaces an older
    one, only once it has been written completely.

    Raises:
        OSError: there is no room, no permission, or a folder of that name.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(temporary, flags, 0o644), "wb") as file:
            yield file
        temporary.replace(path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is None:
            error.filename = str(path)  # the error of a failed write has no file name
        raise


def refuse_unwritable(path: Path) -> None:
    """Refuse a folder that cannot be created or written to, as far as permissions tell.

    Raises:
        RunDirectoryError: it, or the nearest folder that exists, is a file or not writable.
    """
    made = missing_folders(path)
    folder = made[-1].parent if made else path
    if not folder.is_dir():
        raise unwritable(folder, NO_DIRECTORY)
    if not os.access(folder, os.W_OK | os.X_OK):
        is_read_only = os.statvfs(folder).f_flag & os.ST_RDONLY
        raise unwritable(path, os.strerror(errno.EROFS if is_read_only else errno.EACCES))


def unwritable(path: Path | str, why: str) -> RunDirectoryError:
    """Return the error of a run directory that cannot be written to."""
    return RunDirectoryError(
        f"cannot write to {one_line(str(path))} ({why}): choose another with --out DIR"
    )


def refuse_folder_of_others(path: Path, own: Collection[str], what: str) -> None:
    """Refuse a folder to write into that contains files other than netwarp's.

    Args:
        path: the folder, which need not exist.
        own: the names that the folder may contain.
        what: the kind of folder, for the message.

    Raises:
        RunDirectoryError: it contains something else; the message names the remedy.
    """
    try:
        names = sorted(each.name for each in path.iterdir())
    except OSError:
        return  # the folder does not exist; any other failure is reported when it is written
    others = [name for name in names if name not in own]
    if others:
        raise RunDirectoryError(
            f"{one_line(str(path))} is no {what} and has files of others"
            f" ({one_line(others[0])} for one): name with --out DIR one that is empty or not there"
        )
