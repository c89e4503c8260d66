"""Removes those files that a guest leaves in its run directory that could harm a user who reads or
keeps it.
"""

import stat
from functools import partial
from pathlib import Path

from netwarp.file_trees import Entry, current_umask, for_each, open_up

KEPT_FOLDER = "written"
"""Folder of the files that programs wrote (`exec --keep`), in which symbolic links are kept."""
_WRITTEN_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def make_harmless(directory: Path) -> None:
    """Remove links, devices, FIFOs and sockets below a directory, set-user-ID bits of files, and
    permissions that the user's umask does not give, or by which others could write.

    A program that has taken control of its guest's kernel writes there as the user who started
    netwarp, to any depth. Links among the files that programs wrote are kept, because netwarp
    follows none of them.

    Raises:
        OSError: something could not be changed; everything else is harmless now.
    """
    usual = 0o777 & ~current_umask()
    open_up(directory, usual)
    for_each(directory, partial(_make_harmless, usual & ~_WRITTEN_BY_OTHERS))


def _make_harmless(most: int, entry: Entry) -> None:
    if stat.S_ISDIR(entry.mode):
        entry.allow(stat.S_IRWXU, most)
    elif stat.S_ISREG(entry.mode):
        entry.allow(stat.S_IRUSR, most)
    elif not (entry.branch == KEPT_FOLDER and stat.S_ISLNK(entry.mode)):
        entry.unlink()
