"""Builds the stacks that netwarp ships, into the cache."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from netwarp import plugins
from netwarp.backends.building import run_builder
from netwarp.errors import BackendError
from netwarp.stacks import MANIFEST, SOURCES, built_stacks, read_manifest, shipped
from netwarp.suggestions import nearest

REMEDIES: Mapping[str, str] = {
    "go": "install Go 1.26 or later (https://go.dev/dl), and put its bin directory into PATH",
    "cargo": "install Rust (rustup), or run `scripts/setup.sh rust` in a clone of netwarp",
    "cmake": "apt install cmake",
    "c++": "apt install g++",
    "python3": "apt install python3-venv",
}
"""Programs for building a stack, each with the remedy if it is missing."""


def build_stack(name: str, environ: Mapping[str, str] = os.environ) -> Path:
    """Build a stack that netwarp ships.

    Returns:
        The directory that contains the built stack.

    Raises:
        BackendError: netwarp has no stack of this name, a program for building it is missing, or
            the build fails.
    """
    sources = SOURCES / name
    if name not in shipped():
        if name in plugins.added("stacks"):
            package = plugins.package_of("stacks", name)
            raise BackendError(
                f"the stack {name} is the package {package}'s, and netwarp builds only those that"
                f" it ships: build its program as {package} says (`netwarp stack check {name}`"
                " says where it has to be)"
            )
        near = nearest(name, shipped())
        if near is not None:
            raise BackendError(f'netwarp ships no stack {name}: did you mean "{near}"?')
        raise BackendError(
            f"netwarp ships no stack {name} (it ships: {', '.join(shipped()) or 'none'}; sources"
            f" are looked for in {SOURCES})"
        )
    manifest = read_manifest(sources)
    place = built_stacks(environ) / name
    command = [word.replace("{out}", str(place)) for word in manifest.build]
    builder, *_ = [_builder(name, program, environ) for program in (command[0], *manifest.needs)]
    place.mkdir(parents=True, exist_ok=True)
    status = run_builder([builder, *command[1:]], cwd=sources, environ=environ)
    if status != 0:
        raise BackendError(f"building the stack {name} failed (status {status}): see above")
    # The manifest is copied last: a stack counts as built only when it is complete.
    shutil.copyfile(sources / MANIFEST, place / MANIFEST)
    return place


def _builder(stack: str, program: str, environ: Mapping[str, str]) -> str:
    """Return the program that builds a stack.

    Raises:
        BackendError: the program is missing.
    """
    found = shutil.which(program, path=environ.get("PATH"))
    if found is None:
        remedy = REMEDIES.get(program, f"install {program}")
        raise BackendError(f"the stack {stack} is built by {program}, which is missing: {remedy}")
    return found


def missing_builders(name: str, environ: Mapping[str, str] = os.environ) -> list[str]:
    """Return as text the programs that are missing for building a stack that netwarp ships: a line
    for each, with its remedy.
    """
    manifest = read_manifest(SOURCES / name)
    missing = []
    for program in (manifest.build[0], *manifest.needs):
        try:
            _builder(name, program, environ)
        except BackendError as error:
            missing.append(str(error))
    return missing


def describe_stacks(environ: Mapping[str, str] = os.environ) -> str:
    """Return as text which stacks are built here, and how the others can be built.

    Raises:
        BackendError: stacks are not built and cannot be; the message says what is missing for each.
    """
    built, unbuilt, missing = [], [], []
    for name in shipped():
        manifest = read_manifest(SOURCES / name)
        there = built_stacks(environ) / name
        version = read_manifest(there).version if (there / MANIFEST).is_file() else None
        if version == manifest.version:
            built.append(f"{name} {version}")
            continue
        unbuilt.append(name)
        missing += missing_builders(name, environ)
    if missing:
        raise BackendError("; ".join(missing))
    commands = "; ".join(f"netwarp stack build {name}" for name in unbuilt)
    told = f"built: {', '.join(built) or 'none'}"
    return f"{told}; not built: {commands}" if unbuilt else told
