"""Builds the stacks that netwarp ships, into the cache."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from netwarp.backends.building import run_builder
from netwarp.errors import BackendError
from netwarp.stacks import MANIFEST, SOURCES, built_stacks, read_manifest

REMEDIES: Mapping[str, str] = {
    "go": "install Go 1.26 or later (https://go.dev/dl), and put its bin directory into PATH",
    "cargo": "scripts/setup.sh rust",
}
"""How to come by what builds a stack."""


def shipped() -> list[str]:
    """Name the stacks whose sources come with netwarp."""
    return sorted(found.parent.name for found in SOURCES.glob(f"*/{MANIFEST}"))


def build_stack(name: str, environ: Mapping[str, str] = os.environ) -> Path:
    """Build a stack that netwarp ships.

    Returns:
        The directory where it is found from now on.

    Raises:
        BackendError: netwarp ships none of this name, what builds it is missing, or it fails.
    """
    sources = SOURCES / name
    if name not in shipped():
        raise BackendError(
            f"netwarp ships no stack {name} (it ships: {', '.join(shipped()) or 'none'}; sources"
            f" are looked for in {SOURCES})"
        )
    manifest = read_manifest(sources)
    place = built_stacks(environ) / name
    command = [word.replace("{out}", str(place)) for word in manifest.build]
    builder = shutil.which(command[0], path=environ.get("PATH"))
    if builder is None:
        remedy = REMEDIES.get(command[0], f"install {command[0]}")
        raise BackendError(f"the stack {name} is built by {command[0]}, which is missing: {remedy}")
    place.mkdir(parents=True, exist_ok=True)
    status = run_builder([builder, *command[1:]], cwd=sources, environ=environ)
    if status != 0:
        raise BackendError(f"building the stack {name} failed (status {status}): see above")
    # The manifest last: a stack is there when it is whole.
    shutil.copyfile(sources / MANIFEST, place / MANIFEST)
    return place
