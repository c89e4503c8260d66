"""Hashes the endpoint's sources, to tell whether a built endpoint is one of them.

`scripts/setup.sh` runs this file by itself, before netwarp is installed, and keeps what it prints
as the stamp beside the endpoint that it built; so nothing but the standard library is imported.
"""

import os
import sys
from hashlib import sha256
from pathlib import Path

STAMP = "netwarp-endpoint.stamp"
"""The stamp's name in the virtual environment."""


def sources_sha256(folder: Path) -> str:
    """Hash the names and contents of all files below a folder, but for its own `target`.

    It is the hash of what `sha256sum` prints of them, in the order of their names' bytes.

    Raises:
        OSError: one cannot be read.
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
