"""What a guest leaves in its run directory: nothing that harms who reads or keeps it."""

import os
import stat
from pathlib import Path

KEPT_FOLDER = "written"
"""Folder of what programs wrote, in which links are kept as they were (`exec --keep`)."""


def make_harmless(directory: Path) -> None:
    """Remove links, devices, FIFOs and sockets below a directory, and set-user-ID bits of files.

    A program that has taken over its guest's kernel writes there as the user who started netwarp. A
    link in what programs wrote stays, as nothing of netwarp follows it.
    """
    # From the top, as a folder can be listed only after its mode was mended.
    for folder, folders, files in os.walk(directory):
        for path in (Path(folder) / name for name in (*folders, *files)):
            _make_harmless(path, keeps_links=path.is_relative_to(directory / KEPT_FOLDER))


def _make_harmless(path: Path, *, keeps_links: bool) -> None:
    mode = path.lstat().st_mode
    if stat.S_ISDIR(mode):
        wanted = mode & 0o777 | stat.S_IRWXU
    elif stat.S_ISREG(mode):
        wanted = mode & 0o777 | stat.S_IRUSR
    else:
        if not (keeps_links and stat.S_ISLNK(mode)):
            path.unlink()
        return
    if stat.S_IMODE(mode) != wanted:
        path.chmod(wanted)
