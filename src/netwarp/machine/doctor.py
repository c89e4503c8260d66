"""Checks what netwarp needs on this machine, and names the exact command that installs what is
missing.
"""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace

from netwarp.backends.base import NamedBackend
from netwarp.backends.needs import Machine, Need, require
from netwarp.backends.registry import backend_class, backend_names
from netwarp.backends.stack_building import describe_stacks
from netwarp.backends.virtual import VirtualBackend
from netwarp.errors import NetwarpError
from netwarp.execution import run_job
from netwarp.file_trees import temporary_directory
from netwarp.plan import plan_study
from netwarp.run_directory import CONSOLE_FILE
from netwarp.study import study_from_mapping

MINIMUM_PYTHON = (3, 11)
SMALLEST_RUN = {
    "title": "doctor: the smallest run",
    "replicates": 1,
    "path": {"rtt": "10ms"},
    "workload": {"kind": "bulk", "size": "1B"},
    "factors": {"transport": ["tcp"]},
}


@dataclass(frozen=True)
class Finding:
    """The result of checking one requirement of netwarp."""

    name: str
    ok: bool
    detail: str
    """What was found, or the problem and its remedy."""
    optional: bool = False
    """Whether runs in the default backend do not need it."""


def examine() -> list[Finding]:
    """Check everything that runs need, up to booting a guest."""
    default, *others = map(backend_class, backend_names())
    machine = Machine(jobs=len(os.sched_getaffinity(0)))
    needed = [_look("python", _python)]
    needed += [_look_for(need, machine) for need in default.needs if not need.optional]
    if all(finding.ok for finding in needed):
        needed.append(_look("guest", _guest))
        needed += [_look_for(need, machine) for need in default.needs if need.optional]
    stacks = replace(_look("stacks", describe_stacks), optional=True)
    return [*needed, *(_look_at(backend, machine) for backend in others if backend.needs), stacks]


def _look_for(need: Need, machine: Machine) -> Finding:
    found = _look(need.name, lambda: need.describe(machine))
    return replace(found, optional=need.optional)


def _look_at(backend: type[NamedBackend], machine: Machine) -> Finding:
    """Check everything that a backend needs; the last requirement provides the detail."""
    *before, last = backend.needs

    def describe() -> str:
        require(before, machine)
        return last.describe(machine)

    return replace(_look(backend.name, describe), optional=True)


def _look(name: str, look: Callable[[], str]) -> Finding:
    try:
        return Finding(name, ok=True, detail=look())
    except NetwarpError as error:
        return Finding(name, ok=False, detail=str(error))


def _python() -> str:
    if sys.version_info < MINIMUM_PYTHON:
        raise NetwarpError(
            f"Python {sys.version.split()[0]} is too old: `apt-get install python3.11`"
        )
    return f"Python {sys.version.split()[0]}"


def _guest() -> str:
    planned = plan_study(study_from_mapping(SMALLEST_RUN))[0]
    with temporary_directory("netwarp-doctor-") as path:
        outcome = run_job(VirtualBackend(), planned.job, path)
        if outcome.failed:
            console = (path / CONSOLE_FILE).read_text(errors="replace").strip()
            raise NetwarpError(
                f"a guest does not run: {outcome.status.reason}."
                f" Its console said: {console or 'nothing'}."
                " In a container, allow ptrace and seccomp"
                " (`--cap-add SYS_PTRACE --security-opt seccomp=unconfined`)"
            )
    return f"boots, moves a byte and powers off in {outcome.status.cpu_s:.2f} s of CPU time"
