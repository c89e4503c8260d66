"""Hashes the endpoint's sources, to determine whether a built endpoint is up to date.

`scripts/setup.sh` runs this file by itself, before netwarp is installed, and stores its output as
the stamp beside the endpoint that it built; so only the standard library is imported.
"""

import os
import sys
from hashlib import sha256
from pathlib import Path

STAMP = "netwarp-endpoint.stamp"
"""The stamp's file name in the virtual environment."""


def sources_sha256(folder: Path) -> str:
    """Hash the names and contents of all files below a folder, except its own `target`.

    It is the hash of the output of `sha256sum` for these files, in the byte order of their names.

    Raises:
        OSError: a file cannot be read.
    """
    lines = (
        sha256(path.read_bytes()).hexdigest().encode() + b"  " + name
        for name, path in sorted(_files(folder))
    )
    return sha256(b"".join(line + b"\n" for line in lines)).hexdigest()


def _files(folder: Path) -> list[tuple[bytes, Path]]:
    found = []
    for place, folders, names in os.walk(folder):
        if place == str(folder) and "target" in folders:
            folders.remove("target")
        paths = [Path(place, name) for name in names]
        found += [path for path in paths if path.is_file() and not path.is_symlink()]
    return [(os.fsencode(f"./{path.relative_to(folder)}"), path) for path in found]


if __name__ == "__main__":
    sys.stdout.write(f"{sources_sha256(Path(sys.argv[1]))}  -\n")
