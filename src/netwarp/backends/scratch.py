"""The scratch directory, which contains guests' memory: finds it, and checks that it is
suitable.
"""

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from netwarp.backends.needs import Machine, Need
from netwarp.backends.outcome import console_text
from netwarp.errors import BackendError

# Memory in bytes that a guest of a 10 MB transfer uses, rounded up.
MEMORY_TOUCHED_BYTES = 400 << 20
SCRATCH_GAVE_OUT = "Bus error - the host /dev/shm or /tmp mount likely just ran out of space"


PLACES = (Path("/dev/shm"), Path("/tmp"))  # noqa: S108
"""Directories in which guests' memory may be. In a container the first has 64 MiB, and is mounted
noexec.
"""


def scratch_directory(environ: Mapping[str, str], places: Sequence[Path] = PLACES) -> Path:
    """Return the directory for guests' memory: the one that NETWARP_SCRATCH names, else the first
    of `places` with room for one guest, else the first.
    """
    named = environ.get("NETWARP_SCRATCH")
    if named:
        return Path(named).absolute()
    return next((place for place in places if _unsuitable(place) is None), places[0])


def _unsuitable(scratch: Path) -> str | None:
    """Return the reason why a directory cannot contain a guest's memory; None if it can."""
    try:
        check_scratch(scratch, guests=1)
    except BackendError as error:
        return str(error)
    return None


def ran_out_of_scratch(console: Path) -> bool:
    """Return whether a guest died because its memory, which is a file, had no room to grow
    (arch/um's SIGBUS).
    """
    return SCRATCH_GAVE_OUT in console_text(console)


def full_scratch_text(scratch: Path) -> str:
    """Return the message that guests' memory has filled a directory, with the remedy."""
    return (
        f"{scratch}, where guests have their memory, is full"
        f" ({shutil.disk_usage(scratch).free >> 20} MiB free now): make room, run fewer at a time"
        " with --jobs N, or name another directory with NETWARP_SCRATCH=DIR"
    )


def check_scratch(scratch: Path, guests: int) -> None:
    """Check that a directory can contain the guests' memory.

    Raises:
        BackendError: it is missing, read-only, mounted noexec or too full.
    """
    other = "or name another directory with NETWARP_SCRATCH=DIR (best on a tmpfs)"
    if not (scratch.is_dir() and os.access(scratch, os.W_OK | os.X_OK)):
        raise BackendError(
            f"guest memory needs a writable {scratch}, and there is none:"
            f" `mount -t tmpfs tmpfs {scratch}`, {other}"
        )
    if os.statvfs(scratch).f_flag & os.ST_NOEXEC:
        raise BackendError(
            f"guest memory is executable, and {scratch} is mounted noexec:"
            f" `mount -o remount,exec {scratch}`, {other}"
        )
    free_bytes = shutil.disk_usage(scratch).free
    if free_bytes < guests * MEMORY_TOUCHED_BYTES:
        room = free_bytes // MEMORY_TOUCHED_BYTES
        fewer = f"run with --jobs {room}, " if 0 < room < guests else ""
        raise BackendError(
            f"{scratch} has {free_bytes >> 20} MiB free and {guests} guests at a time may need"
            f" {guests * MEMORY_TOUCHED_BYTES >> 20} MiB: make room, {fewer}{other}"
        )


def _check(machine: Machine) -> None:
    check_scratch(scratch_directory(machine.environ), guests=machine.jobs)


def _describe(machine: Machine) -> str:
    """Return as text which directory guests' memory is in, and how much room it has, for `netwarp
    doctor`.
    """
    _check(machine)
    scratch = scratch_directory(machine.environ)
    free_mib = shutil.disk_usage(scratch).free >> 20
    passed_over = _unsuitable(PLACES[0]) if scratch == PLACES[1] else None
    instead = f"; {passed_over}" if passed_over else ""
    return f"{scratch}: {free_mib} MiB free for {machine.jobs} guests at a time{instead}"


MEMORY = Need("memory", _check, _describe)
"""The requirement that there is room for the memory of all guests that run at a time."""
