"""What a machine must have for the runs of a backend, and how to tell whether it has it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from netwarp.backends.guest_files import endpoint_version, find_endpoint
from netwarp.errors import BackendError


@dataclass(frozen=True)
class Machine:
    """The machine as runs would find it."""

    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    jobs: int = 1
    """How many runs go at a time."""


@dataclass(frozen=True)
class Need:
    """One thing that a machine must have."""

    name: str
    check: Callable[[Machine], object]
    """Raises a `BackendError` that names what is missing and the remedy; quick, as it precedes
    every execution."""
    describe: Callable[[Machine], str]
    """Says what was found, for `netwarp doctor`; raises as `check` does."""
    optional: bool = False
    """Whether runs do without it."""


def require(needs: Iterable[Need], machine: Machine) -> None:
    """See that the machine has everything that is needed.

    Raises:
        BackendError: the first thing that is missing, with the remedy.
    """
    for need in needs:
        if not need.optional:
            need.check(machine)


def programs(*names: str) -> Need:
    """Need these programs of util-linux."""

    def check(_: Machine) -> None:
        missing = [name for name in names if shutil.which(name) is None]
        if missing:
            are = "is" if len(missing) == 1 else "are"
            raise BackendError(f"{', '.join(missing)} {are} missing: `apt-get install util-linux`")

    def describe(machine: Machine) -> str:
        check(machine)
        return ", ".join(names)

    return Need("tools", check, describe)


def _describe_endpoint(machine: Machine) -> str:
    path = find_endpoint(machine.environ)
    return f"netwarp-endpoint {endpoint_version(path)['endpoint']}, {path}"


ENDPOINT = Need("endpoint", lambda machine: find_endpoint(machine.environ), _describe_endpoint)
"""The endpoint program."""
