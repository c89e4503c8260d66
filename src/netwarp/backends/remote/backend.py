"""The remote backend: runs in real time with this host as the client and another one as the
server.
"""

import os
import platform
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from netwarp.backends.cpus import CpuTimes, busy_share, cpu_times
from netwarp.backends.guest_files import endpoint_version, find_endpoint
from netwarp.backends.native import HostCapabilities, probe_host
from netwarp.backends.needs import ENDPOINT, Machine, Need, require
from netwarp.backends.outcome import status_of
from netwarp.backends.processes import Processes
from netwarp.backends.remote.admission import Limits, refusal
from netwarp.backends.remote.bridge import Bridge
from netwarp.backends.remote.channel import ChannelError, RefusedError
from netwarp.backends.remote.connecting import Connected, connect, parse_address
from netwarp.backends.remote.datagrams import ClockOffset
from netwarp.backends.remote.host_refusals import Host, host_refusal, path_refusal
from netwarp.backends.remote.identity import Identity, open_identity
from netwarp.backends.remote.imposing import Imposer, ImposingError, Receiver
from netwarp.backends.remote.measurement import path_measurement, with_measurements
from netwarp.backends.remote.messages import Lift, Lifted, Run, Running
from netwarp.backends.remote.offloads import offloads
from netwarp.backends.remote.probe import Measured, measure
from netwarp.backends.remote.session import (
    settable_congestion,
    shown_address,
    tcp_buffer_bytes,
    tcp_congestion,
)
from netwarp.backends.watch import Bounds, Ending
from netwarp.errors import BackendError
from netwarp.run_directory import RECORDS_FILE, Clock
from netwarp.run_status import Status
from netwarp.units import NS_PER_S
from netwarp.wire import Direction, Job, Record, job_to_json
from netwarp.wire.asked import asked
from netwarp.workloads import workload_of

START_TIMEOUT_S = 15.0
BRIDGE_TIMEOUT_S = 30.0
LIFT_TIMEOUT_S = 30.0
ENDING_S = 60.0
"""Time in s after the job's limit at which the server's role is killed. The role ends by itself
after half of it."""
KEPT = "what was finished is kept: start `netwarp serve` there again, and the same command goes on"


class RemoteBackend:
    """Runs jobs one at a time, with the client here and the server on another host.

    Args:
        server: host and port of `netwarp serve`.
        bounds: the limits beyond which a run is aborted.
        environ: where the endpoint and this host's identity are looked for.
    """

    name = "remote"
    needs: tuple[Need, ...] = (ENDPOINT,)
    clock: Clock = "real"
    parallel = False
    interleaved = True
    sets_path = False
    suffix = "-remote"
    cpu_is_free = False

    def __init__(
        self, server: tuple[str, int], bounds: Bounds | None = None,
        environ: Mapping[str, str] = os.environ,
    ) -> None:  # fmt: skip
        self.server = server
        self.endpoint = find_endpoint(environ)
        self.capabilities: HostCapabilities = probe_host(self.endpoint)
        self._processes = Processes(bounds or Bounds())
        self._connected: Connected | None = None
        self._cpus: CpuTimes | None = None

    @classmethod
    def opened(cls, argument: str, bounds: Bounds) -> Self:
        """Open the remote backend; see :class:`netwarp.backends.base.Backend`."""
        return cls(parse_address(argument, "the server's address"), bounds)

    def check(self, jobs: int) -> None:
        """Check that the server answers and that datagrams come back from it."""
        require(self.needs, Machine(jobs=jobs))
        self._measure()

    def refuse(self, job: Job, sha256: str) -> str | None:
        """Return what a job requires that the two hosts lack; see
        :mod:`netwarp.backends.remote.host_refusals`.
        """
        here, there = self._hosts()
        return (
            refusal(job, Limits(), self.connected.welcome.command_ports_from)
            or path_refusal(job, self._missing_imposing)
            or host_refusal(job, here)
            or host_refusal(job, there)
            or self._missing_programs(job)
        )

    def run(
        self, job: Job, directory: Path, *, slot: int, on_progress: Callable[[float], None]
    ) -> Status:
        """Carry out one job; see :class:`netwarp.backends.base.Backend`.

        Raises:
            BackendError: the server is gone; the run has not ended and can be repeated.
        """
        if slot > 0:
            raise BackendError("the remote backend carries out one run at a time: use --jobs 1")
        before = self._measure()
        try:
            return self._run_between(job, directory, before, on_progress)
        except RefusedError as error:
            return Status("failed", f"the server refused: {error}", 0.0, 0.0, 0, 0.0)
        except ChannelError as error:
            raise self._server_gone_error(error) from None

    def stop(self) -> None:
        """Kill the run under way, and disconnect from the server."""
        self._processes.stop()
        if self._connected is not None:
            # This may be another thread; a thread that waits on the connection then sees its end.
            self._connected.channel.connection.shutdown(socket.SHUT_RDWR)

    def provenance(self) -> dict[str, Any]:
        """Return the kernels, endpoints and offloads of both hosts."""
        welcome = self.connected.welcome
        local = self.connected.channel.connection.getsockname()[0]
        return {
            "kernel": {
                "version": f"{platform.release()} (client), {welcome.kernel.removeprefix('Linux ')}"
                " (server)",
                "source": "the hosts' own",
            },
            "endpoint": endpoint_version(self.endpoint),
            "offloads": {"client": list(offloads(local)), "server": welcome.offloads},
            "server": {
                "address": shown_address(self.server),
                "netwarp": welcome.netwarp,
                "endpoint_sha256": welcome.endpoint_sha256,
                "kernel": welcome.kernel,
                "cpu": welcome.cpu,
                "cores": welcome.cores,
            },
        }

    @cached_property
    def identity(self) -> Identity:
        """The key of this host, and the certificates of its paired hosts."""
        return open_identity()

    @property
    def connected(self) -> Connected:
        """The connection to the server, which is opened when it is first needed."""
        if self._connected is None:
            version = endpoint_version(self.endpoint)["endpoint"]
            self._connected = connect(self.server, self.identity, version)
        return self._connected

    def _missing_programs(self, job: Job) -> str | None:
        """Return the reason why this host cannot run the client's program of a job; None if it can,
        or the job has no program.
        """
        workload = workload_of(job)
        missing = self.capabilities.missing_programs if workload.runs_programs(job) else None
        return missing or workload.real_time_refusal(job)

    def _hosts(self) -> tuple[Host, Host]:
        """Return the properties of this host and of the server that decide which jobs they can
        carry out.
        """
        welcome, mine = self.connected.welcome, self.capabilities
        return (
            Host(
                "this host", mine.missing_protocols, settable_congestion(mine.congestion),
                mine.socket_buffer_bytes, tcp_buffer_bytes(), tcp_congestion(),
            ),
            Host(
                "the server", welcome.lacks, tuple(welcome.congestion),
                welcome.socket_buffer_bytes, welcome.tcp_buffer_bytes,
                welcome.tcp_congestion,
            ),
        )  # fmt: skip

    @cached_property
    def _imposer(self) -> Imposer:
        """Impairs the packets that arrive at this host from the server."""
        connected = self.connected
        local = connected.channel.connection.getsockname()[0]
        port = connected.welcome.data_port
        return Imposer(Receiver(self.endpoint, "down", local, connected.address, port))

    @cached_property
    def _refusal_here(self) -> str | None:
        return self._imposer.receiver.refusal()

    def _missing_imposing(self, direction: Direction) -> str | None:
        there = self.connected.welcome.missing_imposing
        return self._refusal_here if direction == "down" else there

    def _measure(self) -> Measured:
        """Measure the path to the server; raise BackendError if no datagram comes back."""
        measured = self._measure_path()
        if measured.offset is None:
            port, address = self.connected.welcome.data_port, self.connected.address
            raise BackendError(
                f"no datagram comes back from UDP port {port} of {address}, so neither path nor"
                f" clocks can be measured: open port {port} there, TCP and UDP, for this host"
            )
        return measured

    def _measure_path(self) -> Measured:
        """Measure the path to the server, even if it loses all packets."""
        connected = self.connected
        try:
            return measure(connected.channel, (connected.address, connected.welcome.data_port))
        except RefusedError as error:
            raise BackendError(f"the server refused to have the path measured: {error}") from None
        except ChannelError as error:
            raise self._server_gone_error(error) from None

    def _run_between(
        self, job: Job, directory: Path, before: Measured, on_progress: Callable[[float], None]
    ) -> Status:
        offset = before.offset
        if offset is None:
            raise AssertionError("a path is measured before a run")
        measured = [path_measurement("before", before, offset, self._busy())]
        try:
            self._imposer.begin(job)
            ending = self._run_bridged(job, directory, offset, on_progress)
            imposed, failure = self._remove_impairments(job)
        except ImposingError as error:
            return Status("failed", f"this host imposes nothing: {error}", 0.0, 0.0, 0, 0.0)
        finally:
            self._imposer.end()
        after = path_measurement("after", self._measure(), offset, self._busy())
        self._write_measurements(directory / RECORDS_FILE, *measured, *imposed, after)
        status = status_of(directory, ending, who="the endpoint")
        if failure is not None and status.outcome == "ok":
            return replace(status, outcome="failed", reason=f"what was imposed: {failure}")
        return status

    def _run_bridged(
        self, job: Job, directory: Path, offset: ClockOffset, on_progress: Callable[[float], None]
    ) -> Ending:
        """Run the client's and the server's role to their end. The impairments at the server remain
        until they are removed.
        """
        connected = self.connected
        connected.channel.send(Run(job=job_to_json(job)))
        token = connected.channel.receive(Running, START_TIMEOUT_S).token
        ours, theirs = socket.socketpair()
        bridge = Bridge(connected.channel, ours, job.limits.virtual_ns / NS_PER_S + ENDING_S)
        bridge.start()
        try:
            with theirs:
                ending = self._processes.run(
                    [
                        self.endpoint, "remote", ".", "--address", connected.address,
                        "--port", str(connected.welcome.data_port),
                        "--server-fd", str(theirs.fileno()),
                        "--server-clock-ns", str(offset.middle_ns),
                    ],
                    directory,
                    {"PATH": "/usr/bin:/bin", "NETWARP_RUN_TOKEN": token},
                    on_progress,
                    inherited=(theirs.fileno(),),
                )  # fmt: skip
        finally:
            bridge.join(BRIDGE_TIMEOUT_S)
        if bridge.lost is not None or bridge.is_alive():
            raise ChannelError(bridge.lost or "it did not end the run")
        return ending

    def _remove_impairments(self, job: Job) -> tuple[Sequence[Record], str | None]:
        """Measure the path once more while it is still impaired, then remove the impairments at
        both hosts.

        Returns:
            The records of the impairments and of their packet counts, and what was wrong with the
                impairments; None if nothing was.
        """
        if not asked(job):
            return (), None
        self._imposer.count()
        through = path_measurement("imposed", self._measure_path(), None, self._busy())
        channel = self.connected.channel
        channel.send(Lift())
        there = channel.receive(Lifted, LIFT_TIMEOUT_S)
        here = self._imposer.end()
        theirs = (there.imposed, there.calibration)
        if any(each is not None and each.direction != "up" for each in theirs):
            raise ChannelError("it tells of packets that it cannot have received")
        records = [*here.records, *(each for each in theirs if each is not None), through]
        return records, here.failure or there.failure

    def _busy(self) -> float | None:
        """Return the share of this host's CPU time, from 0 to 1, that was used since the last call;
        None in the first call.
        """
        before, self._cpus = self._cpus, cpu_times()
        return None if before is None else busy_share(before, self._cpus)

    def _write_measurements(self, records: Path, *measurements: Record) -> None:
        """Insert the path measurements from before and after a run into its records, before the
        last record.
        """
        if records.is_file():
            records.write_text(with_measurements(records.read_text(), measurements))

    def _server_gone_error(self, error: Exception) -> BackendError:
        if self._connected is not None:
            self._connected.channel.close()
            self._connected = None
        return BackendError(f"the server at {shown_address(self.server)} is gone ({error}); {KEPT}")
