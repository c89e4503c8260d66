"""Handles trees of files that others have made, of any depth: visits, removes, or temporarily
creates them.

Each name is opened relative to its directory's descriptor, and no link is followed (openat(2),
O_NOFOLLOW). Paths may be longer than the kernel accepts (PATH_MAX), and deeper than open files or
Python's stack allow: one directory is open at a time, and the walk returns by `..`. A failure does
not end a walk; the first one is raised after everything else was done.
"""

import errno
import fcntl
import glob
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LOCKED = ".locked"
"""Suffix of the name of a temporary directory that is locked. Earlier versions used another suffix,
and no lock."""


def current_umask() -> int:
    """Return the process's umask. `os.umask` returns it only while it sets another one."""
    status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    found = (line.split()[1] for line in status.splitlines() if line.startswith("Umask:"))
    return int(next(found), 8)


@dataclass(frozen=True)
class Entry:
    """An entry of a directory in the tree, such as a file or a directory. It is visited before the
    entries below it.
    """

    folder: int
    """Descriptor of the directory that contains the entry, which is valid only during the call that
    receives it.
    """
    name: str
    branch: str
    """Name in the tree's top directory below which the entry lies; empty if it lies in the top
    directory itself.
    """
    mode: int
    """Type and permissions (`st_mode`), for a link those of the link itself."""

    def unlink(self) -> None:
        """Remove the entry, which must not be a directory."""
        os.unlink(self.name, dir_fd=self.folder)

    def allow(self, owner: int, most: int = 0o777) -> None:
        """Add permissions for the entry's owner, and remove its set-id and sticky bits.

        Nothing happens if it is no longer a directory or a regular file.

        Args:
            owner: the permissions that are added.
            most: the permissions that the entry keeps if it has them; all others are removed.
        """
        permissions = self.mode & most | owner
        if stat.S_IMODE(self.mode) == permissions:
            return
        # Linux has no fchmodat(2) that leaves links alone, but a descriptor that opens nothing.
        flags = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
        found = os.open(self.name, flags, dir_fd=self.folder)
        try:
            if stat.S_IFMT(os.fstat(found).st_mode) in (stat.S_IFDIR, stat.S_IFREG):
                os.chmod(f"/proc/self/fd/{found}", permissions)  # noqa: PTH101
        finally:
            os.close(found)


@dataclass
class _Level:
    """A directory on the way from the top of a tree to the current position of a walk."""

    identity: tuple[int, int]
    folders: list[str]
    """Subdirectories that have not been entered yet."""
    entered: str = ""
    """The subdirectory in which the walk is, or was last."""


class _Walk:
    def __init__(
        self, visit: Callable[[Entry], None], leave: Callable[[int, str], None] | None
    ) -> None:
        self._visit, self._leave = visit, leave
        self._levels: list[_Level] = []
        self._here = -1
        self.failure: OSError | None = None

    def go(self, top: Path) -> None:
        try:
            self._enter(os.open(top, _FOLDER_FLAGS))
            while self._levels:
                if self._levels[-1].folders:
                    self._go_down()
                else:
                    self._go_up()
        finally:
            if self._here >= 0:
                os.close(self._here)

    def _enter(self, folder: int) -> None:
        """Enter a directory, visit the names in it, and store its subdirectories."""
        if self._here >= 0:
            os.close(self._here)
        self._here = folder
        about = os.fstat(folder)
        level = _Level((about.st_dev, about.st_ino), [])
        self._levels.append(level)
        for name in os.listdir(folder):
            branch = self._levels[0].entered if len(self._levels) > 1 else ""
            with self._storing_first_error():
                mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
                if stat.S_ISDIR(mode):
                    level.folders.append(name)
                self._visit(Entry(folder, name, branch, mode))

    def _go_down(self) -> None:
        level = self._levels[-1]
        level.entered = level.folders.pop()
        with self._storing_first_error():
            self._enter(os.open(level.entered, _FOLDER_FLAGS, dir_fd=self._here))

    def _go_up(self) -> None:
        self._levels.pop()
        if not self._levels:
            return
        level = self._levels[-1]
        folder = os.open("..", _FOLDER_FLAGS, dir_fd=self._here)
        os.close(self._here)
        self._here = folder
        about = os.fstat(folder)
        if (about.st_dev, about.st_ino) != level.identity:
            raise OSError(errno.ESTALE, "somebody moves its directories meanwhile")
        if self._leave is not None:
            with self._storing_first_error():
                self._leave(folder, level.entered)

    @contextmanager
    def _storing_first_error(self) -> Iterator[None]:
        """Context manager: store the first `OSError` that is raised in the block, and continue
        after it.
        """
        try:
            yield
        except OSError as error:
            self.failure = self.failure or error


def for_each(
    top: Path, visit: Callable[[Entry], None], leave: Callable[[int, str], None] | None = None
) -> None:
    """Visit everything below a directory.

    Args:
        top: the directory, which must not be a link.
        visit: called with each name; for a directory, before it is entered.
        leave: called with the descriptor of a directory's parent and the directory's name, after
            everything below it was visited.

    Raises:
        OSError: the first failure, after everything else was visited.
    """
    walk = _Walk(visit, leave)
    walk.go(top)
    if walk.failure is not None:
        raise walk.failure


def open_up(top: Path, permissions: int | None = None) -> None:
    """Allow the owner of a directory (not a link) to list and change it, and clear its set-id bits.

    Args:
        top: the directory.
        permissions: further permissions that it gets; with None, it keeps those that it has.

    Raises:
        OSError: it does not exist, is not a directory, or belongs to another user.
    """
    folder = os.open(top.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        mode = os.stat(top.name, dir_fd=folder, follow_symlinks=False).st_mode
        top_entry = Entry(folder, top.name, "", mode)
        if permissions is None:
            top_entry.allow(stat.S_IRWXU)
        else:
            top_entry.allow(stat.S_IRWXU | permissions, 0)
    finally:
        os.close(folder)


def remove_tree(top: Path) -> None:
    """Remove a directory (not a link) with everything in it.

    Raises:
        OSError: something could not be removed; everything else has been.
    """
    open_up(top)
    for_each(top, _remove_or_open_up, lambda parent, name: os.rmdir(name, dir_fd=parent))
    top.rmdir()


def _remove_or_open_up(entry: Entry) -> None:
    if stat.S_ISDIR(entry.mode):
        entry.allow(stat.S_IRWXU)
    else:
        entry.unlink()


@contextmanager
def temporary_directory(prefix: str, place: Path | None = None) -> Iterator[Path]:
    """Create a directory that no other user can enter, and remove it with everything in it when the
    context ends.

    A process that is killed removes nothing. So the directory is locked, and the lock ends with the
    process; the next process with this prefix removes directories that are not locked any more.

    `tempfile.TemporaryDirectory` follows links when it removes (CVE-2023-6597, Python before
    3.11.8), and fails if a tree is deep.

    Args:
        prefix: the beginning of the directory's name.
        place: the directory in which it is created; None for the default one (TMPDIR).

    Raises:
        OSError: it cannot be created, or something in it cannot be removed.
    """
    for left in leftovers(prefix, Path(tempfile.gettempdir()) if place is None else place):
        with suppress(OSError):
            remove_tree(left)
    made, lock = _locked_directory(prefix, place)
    try:
        yield made
    finally:
        try:
            with suppress(FileNotFoundError):
                remove_tree(made)
        finally:
            os.close(lock)


def leftovers(prefix: str, place: Path) -> Iterator[Path]:
    """Yield this user's temporary directories of processes that have ended. Each is locked until
    the next one is yielded.

    Args:
        prefix: the beginning of the directories' names.
        place: the directory in which they are.
    """
    for found in place.glob(f"{glob.escape(prefix)}*{_LOCKED}"):
        with suppress(OSError):
            lock = os.open(found, _FOLDER_FLAGS)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.fstat(lock).st_uid == os.getuid():
                    yield found
            finally:
                os.close(lock)


def _locked_directory(prefix: str, place: Path | None) -> tuple[Path, int]:
    """Create a directory, and return it with the descriptor of its lock."""
    while True:
        made = Path(tempfile.mkdtemp(prefix=prefix, suffix=_LOCKED, dir=place))
        # Until it is locked, others take it for one of a process that has ended, and remove it.
        with suppress(FileNotFoundError):
            lock = os.open(made, _FOLDER_FLAGS)
            fcntl.flock(lock, fcntl.LOCK_EX)
            if made.exists():
                return made, lock
            os.close(lock)
