"""Checks what netwarp needs on this machine, and names the exact command that installs what is
missing.
"""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from importlib.util import find_spec

from netwarp.backends.base import NamedBackend
from netwarp.backends.guest_files import REPOSITORY
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
    """Whether runs in the default backend work without it."""


def examine() -> list[Finding]:
    """Check everything that runs need, from Python to booting a guest."""
    default, *others = map(backend_class, backend_names())
    machine = Machine(jobs=len(os.sched_getaffinity(0)))
    needed = [_finding("python", _python)]
    needed += [_look_for(need, machine) for need in default.needs if not need.optional]
    if all(finding.ok for finding in needed):
        needed.append(_finding("guest", _guest))
        needed += [_look_for(need, machine) for need in default.needs if need.optional]
    optional = [
        *(_look_at(backend, machine) for backend in others if backend.needs),
        *(replace(_finding(name, look), optional=True) for name, look in _OPTIONAL.items()),
    ]
    return said_once([*needed, *optional])


def said_once(findings: Sequence[Finding]) -> list[Finding]:
    """Return findings in which a problem that occurs again is replaced by a reference to the first
    finding with it.
    """
    first: dict[str, str] = {}
    for finding in findings:
        if not finding.ok:
            first.setdefault(finding.detail, finding.name)
    return [
        each
        if each.ok or first[each.detail] == each.name
        else replace(each, detail=f"the same as for {first[each.detail]}")
        for each in findings
    ]


def _look_for(need: Need, machine: Machine) -> Finding:
    found = _finding(need.name, lambda: need.describe(machine))
    return replace(found, optional=need.optional)


def _look_at(backend: type[NamedBackend], machine: Machine) -> Finding:
    """Check everything that a backend needs; the last requirement provides the text of the
    finding.
    """
    *before, last = backend.needs

    def describe() -> str:
        require(before, machine)
        return last.describe(machine)

    return replace(_finding(backend.name, describe), optional=True)


def _finding(name: str, look: Callable[[], str]) -> Finding:
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


def _pytest_plugin() -> str:
    told = describe_plugin(installed())
    if find_spec("pytest") is None:
        raise NetwarpError(
            "pytest is not installed in netwarp's Python environment, where it would find the"
            f" fixture netwarp_path: `{sys.executable} -m pip install pytest`"
        )
    return told


def installed() -> Distribution:
    """Return the metadata of the netwarp that is installed in this Python environment.

    Raises:
        NetwarpError: there is none, as when netwarp is run from its sources.
    """
    try:
        return distribution("netwarp")
    except PackageNotFoundError:
        raise NetwarpError(
            "netwarp is not installed in this Python environment, so pytest does not find its"
            f" plugin: {_REINSTALL}"
        ) from None


def describe_plugin(package: Distribution) -> str:
    """Return a description of the pytest plugin that an installation registers.

    Raises:
        NetwarpError: it registers none, because it is older than the plugin.
    """
    plugin = next(iter(package.entry_points.select(group="pytest11")), None)
    if plugin is None:
        raise NetwarpError(
            "this Python environment was set up when netwarp had no pytest plugin, so pytest does"
            f" not find the fixture netwarp_path: {_REINSTALL}"
        )
    return f"finds the fixture netwarp_path in {plugin.value}"


_REINSTALL = (
    f"run `make setup` in {REPOSITORY}"
    if (REPOSITORY / "pyproject.toml").is_file()
    else "run `pip install --force-reinstall --no-deps netwarp`"
)
_OPTIONAL: Mapping[str, Callable[[], str]] = {"pytest": _pytest_plugin, "stacks": describe_stacks}
"""Checks of optional things, which no backend needs, by name."""


def _guest() -> str:
    """Run a minimal job in a guest, and return as text the CPU time that it took."""
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
