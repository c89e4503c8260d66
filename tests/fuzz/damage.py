"""Damages a run directory in one place, as disks, editors and strangers do."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

HOW = ("cut", "garbage", "gone", "empty", "folder", "other json", "loop")


@contextmanager
def damaged(rng: Random, directory: Path) -> Iterator[str]:
    """Damage one file of a run directory, say which and how, and put it back afterwards."""
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    tops = [path for path in files if path.parent == directory]
    path = rng.choice(tops if rng.random() < 0.5 else files)
    content = path.read_bytes()
    how = rng.choice(HOW)
    path.unlink()
    _put(rng, path, how, content)
    try:
        yield f"{path.relative_to(directory)}: {how}"
    finally:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
        path.write_bytes(content)


def _put(rng: Random, path: Path, how: str, content: bytes) -> None:
    match how:
        case "cut":
            path.write_bytes(content[: rng.randrange(len(content) + 1)])
        case "garbage":
            path.write_bytes(rng.randbytes(200))
        case "empty":
            path.touch()
        case "folder":
            path.mkdir()
        case "other json":
            path.write_text(json.dumps(rng.choice([[], {}, 1, None, [{"run": "../../x"}]])) + "\n")
        case "loop":
            path.symlink_to(path.name)
