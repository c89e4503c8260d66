"""Says what netwarp needs, whether it is here, and the exact command that mends it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from netwarp.backends.guest_files import endpoint_version, find_endpoint, find_kernel
from netwarp.backends.native import probe_host
from netwarp.backends.virtual import VirtualBackend, check_scratch, confined_to
from netwarp.errors import NetwarpError
from netwarp.execution import run_job
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
    """The result of looking at one thing that netwarp needs."""

    name: str
    ok: bool
    detail: str
    """What was found, or what is wrong and the remedy."""
    optional: bool = False
    """Whether virtual runs do without it."""


def examine() -> list[Finding]:
    """Look at everything a virtual run needs, down to booting a guest."""
    findings = [
        _look("python", _python),
        _look("architecture", _architecture),
        _look("kernel", _kernel),
        _look("endpoint", _endpoint),
        _look("tools", _tools),
        _look("memory", _memory),
    ]
    if all(finding.ok for finding in findings):
        findings.append(_look("guest", _guest))
        findings.append(replace(_look("confinement", _confinement), optional=True))
    return [*findings, replace(_look("native", _native), optional=True)]


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


def _architecture() -> str:
    machine = os.uname().machine
    if machine != "x86_64":
        raise NetwarpError(
            f"User-Mode Linux runs on x86_64, and this is {machine}: use such a host"
        )
    return machine


def _kernel() -> str:
    kernel = find_kernel()
    how = "seccomp" if kernel.has_seccomp else "ptrace (Linux 6.16 and later: seccomp, 30 % faster)"
    return f"Linux {kernel.info['version']} under {how}, {kernel.directory}"


def _endpoint() -> str:
    path = find_endpoint()
    return f"netwarp-endpoint {endpoint_version(path)['endpoint']}, {path}"


def _tools() -> str:
    programs = ("setpriv", "setarch", "taskset")
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        raise NetwarpError(f"{', '.join(missing)} missing: `apt-get install util-linux`")
    return ", ".join(programs)


def _memory() -> str:
    scratch = Path(os.environ.get("NETWARP_SCRATCH") or "/dev/shm")  # noqa: S108
    cpus = len(os.sched_getaffinity(0))
    check_scratch(scratch, guests=cpus)
    return (
        f"{scratch}: {shutil.disk_usage(scratch).free >> 20} MiB free for {cpus} guests at a time"
    )


def _confinement() -> str:
    with tempfile.TemporaryDirectory(prefix="netwarp-doctor-") as directory:
        confined = confined_to(find_endpoint(), Path(directory), must=True)
        tried = subprocess.run([*confined, "true"], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        raise NetwarpError(
            "a guest is kept from the host's files by its own kernel alone:"
            f" {tried.stderr.strip()}. Boot a kernel with CONFIG_SECURITY_LANDLOCK and"
            " landlock in lsm="
        )
    return "the host refuses what a guest writes outside its run directory (Landlock)"


def _native() -> str:
    capabilities = probe_host(find_endpoint())
    if capabilities.missing_path is not None:
        raise NetwarpError(f"not here: {capabilities.missing_path}")
    lacks = {
        "netem (nothing but an unimpaired path)": capabilities.missing_netem,
        "SCTP": capabilities.missing_sctp,
        "MPTCP": capabilities.missing_mptcp,
    }
    missing = [name for name, reason in lacks.items() if reason is not None]
    how = "in a user namespace" if capabilities.rootless else "as root"
    without = f", without {', '.join(missing)}" if missing else ""
    return (
        f"Linux {capabilities.kernel} {how}{without};"
        f" congestion control {', '.join(capabilities.congestion)}"
    )


def _guest() -> str:
    planned = plan_study(study_from_mapping(SMALLEST_RUN))[0]
    with tempfile.TemporaryDirectory(prefix="netwarp-doctor-") as directory:
        path = Path(directory)
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
