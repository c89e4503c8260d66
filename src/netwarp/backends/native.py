"""The native backend: runs on the host's own kernel in real time, in namespaces that end with the
run.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from netwarp.backends.abilities import AT_THE_ENDS, BUILT, beyond
from netwarp.backends.guest_files import endpoint_version, find_endpoint
from netwarp.backends.needs import ENDPOINT, UMASK, Machine, Need, missing_directory
from netwarp.backends.outcome import status_of
from netwarp.backends.processes import Processes
from netwarp.backends.system_calls import OWN_CALLS, system_calls
from netwarp.backends.watch import Bounds
from netwarp.errors import BackendError
from netwarp.run_directory import Clock
from netwarp.run_status import Status
from netwarp.stacks import missing_program
from netwarp.transports import TRANSPORTS
from netwarp.wire import Job
from netwarp.wire.asked import asked
from netwarp.workloads import workload_of

ABILITIES_TIMEOUT_S = 30.0


@dataclass(frozen=True)
class HostCapabilities:
    """What the host's kernel can do, found by trying it: the output of ``netwarp-endpoint
    capabilities --json``.

    A field `missing_…` is None if the host supports the feature, otherwise the reason why not and
    the remedy.
    """

    kernel: str
    """The version of this machine's kernel, as `uname -r` prints it."""
    rootless: bool
    """Whether namespaces need a user namespace."""
    missing_path: str | None
    missing_netem: str | None
    missing_sctp: str | None
    missing_mptcp: str | None
    congestion: tuple[str, ...]
    """TCP congestion controls that are loaded."""
    socket_buffer_bytes: int
    """Largest buffer that a UDP or SCTP socket is granted in each direction; TCP's is set by its
    own sysctls.
    """
    missing_programs: str | None = None
    """Reason why programs of the machine cannot run: no file system can keep in memory what they
    write. None if one can.
    """
    missing_huge_pages: str | None = None
    """Reason why guests' memory cannot be in huge pages, which only virtual runs use; None if it
    can.
    """
    missing_shaper: str | None = None
    """Reason why no shaper can be set up; None if one can. A shaper enforces the rates that netem
    cannot: those that change, or that lie behind a queueing discipline.
    """

    @property
    def missing_protocols(self) -> Mapping[str, str]:
        """The reason why the kernel lacks a protocol, by its `TransportTraits.kernel_option`."""
        reasons = {"IP_SCTP": self.missing_sctp, "MPTCP": self.missing_mptcp}
        return {option: reason for option, reason in reasons.items() if reason is not None}

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> HostCapabilities:
        """Return the capabilities in the JSON object that `netwarp-endpoint capabilities`
        prints.
        """
        return cls(
            kernel=found["kernel"],
            rootless=found["rootless"],
            **{f"missing_{name}": reason for name, reason in found["missing"].items()},
            congestion=tuple(found["congestion"]),
            socket_buffer_bytes=found["socket_buffer_bytes"],
        )


def _require_path(capabilities: HostCapabilities) -> None:
    if capabilities.missing_path is not None:
        raise BackendError(f"the native backend cannot run here: {capabilities.missing_path}")


def _check_host(machine: Machine) -> HostCapabilities:
    capabilities = probe_host(find_endpoint(machine.environ))
    _require_path(capabilities)
    return capabilities


def _describe_host(machine: Machine) -> str:
    capabilities = _check_host(machine)
    lacks = {
        "netem (nothing but an unimpaired path)": capabilities.missing_netem,
        "rates that change and queueing disciplines": capabilities.missing_shaper,
        "SCTP": capabilities.missing_sctp,
        "MPTCP": capabilities.missing_mptcp,
        "programs of the machine": capabilities.missing_programs,
    }
    missing = [name for name, reason in lacks.items() if reason is not None]
    how = "in a user namespace" if capabilities.rootless else "as root"
    without = f", without {', '.join(missing)}" if missing else ""
    return (
        f"Linux {capabilities.kernel} {how}{without};"
        f" congestion control {', '.join(capabilities.congestion)}"
    )


NAMESPACES = Need("namespaces", _check_host, _describe_host)


class NativeBackend:
    """Runs jobs on this host's own kernel, one at a time, in real time."""

    name = "native"
    needs: tuple[Need, ...] = (system_calls(OWN_CALLS), ENDPOINT, UMASK, NAMESPACES)
    clock: Clock = "real"
    parallel = False
    interleaved = False
    sets_path = True
    suffix = "-native"
    cpu_is_free = False

    def __init__(
        self,
        bounds: Bounds | None = None,
        environ: Mapping[str, str] = os.environ,
        capabilities: HostCapabilities | None = None,
    ) -> None:
        self.endpoint = find_endpoint(environ)
        self.capabilities = capabilities or probe_host(self.endpoint)
        self._processes = Processes(bounds or Bounds())

    @classmethod
    def opened(cls, argument: str, bounds: Bounds) -> Self:
        """Open the native backend; see :class:`netwarp.backends.base.Backend`."""
        return cls(bounds)

    def check(self, jobs: int) -> None:
        """Check that this host's kernel can build a path between network namespaces."""
        _require_path(self.capabilities)

    def refuse(self, job: Job, sha256: str) -> str | None:
        """Return what a job requires that the host's kernel lacks; see :func:`host_refusal`."""
        return missing_directory(job) or host_refusal(self.capabilities, job)

    def run(
        self, job: Job, directory: Path, *, slot: int, on_progress: Callable[[float], None]
    ) -> Status:
        """Carry out one job; see :class:`netwarp.backends.base.Backend`."""
        if slot > 0:
            raise BackendError("the native backend carries out one run at a time: use --jobs 1")
        # The endpoint's roles die with it, and namespaces end with their last process.
        ending = self._processes.run(
            [self.endpoint, "native", "."], directory, {"PATH": "/usr/bin:/bin"}, on_progress
        )
        return status_of(directory, ending, who="the endpoint")

    def stop(self) -> None:
        """Kill the run under way."""
        self._processes.stop()

    def provenance(self) -> dict[str, Any]:
        """Versions and hashes of the host's kernel and of the endpoint."""
        return {
            "kernel": {
                "version": self.capabilities.kernel,
                "source": "the host's own",
                "namespaces": "user namespace" if self.capabilities.rootless else "root",
            },
            "endpoint": endpoint_version(self.endpoint),
        }


def host_refusal(capabilities: HostCapabilities, job: Job) -> str | None:
    """Return what a job requires and a host lacks, with the remedy; None if the host lacks nothing.
    Pure.
    """
    refusals = (_refusal_of_one(capabilities, each) for each in job.each_alone)
    return next(filter(None, refusals), None)


def _refusal_of_one(capabilities: HostCapabilities, job: Job) -> str | None:
    workload = workload_of(job)
    if workload.runs_programs(job) and capabilities.missing_programs is not None:
        return capabilities.missing_programs
    refused = workload.real_time_refusal(job)
    if refused is not None:
        return refused
    transport = job.only.transport
    missing = (missing_program(each.name, each.program) for each in transport.stacks)
    lacking = next(filter(None, missing), None)
    if lacking is not None:
        return lacking
    wanted = asked(job)
    reason = beyond(wanted, BUILT, "the native backend")
    if reason is not None:
        return reason
    impairment = next((each for each in wanted if each.feature not in AT_THE_ENDS), None)
    if impairment is not None and capabilities.missing_netem is not None:
        return f"it asks for {impairment}, and {capabilities.missing_netem}"
    if _needs_shaper(job) and capabilities.missing_shaper is not None:
        return capabilities.missing_shaper
    traits = TRANSPORTS[transport.kind]
    reason = capabilities.missing_protocols.get(traits.kernel_option or "")
    if reason is not None:
        return reason
    if traits.runs_over_tcp and transport.congestion not in capabilities.congestion:
        return (
            f"the host's kernel has no congestion control {transport.congestion!r} loaded, only"
            f" {', '.join(capabilities.congestion)}: `modprobe tcp_{transport.congestion}`, or use"
            " the virtual backend"
        )
    if transport.tcp.hystart is not None:
        return (
            "transport.hystart is a parameter of a whole kernel (tcp_cubic.hystart), and this one"
            " is the host's: leave it out, or use the virtual backend"
        )
    granted_bytes, wanted_bytes = capabilities.socket_buffer_bytes, transport.buffer_bytes
    if not traits.runs_over_tcp and wanted_bytes > granted_bytes:
        return (
            f"its sockets would be granted buffers of {granted_bytes} bytes instead of"
            f" {wanted_bytes}, less than TCP's:"
            f" `sysctl -w net.core.rmem_max={wanted_bytes} net.core.wmem_max={wanted_bytes}`,"
            " or run as root, or give all transports less with"
            f" --set transport.buffer={granted_bytes}B"
        )
    return None


def _needs_shaper(job: Job) -> bool:
    """Return whether a job's path needs a shaper, or a device for the queue as a shaper has one;
    see `shaper` and `queues_apart` in the endpoint.
    """
    return any(
        each.shaper_queue_bytes is not None
        or each.discipline is not None
        or (each.reorder.ratio > 0 and each.rate_bit_s is not None)
        or (each.duplicate_ratio > 0 and each.queue_packets is not None)
        for path in job.paths
        for each in (path.down, path.up)
    )


def probe_host(endpoint: Path) -> HostCapabilities:
    """Return what the host's kernel can do. The endpoint tries it, which takes a few milliseconds.

    Raises:
        BackendError: the endpoint could not be run, or its answer could not be read.
    """
    command = [str(endpoint), "capabilities", "--json"]
    try:
        answer = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=ABILITIES_TIMEOUT_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BackendError(f"cannot ask {endpoint} for the host's capabilities: {error}") from None
    if answer.returncode != 0:
        raise BackendError(
            f"`{endpoint} capabilities --json` failed: {answer.stderr.strip() or answer.returncode}"
        )
    try:
        return HostCapabilities.from_json(json.loads(answer.stdout))
    except (ValueError, TypeError, LookupError):
        raise BackendError(
            f"{endpoint} is not a netwarp-endpoint of this version: name one with"
            " NETWARP_ENDPOINT=PATH, or unset that"
        ) from None
