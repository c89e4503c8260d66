"""The native backend: the host's own kernel in real time, in namespaces that end with the run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netwarp.backends.guest_files import endpoint_version, find_endpoint
from netwarp.backends.outcome import status_of
from netwarp.backends.watch import Bounds, ending_with_us, kill_group, watch
from netwarp.errors import BackendError
from netwarp.run_directory import CONSOLE_FILE, Clock, Status
from netwarp.wire import Direction, Job, TransportKind

KERNEL_TCP: frozenset[TransportKind] = frozenset({"tcp", "tls", "mptcp"})
ABILITIES_TIMEOUT_S = 30.0


@dataclass(frozen=True)
class Abilities:
    """What the host's kernel can do, as ``netwarp-endpoint abilities --json`` found by trying it.

    What it lacks is None where it is there, else the reason and the remedy.
    """

    kernel: str
    """`uname -r`."""
    rootless: bool
    """Whether namespaces need a user namespace."""
    lacks_path: str | None
    lacks_netem: str | None
    lacks_sctp: str | None
    lacks_mptcp: str | None
    congestion: tuple[str, ...]
    """TCP congestion controls that are loaded."""
    socket_buffer_bytes: int
    """Largest buffer a UDP or SCTP socket is granted each way; TCP has sysctls of its own."""

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Abilities:
        """Take them from the endpoint's answer."""
        return cls(
            kernel=found["kernel"],
            rootless=found["rootless"],
            **{f"lacks_{name}": reason for name, reason in found["lacks"].items()},
            congestion=tuple(found["congestion"]),
            socket_buffer_bytes=found["socket_buffer_bytes"],
        )


class NativeBackend:
    """Runs jobs one at a time on the host's kernel."""

    name = "native"
    clock: Clock = "real"
    one_at_a_time = True

    def __init__(
        self,
        bounds: Bounds | None = None,
        environ: Mapping[str, str] = os.environ,
        abilities: Abilities | None = None,
    ) -> None:
        self.bounds = bounds or Bounds()
        self.endpoint = find_endpoint(environ)
        self.abilities = abilities or ask_abilities(self.endpoint)
        self._running: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._stopped = False

    def check(self) -> None:
        """See that a path can be built and that the tools exist."""
        if self.abilities.lacks_path is not None:
            raise BackendError(f"the native backend cannot run here: {self.abilities.lacks_path}")
        if shutil.which("setpriv") is None:
            raise BackendError("setpriv is missing: `apt-get install util-linux`")

    def refuse(self, job: Job) -> str | None:
        """Say what a job asks for that the host's kernel lacks; see :func:`lack`."""
        return lack(self.abilities, job)

    def run(
        self, job: Job, directory: Path, *, slot: int, on_progress: Callable[[float], None]
    ) -> Status:
        """Carry out one job; see :class:`netwarp.backends.base.Backend`."""
        del job
        if slot > 0:
            raise BackendError("the native backend carries out one run at a time: use --jobs 1")
        with self._lock:
            if self._stopped:
                raise BackendError("the backend was stopped")
            process = self._running = self._start(directory)
        try:
            ending = watch(process, directory / CONSOLE_FILE, self.bounds, on_progress)
        finally:
            with self._lock:
                self._running = None
        return status_of(directory, ending, who="the endpoint")

    def stop(self) -> None:
        """Kill the run under way."""
        with self._lock:
            self._stopped = True
            if self._running is not None:
                kill_group(self._running)

    def provenance(self) -> dict[str, Any]:
        """The host's kernel, and the endpoint."""
        return {
            "kernel": {
                "version": self.abilities.kernel,
                "source": "the host's own",
                "namespaces": "user namespace" if self.abilities.rootless else "root",
            },
            "endpoint": endpoint_version(self.endpoint),
        }

    def _start(self, directory: Path) -> subprocess.Popen[bytes]:
        # Its roles die with the endpoint, and namespaces go with the last process in them.
        return subprocess.Popen(
            ending_with_us([self.endpoint, "native", "."]),
            cwd=directory,
            env={"PATH": "/usr/bin:/bin"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def lack(abilities: Abilities, job: Job) -> str | None:
    """Say what a job asks for that a host cannot do, with the remedy; None when it can. Pure."""
    transport = job.transport
    asked = _impairment(job)
    if asked is not None and abilities.lacks_netem is not None:
        return f"it asks for {asked}, and {abilities.lacks_netem}"
    if transport.kind == "sctp" and abilities.lacks_sctp is not None:
        return abilities.lacks_sctp
    if transport.kind == "mptcp" and abilities.lacks_mptcp is not None:
        return abilities.lacks_mptcp
    if transport.kind in KERNEL_TCP and transport.congestion not in abilities.congestion:
        return (
            f"the host's kernel has no congestion control {transport.congestion!r} loaded, only"
            f" {', '.join(abilities.congestion)}: `modprobe tcp_{transport.congestion}`, or use the"
            " virtual backend"
        )
    granted_bytes, wanted_bytes = abilities.socket_buffer_bytes, transport.buffer_bytes
    if transport.kind not in KERNEL_TCP and wanted_bytes > granted_bytes:
        return (
            f"its sockets would be granted buffers of {granted_bytes} bytes instead of"
            f" {wanted_bytes}, less than TCP's:"
            f" `sysctl -w net.core.rmem_max={wanted_bytes} net.core.wmem_max={wanted_bytes}`,"
            " or run as root, or give all transports less with"
            f" --set transport.buffer={granted_bytes}B"
        )
    return None


def ask_abilities(endpoint: Path) -> Abilities:
    """Have the endpoint try what the host's kernel can do; takes a few milliseconds.

    Raises:
        BackendError: it cannot be asked.
    """
    command = [str(endpoint), "abilities", "--json"]
    try:
        answer = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=ABILITIES_TIMEOUT_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BackendError(f"cannot ask {endpoint} for the host's abilities: {error}") from None
    if answer.returncode != 0:
        raise BackendError(
            f"`{endpoint} abilities --json` failed: {answer.stderr.strip() or answer.returncode}"
        )
    return Abilities.from_json(json.loads(answer.stdout))


def _impairment(job: Job) -> str | None:
    """Name the first thing a job wants done to packets on their way."""
    for path in job.paths:
        for way, direction in (("server to client", path.down), ("client to server", path.up)):
            found = _direction_impairment(direction)
            if found is not None:
                return f"{found} ({way})"
    if job.timeline.roams:
        return "a client that moves between paths"
    return None if job.timeline.is_empty else "a timeline of the path"


def _direction_impairment(direction: Direction) -> str | None:
    asked = {
        "a delay": direction.delay_ns > 0,
        "jitter": direction.jitter_ns > 0,
        "loss": direction.loss.kind != "none",
        "a rate": direction.rate_bit_s is not None or direction.shaper_queue_bytes is not None,
        "reordering": direction.reorder.ratio > 0,
        "duplicates": direction.duplicate_ratio > 0,
        "corruption": direction.corrupt_ratio > 0,
    }
    return next((name for name, is_asked in asked.items() if is_asked), None)
