"""Which CPU a guest is pinned to: one that no other guest of this user has."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@contextmanager
def free_cpu(cpus: Sequence[int], slot: int, locks: Path) -> Iterator[int]:
    """Hold a CPU while a guest runs on it.

    Two guests on one CPU take twice as long while another CPU idles, so whoever starts one, in this
    process or in another, takes a lock file of the CPU first. Locks end with their process.

    Args:
        cpus: those this process may use, not empty.
        slot: which of them is tried first, counted round; it is the one to share when guests have
            all of them.
        locks: a directory that all of this user's processes see.

    Yields:
        The CPU's number.
    """
    first = slot % len(cpus)
    for cpu in (*cpus[first:], *cpus[:first]):
        lock = _lock(locks / f"netwarp-{os.getuid()}-cpu{cpu}.lock")
        if lock is not None:
            try:
                yield cpu
            finally:
                os.close(lock)
            return
    yield cpus[first]


def _lock(path: Path) -> int | None:
    """Open and lock a file; None when somebody else holds it, or it cannot be opened."""
    try:
        file = os.open(path, _FLAGS, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        return None
    return file
