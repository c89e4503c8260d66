"""Reads files that users name: only regular files, and only up to a size.

Reading a device may never end (``/dev/zero``), and reading a FIFO may block; a link can lead to
either.
"""

import os
import stat
from pathlib import Path

from netwarp.utf8 import is_utf8


class UnreadableFileError(Exception):
    """A file that cannot or must not be read. The error has the reason, and nothing of the file's
    contents.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


def read_regular_file(path: Path, most_bytes: int) -> bytes:
    """Read a whole file.

    Raises:
        UnreadableFileError: it cannot be opened, is not a regular file, or has more than
            `most_bytes`.
    """
    descriptor = _open(path)
    with open(descriptor, "rb") as file:  # noqa: PTH123 - it is open already
        try:
            content = file.read(most_bytes + 1)
        except OSError as error:
            raise UnreadableFileError(f"cannot be read: {error.strerror}") from None
    # The bytes are counted, as files in /proc have contents but a size of 0.
    if len(content) > most_bytes:
        raise UnreadableFileError(f"larger than the {most_bytes >> 20} MiB that are read")
    return content


def regular_file_size(path: Path) -> int:
    """Return the size in bytes of a regular, readable file.

    Raises:
        UnreadableFileError: it cannot be opened, or is not a regular file.
    """
    descriptor = _open(path)
    try:
        return os.fstat(descriptor).st_size
    finally:
        os.close(descriptor)


def located(name: str, folder: Path | None) -> str:
    """Return a file name as an absolute path: ``~`` is the home directory, and relative names
    belong to a folder.

    Args:
        name: the name as the user wrote it.
        folder: the folder to which relative names belong; None leaves the name unchanged.

    Raises:
        UnreadableFileError: the user after ``~`` does not exist, or no file can have this name.
    """
    if "\0" in name:
        raise UnreadableFileError("no file name has a NUL in it")
    try:
        # Not `Path.absolute`: dots are resolved here, links are kept.
        absolute = name if folder is None else os.path.abspath(folder / Path(name).expanduser())  # noqa: PTH100
    except RuntimeError:
        raise UnreadableFileError(f"{name.partition('/')[0]} has no home directory") from None
    if not is_utf8(absolute):
        raise UnreadableFileError("the file name is not UTF-8, which a job could not say")
    return absolute


def _open(path: Path) -> int:
    """Open a regular file, and return its descriptor; raise UnreadableFileError with the reason if
    that is not possible.
    """
    try:
        # The type is checked before opening, which has side effects on some devices.
        _refuse_special(path.stat().st_mode)
        return open_regular(path)
    except FileNotFoundError:
        raise UnreadableFileError("no such file") from None
    except OSError as error:
        raise UnreadableFileError(f"cannot be read: {error.strerror}") from None
    except ValueError:
        raise UnreadableFileError("no file name has a NUL in it") from None


def open_regular(path: Path, flags: int = 0) -> int:
    """Open a regular file for reading, and return its descriptor.

    Args:
        path: the name of the file.
        flags: flags of open(2) in addition to those for reading.

    Raises:
        OSError: it cannot be opened.
        UnreadableFileError: it was not a regular file when it was opened.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | flags)
    try:
        _refuse_special(os.fstat(descriptor).st_mode)
    except UnreadableFileError:
        os.close(descriptor)
        raise
    return descriptor


def _refuse_special(mode: int) -> None:
    if stat.S_ISREG(mode):
        return
    kinds = {
        stat.S_IFDIR: "a directory",
        stat.S_IFCHR: "a device",
        stat.S_IFBLK: "a device",
        stat.S_IFIFO: "a FIFO",
        stat.S_IFSOCK: "a socket",
    }
    what = kinds.get(stat.S_IFMT(mode), "something else")
    raise UnreadableFileError(f"{what}, not a regular file")


def is_file(path: Path) -> bool:
    """Return whether a path names a file; False if it cannot be examined, or is too long.

    `Path.is_file` raises in these cases, but not in every version of Python.
    """
    return os.path.isfile(path)  # noqa: PTH113


def is_folder(path: Path) -> bool:
    """Return whether a path names a folder; False if it cannot be examined, or is too long."""
    return os.path.isdir(path)  # noqa: PTH112


def is_there(path: Path) -> bool:
    """Return whether a path names anything that exists; False if it cannot be examined, or is too
    long.
    """
    return os.path.exists(path)  # noqa: PTH110


def is_link(path: Path) -> bool:
    """Return whether a path names a symbolic link; False if it cannot be examined, or is too
    long.
    """
    return os.path.islink(path)  # noqa: PTH114
