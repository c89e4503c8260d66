"""The provenance of results: programs, machine, options, and whether all transports had the same
settings.
"""

import datetime
import os
import platform
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from typing import Any

from netwarp.backends.base import Backend, kernel_provenance
from netwarp.backends.cpus import cpu_model
from netwarp.execution.executor import Executor
from netwarp.plan.treatment import equal_treatment
from netwarp.study import Study


def provenance(
    study: Study,
    backend: Backend,
    executor: Executor,
    command_line: Sequence[str],
    kernels: Iterable[str] = (),
) -> dict[str, Any]:
    """Collect the provenance of one execution.

    Args:
        study: the study, with all overrides applied.
        backend: the backend, which describes its own kernel and endpoint.
        executor: the executor, which describes the CPUs that were used.
        command_line: the command line, as the user typed it.
        kernels: the guest kernels that runs name, besides the default one.

    Raises:
        BackendError: one of these kernels is not built, or the backend boots no kernels by name.
    """
    described = backend.provenance()
    names = sorted(set(kernels))
    # a replay has the kernels with which the runs were measured
    if names and "kernels" not in described:
        described["kernels"] = {name: kernel_provenance(backend, name) for name in names}
    return {
        "netwarp": version("netwarp"),
        "backend": backend.name,
        "clock": backend.clock,
        **described,
        "host": host(),
        "seed": study.seed,
        "replicates": study.replicates,
        "executor": executor.name,
        "jobs": executor.at_a_time(backend),
        "command_line": list(command_line),
        "started": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "equal_treatment": equal_treatment(study, sets_hosts=backend.sets_path),
    }


def host() -> dict[str, Any]:
    """Return a description of this machine, which affects how long runs take, but never the results
    of runs in virtual time.
    """
    uname = platform.uname()
    return {
        "system": f"{uname.system} {uname.release}",
        "architecture": uname.machine,
        "distribution": _distribution(),
        "cpu": cpu_model(),
        "cores": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
    }


def _distribution() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return "unknown"
