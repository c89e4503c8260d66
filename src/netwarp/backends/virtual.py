"""The virtual backend: User-Mode Linux in time-travel mode, with one guest for each run and one CPU
for each guest.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Self

from netwarp.backends.abilities import IN_GUESTS, beyond
from netwarp.backends.cpus import free_cpu
from netwarp.backends.fixed_addresses import FIXED_ADDRESSES, fixed_addresses
from netwarp.backends.full_memory import with_out_of_memory_reason
from netwarp.backends.guest_files import (
    GuestKernel,
    endpoint_version,
    find_endpoint,
    find_kernel,
)
from netwarp.backends.kernels import is_released, kernel_named, kernel_refusal, released_source
from netwarp.backends.launching import nothing, on_cpu
from netwarp.backends.leftovers import make_harmless
from netwarp.backends.native import probe_host
from netwarp.backends.needs import (
    ENDPOINT,
    PROGRAMS,
    TOOLS,
    UMASK,
    Machine,
    Need,
    missing_directory,
    missing_programs,
    require,
)
from netwarp.backends.outcome import status_of
from netwarp.backends.platforms import refused_machine
from netwarp.backends.processes import Processes
from netwarp.backends.scratch import MEMORY, scratch_directory
from netwarp.backends.spinning import ENDPOINT_LINK, spinner_text
from netwarp.backends.system_calls import CLOSE_RANGE, GUEST_CALLS, missing_calls, system_calls
from netwarp.backends.watch import Bounds
from netwarp.errors import BackendError
from netwarp.file_trees import temporary_directory
from netwarp.run_directory import CONSOLE_FILE, EPOCH_NS, Clock
from netwarp.run_files import remove
from netwarp.run_status import Status
from netwarp.stacks import missing_program
from netwarp.wire import Job
from netwarp.wire.asked import Asked, asked
from netwarp.workloads import needed_programs, runs_programs, workload_of
from netwarp.workloads.base import GUEST_MEMORY_BYTES

MEMORY_SLACK_BYTES = 16 << 20
"""Room in the file system for the guest's memory in addition to that memory: UML rounds up by less
than 1 MiB."""


def _check_architecture(_: Machine) -> None:
    refused = refused_machine(os.uname().machine, sys.maxsize.bit_length() + 1)
    if refused is not None:
        raise BackendError(refused)


def _describe_architecture(machine: Machine) -> str:
    _check_architecture(machine)
    return os.uname().machine


def _describe_kernel(machine: Machine) -> str:
    kernel = find_kernel(machine.environ)
    how = "seccomp" if kernel.has_seccomp else "ptrace (Linux 6.16 and later: seccomp, 30 % faster)"
    other = "" if is_released(kernel) else f", not {' '.join(released_source())} of this release"
    return f"Linux {kernel.info['version']} under {how}{other}, {kernel.directory}"


def _describe_confinement(machine: Machine) -> str:
    with temporary_directory("netwarp-doctor-") as directory:
        confined = enclosed_in(find_endpoint(machine.environ), directory, must=True)
        tried = subprocess.run([*confined, *nothing()], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        raise BackendError(
            "a program that takes over its guest's kernel, or mounts the machine's files there, is"
            f" held by less than it should be: {tried.stderr.strip()}. Boot a kernel with"
            " CONFIG_SECURITY_LANDLOCK and landlock in lsm= (Linux 6.12 and later), and allow user"
            " namespaces (`sysctl -w kernel.unprivileged_userns_clone=1`,"
            " `sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`; in a container"
            " `--security-opt seccomp=unconfined`)"
        )
    return (
        "guests have namespaces of their own, in which the run directory alone can be written to,"
        " and Landlock"
    )


def has_own_file_system(environ: Mapping[str, str]) -> bool:
    """Return whether guests' memory is in a separate file system, with huge pages if the machine
    has them. It is not if the user has set the directory for guests' memory.
    """
    return not environ.get("NETWARP_SCRATCH")


def _describe_huge_pages(machine: Machine) -> str:
    if not has_own_file_system(machine.environ):
        raise BackendError("guests have their memory in NETWARP_SCRATCH: unset it for huge pages")
    reason = probe_host(find_endpoint(machine.environ)).missing_huge_pages
    if reason is not None:
        raise BackendError(
            f"guests have ordinary pages, and short runs cost a third more CPU time: {reason}."
            " Run as root, or allow user namespaces"
            " (`sysctl -w kernel.unprivileged_userns_clone=1`,"
            " `sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`); the host's kernel needs"
            " CONFIG_TRANSPARENT_HUGEPAGE"
        )
    return "guests have their memory in huge pages, in a file system of their own"


ARCHITECTURE = Need("architecture", _check_architecture, _describe_architecture)
KERNEL = Need("kernel", lambda machine: find_kernel(machine.environ), _describe_kernel)
CONFINEMENT = Need("confinement", _describe_confinement, _describe_confinement, optional=True)
HUGE_PAGES = Need("huge pages", _describe_huge_pages, _describe_huge_pages, optional=True)


class VirtualBackend:
    """Runs jobs in guests whose clock jumps forward when idle."""

    name = "virtual"
    needs: tuple[Need, ...] = (
        ARCHITECTURE,
        system_calls(GUEST_CALLS),
        KERNEL,
        ENDPOINT,
        MEMORY,
        TOOLS,
        UMASK,
        CONFINEMENT,
        FIXED_ADDRESSES,
        HUGE_PAGES,
        PROGRAMS,
    )
    clock: Clock = "virtual"
    parallel = True
    interleaved = False
    sets_path = True
    suffix = ""
    cpu_is_free = True

    def __init__(
        self, bounds: Bounds | None = None, environ: Mapping[str, str] = os.environ
    ) -> None:
        self.environ = environ
        self.kernel = find_kernel(environ)
        self._named: dict[str, GuestKernel] = {}
        self.endpoint = find_endpoint(environ)
        self.scratch = scratch_directory(environ)
        self.cpus = sorted(os.sched_getaffinity(0))
        self.bounds = bounds or Bounds()
        self._processes = Processes(self.bounds)
        self._trying = threading.Lock()
        self._has_tried = False
        self._has_warned = False
        self._missing_confinement: str | None = None

    @classmethod
    def opened(cls, argument: str, bounds: Bounds) -> Self:
        """Open the virtual backend; see :class:`netwarp.backends.base.Backend`."""
        return cls(bounds)

    def check(self, jobs: int) -> None:
        """Check that the machine has what guests need, including memory for this many at a time."""
        require(self.needs, Machine(self.environ, jobs))

    def refuse(self, job: Job, sha256: str) -> str | None:
        """Return the reason why no guest can carry out a job: a stack, a program or a feature that
        it requires is missing. None if one can.
        """
        stacks = (stack for each in job.workloads for stack in each.transport.stacks)
        lacking = (missing_program(each.name, each.program) for each in stacks)
        return (
            next(filter(None, lacking), None)
            or beyond(_asked_of_guests(job), IN_GUESTS, "the virtual backend")
            or self._kernel_refusal(job)
            or (missing_calls([CLOSE_RANGE]) if self._is_under_seccomp(job) else None)
            or missing_directory(job)
            or missing_programs(needed_programs(job))
        )

    def run(
        self, job: Job, directory: Path, *, slot: int, on_progress: Callable[[float], None]
    ) -> Status:
        """Boot a guest for one job; see :class:`netwarp.backends.base.Backend`."""
        (directory / ENDPOINT_LINK).symlink_to(self.endpoint)
        must = self._is_confined(warns=runs_code_of_others(job))
        try:
            with (
                free_cpu(self.cpus, slot, self.scratch) as cpu,
                temporary_directory("netwarp-memory-", self.scratch) as memory,
            ):
                ending = self._processes.run(
                    self._command(cpu, job, memory, must=must),
                    directory,
                    guest_environment(self._kernel_of(job).preloaded, memory, job.seed),
                    on_progress,
                    partial(spinner_text, directory),
                )
        finally:
            make_harmless(directory)
            remove(directory / ".uml")
        status = status_of(directory, ending)
        return with_out_of_memory_reason(status, directory / CONSOLE_FILE, self.scratch)

    def stop(self) -> None:
        """Kill all guests."""
        self._processes.stop()

    def provenance(self) -> dict[str, Any]:
        """Versions and hashes of kernel and endpoint."""
        return {
            "kernel": dict(self.kernel.info),
            "kernel_command_line": " ".join(
                guest_command(
                    self.kernel.linux,
                    self.kernel.has_seccomp,
                    says_no_root_device=self.kernel.expects_root_device,
                )[1:]
            ),
            "endpoint": endpoint_version(self.endpoint),
        }

    def kernel_provenance(self, name: str) -> dict[str, Any]:
        """Return versions and hashes of the kernel of this name; see
        :class:`netwarp.backends.base.BootsKernels`.
        """
        kernel = self._kernel_named(name)
        return {"name": kernel.name, **kernel.info}

    def _kernel_of(self, job: Job) -> GuestKernel:
        """Return the kernel that a job names, or the default one.

        Raises:
            BackendError: the kernel is not built.
        """
        return self.kernel if job.kernel is None else self._kernel_named(job.kernel)

    def _kernel_named(self, name: str) -> GuestKernel:
        if name not in self._named:
            self._named[name] = kernel_named(name, self.environ)
        return self._named[name]

    def _kernel_refusal(self, job: Job) -> str | None:
        try:
            return kernel_refusal(self._kernel_of(job), job)
        except BackendError as error:
            return str(error)

    def _is_under_seccomp(self, job: Job) -> bool:
        """Whether a job's guest programs run under seccomp, which is faster than ptrace."""
        return self._kernel_of(job).has_seccomp and not runs_code_of_others(job)

    def _is_confined(self, *, warns: bool) -> bool:
        """Return whether this machine can confine guests. This is tried once, so that a later
        failure fails only the run in which it happens.

        Args:
            warns: whether to print, once, what is missing.
        """
        with self._trying:
            if not self._has_tried:
                self._has_tried = True
                try:
                    CONFINEMENT.check(Machine(self.environ))
                except BackendError as error:
                    self._missing_confinement = str(error)
            missing = self._missing_confinement
            if missing is not None and warns and not self._has_warned:
                self._has_warned = True
                logging.getLogger("netwarp").warning("warning: %s", missing)
            return missing is None

    @cached_property
    def _fixed_addresses(self) -> list[str]:
        """The command prefix that switches off address randomisation, for repeatability."""
        return fixed_addresses()

    def _command(self, cpu: int, job: Job, memory: Path, *, must: bool) -> list[str]:
        # A guest system call costs a quarter when pinned.
        pinned = [*self._fixed_addresses, *on_cpu(cpu)]
        memory_bytes = max(workload_of(each).memory_bytes(each) for each in job.each_alone)
        if has_own_file_system(self.environ):
            own_bytes = memory_bytes + MEMORY_SLACK_BYTES
            confined = enclosed_in(self.endpoint, Path(), must=must, own_memory_bytes=own_bytes)
        else:
            confined = enclosed_in(self.endpoint, Path(), memory, must=must)
        kernel = self._kernel_of(job)
        guest = guest_command(
            kernel.linux, self._is_under_seccomp(job), memory_bytes,
            says_no_root_device=kernel.expects_root_device,
        )  # fmt: skip
        return [*confined, *pinned, *guest]


def _asked_of_guests(job: Job) -> list[Asked]:
    """Return all features that a job requires of a guest, except its kernel, which is looked up by
    its name elsewhere.
    """
    return [each for each in asked(job) if not each.feature.startswith("kernel.")]


def runs_code_of_others(job: Job) -> bool:
    """Whether a job runs a program in the guest that is not netwarp's own: a command, a browser, a
    server, or a third-party stack.

    Under `seccomp=on` a guest program can make the guest kernel's system calls and owns its memory
    (arch/um/kernel/skas/stub.c, "Known security issues"); under ptrace it cannot.
    """
    return any(each.transport.stack is not None for each in job.workloads) or runs_programs(job)


def enclosed_in(
    endpoint: Path, *writable: Path, must: bool = False, own_memory_bytes: int | None = None
) -> list[str]:
    """Return the command prefix whose program can write only to its own directories.

    The guest's root is the host's, mounted read-only; but a guest that remounts it is root in its
    kernel. So the host refuses as well, with namespaces and Landlock as far as it supports them;
    with ``must`` the command fails if it does not. ``own_memory_bytes`` puts the guest's memory
    into a file system of this size, with huge pages if the host has them (``netwarp doctor`` says
    whether it does); otherwise TMPDIR is kept and is writable.
    """
    directories = (f"--writable={directory}" for directory in writable)
    own_memory = f"--own-memory={own_memory_bytes}"
    options = {"--enclosed": True, "--must": must, own_memory: own_memory_bytes is not None}
    asked = (option for option, is_asked in options.items() if is_asked)
    return [str(endpoint), "confine", *directories, *asked, "--"]


def guest_command(
    linux: Path,
    seccomp: bool,
    memory_bytes: int = GUEST_MEMORY_BYTES,
    *,
    says_no_root_device: bool = False,
) -> list[str]:
    """Build the guest kernel's command line.

    Except for the memory, which the job determines, it is the same for every run, user and machine:
    the kernel mixes its command line into its random pool (drivers/char/random.c,
    random_init_early), so a path in it would change the records. The run directory is therefore
    named through /proc/self/cwd, which the host resolves.
    """
    return [
        str(linux),
        f"mem={_memory_text(memory_bytes)}",
        "time-travel=inf-cpu",
        f"time-travel-start={EPOCH_NS}",
        *(["seccomp=on"] if seccomp else []),
        *(["root=none"] if says_no_root_device else []),
        "rootfstype=hostfs",
        "rootflags=/",
        "ro",
        f"init=/proc/self/cwd/{ENDPOINT_LINK}",
        "con=null",
        "con0=fd:0,fd:1",
        "norandmaps",
        "quiet",
        "--",
        "guest",
        "/proc/self/cwd",
    ]


def _memory_text(size_bytes: int) -> str:
    """Format a size with the largest unit of which it is a whole multiple."""
    mib = size_bytes >> 20
    return f"{mib >> 10}G" if mib % 1024 == 0 else f"{mib}M"


def guest_environment(preloaded: Path | None, scratch: Path, seed: int) -> dict[str, str]:
    """Build the environment of the guest kernel, without variables of the user's environment."""
    return {
        "PATH": "/usr/bin:/bin",
        "HOME": ".",  # for ~/.uml, into which UML writes its process number
        "TMPDIR": str(scratch),  # for the guest's memory, a file that is unlinked at once
        "NETWARP_SEED": str(seed),
        # Before 6.13 UML's processes for guest programs inherit what glibc registered (rseq(2)) and
        # not the memory that it lies in: the host ends them with SIGSEGV at their first signal.
        "GLIBC_TUNABLES": "glibc.pthread.rseq=0",
        **({} if preloaded is None else {"LD_PRELOAD": str(preloaded)}),
    }
