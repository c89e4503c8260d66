"""The temporary folder for runs of the pages, which is removed at the end, or by the next start.

A process that is killed removes nothing. So each process locks a file in its folder, and the kernel
releases the lock when the process ends in any way. A folder whose file is not locked is a leftover.
A process that is ended regularly starts another one, which waits for the lock and removes the
folder, because thousands of files take seconds on some disks, and Ctrl-C must not wait for them.
"""

import fcntl
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from netwarp.file_trees import remove_tree

PREFIX = "netwarp-ui-"
LOCK = "in-use"


@contextmanager
def locked_run_directory(place: Path | None = None) -> Iterator[Path]:
    """Context manager: create a temporary directory that is locked until the block ends, so that no
    other process removes it (see :func:`remove_when_unlocked`).

    Args:
        place: the directory in which it is created; None for the usual place (TMPDIR).

    Raises:
        OSError: it cannot be created.
    """
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=place))
    with (folder / f"{LOCK}.new").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        # It gets its name only once it is locked, so that others never see it unlocked.
        Path(lock.name).rename(folder / LOCK)
        yield folder


def remove_when_unlocked(folder: Path) -> subprocess.Popen[bytes]:
    """Start a process that removes a folder as soon as no process has locked it any more.

    Args:
        folder: the folder; this process may keep it locked until it ends.

    Raises:
        OSError: the process cannot be started.
    """
    # In a session of its own it goes on when the terminal is closed.
    return subprocess.Popen(
        [sys.executable, "-P", "-m", __name__, folder.absolute()],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True, cwd="/",
    )  # fmt: skip


def _remove_unlocked(folder: Path) -> None:
    with suppress(OSError):  # what cannot be removed stays, for the next start
        opened = os.open(folder / LOCK, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        fcntl.flock(opened, fcntl.LOCK_EX)
        remove_tree(folder)


def remove_leftovers(place: Path | None = None) -> None:
    """Remove this user's temporary folders of processes that have ended; what cannot be removed is
    left.

    Args:
        place: the directory in which they are; None for the usual place (TMPDIR).
    """
    for folder in (place or Path(tempfile.gettempdir())).glob(f"{PREFIX}*"):
        with suppress(OSError):
            if folder.lstat().st_uid == os.getuid() and _is_leftover(folder):
                remove_tree(folder)


def _is_leftover(folder: Path) -> bool:
    """Return whether a folder is a leftover. The locked file is created first, so a folder that has
    runs but no such file was left by an interrupted removal.

    Raises:
        OSError: it cannot be read.
    """
    if folder.is_symlink():
        return False
    names = {each.name for each in folder.iterdir()} - {f"{LOCK}.new"}
    return not _is_locked(folder / LOCK) if LOCK in names else bool(names)


def _is_locked(lock: Path) -> bool:
    """Return whether a process has locked a file.

    Raises:
        OSError: there is no such file.
    """
    opened = os.open(lock, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(opened)
    return False


if __name__ == "__main__":
    _remove_unlocked(Path(sys.argv[1]))
