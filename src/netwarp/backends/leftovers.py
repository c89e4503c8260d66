"""Removes what a guest leaves in its run directory that could harm those who read or keep it."""

import stat
from pathlib import Path

from netwarp.file_trees import Entry, for_each, open_up

KEPT_FOLDER = "written"
"""Folder of the files that programs wrote (`exec --keep`), in which symbolic links are kept."""


def make_harmless(directory: Path) -> None:
    """Remove links, devices, FIFOs and sockets below a directory, and set-user-ID bits of files.

    A program that has taken control of its guest's kernel writes there as the user who started
    netwarp, to any depth. Links among the files that programs wrote are kept, because netwarp
    follows none of them.

    Raises:
        OSError: something could not be changed; everything else is harmless now.
    """
    open_up(directory)
    for_each(directory, _make_harmless)


def _make_harmless(entry: Entry) -> None:
    if stat.S_ISDIR(entry.mode):
        entry.allow(stat.S_IRWXU)
    elif stat.S_ISREG(entry.mode):
        entry.allow(stat.S_IRUSR)
    elif not (entry.branch == KEPT_FOLDER and stat.S_ISLNK(entry.mode)):
        entry.unlink()
