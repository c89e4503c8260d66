"""Hashes the endpoint's sources, by which netwarp determines whether a built endpoint is up to
date.

`scripts/setup.sh` runs this file by itself, before netwarp is installed, and stores its output as
the stamp beside the endpoint that it built; so only the standard library is imported.
"""

import os
import sys
from hashlib import sha256
from pathlib import Path
from stat import S_ISREG

STAMP = "netwarp-endpoint.stamp"
"""File name, in the virtual environment, of the hash of the sources from which its endpoint was
built.
"""


def sources_sha256(folder: Path) -> str:
    """Return the SHA-256 of the names and contents of all files below a folder, except those in its
    own `target`.

    It is the hash of the output of `sha256sum` for these files, in the byte order of their names.

    Raises:
        OSError: a file cannot be read.
    """
    lines = []
    for name, path in sorted(_files(folder)):
        with open(path, "rb") as file:  # noqa: PTH123 - hundreds of files, before each run
            lines.append(sha256(file.read()).hexdigest().encode() + b"  " + name)
    return sha256(b"".join(line + b"\n" for line in lines)).hexdigest()


def sources_state(folder: Path) -> tuple[tuple[bytes, int, int, int], ...]:
    """Return name, inode, size and time of change of all files below a folder: the result differs
    once a file has been written or replaced.

    Raises:
        OSError: a file was removed while the files were listed.
    """
    found = ((name, os.stat(path)) for name, path in sorted(_files(folder)))  # noqa: PTH116
    return tuple((name, each.st_ino, each.st_size, each.st_ctime_ns) for name, each in found)


def _files(folder: Path) -> list[tuple[bytes, str]]:
    """Return the relative name and the path of each regular file below a folder, except those in
    its own `target`.
    """
    top = str(folder)
    found = []
    for place, folders, names in os.walk(top):
        if place == top and "target" in folders:
            folders.remove("target")
        paths = [f"{place}/{name}" for name in names]
        found += [path for path in paths if S_ISREG(os.lstat(path).st_mode)]
    return [(os.fsencode(f".{path[len(top) :]}"), path) for path in found]


if __name__ == "__main__":
    sys.stdout.write(f"{sources_sha256(Path(sys.argv[1]))}  -\n")
