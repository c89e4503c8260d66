"""A server's session with one client: its description, measurements of the path, and runs."""

import hmac
import os
import platform
import secrets
import selectors
import socket
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from netwarp.backends.cpus import CpuTimes, busy_share, cpu_model, cpu_times
from netwarp.backends.guest_files import endpoint_version, find_endpoint
from netwarp.backends.native import HostCapabilities, probe_host
from netwarp.backends.remote.admission import Limits, refusal
from netwarp.backends.remote.channel import Channel, ChannelError
from netwarp.backends.remote.commands import Containment, containment, shown
from netwarp.backends.remote.host_refusals import never_imposed
from netwarp.backends.remote.imposing import Imposer, ImposingError, Receiver
from netwarp.backends.remote.messages import (
    PROTOCOL_VERSION,
    Begin,
    CloseProbe,
    Ended,
    Finish,
    Hello,
    Lift,
    Lifted,
    OpenProbe,
    Probing,
    Refused,
    Run,
    Running,
    Said,
    Stop,
    Welcome,
)
from netwarp.backends.remote.offloads import offloads
from netwarp.backends.remote.probe import Responder
from netwarp.backends.remote.role import RoleError, ServerRole
from netwarp.errors import RecordError
from netwarp.version import __version__
from netwarp.wire import Job, job_from_json
from netwarp.wire.asked import asked_of_direction
from netwarp.workloads import workload_of

TCP_SETTINGS = Path("/proc/sys/net/ipv4")
HELLO_TIMEOUT_S = 10.0
IDLE_TIMEOUT_S = 900.0
"""Time in s without a request after which a client is disconnected, because others may be
waiting."""
TIME_IS_OVER = "the server's time for a run was over"
GRACE_S = 15.0
"""Time in s within which a role must end after it was ordered to."""


@dataclass(frozen=True)
class ServerFacts:
    """The properties of a server that it reports to its clients."""

    netwarp: str
    endpoint: Path
    endpoint_version: Mapping[str, str]
    capabilities: HostCapabilities
    tcp_buffer_bytes: int
    cpu: str
    cores: int
    data_port: int
    containment: Containment | None = None
    """The limits on clients' commands; None if the server's owner allows no commands."""
    allows_netem: bool = False
    """Whether the server's owner allows it to impair packets that clients send
    (`--allow-netem`).
    """

    @property
    def command_ports_from(self) -> int | None:
        """The first port at which commands may listen; None if the server's owner allows no
        commands.
        """
        return None if self.containment is None else self.containment.ports_from

    def welcome(self, local: str, missing_imposing: str | None) -> Welcome:
        """Return the message with these facts for a client that has connected to an address of the
        server.

        Args:
            local: the address to which the client connected.
            missing_imposing: the reason why packets from that client cannot be impaired; None if
                they can.
        """
        return Welcome(
            version=PROTOCOL_VERSION,
            netwarp=self.netwarp,
            endpoint=self.endpoint_version["endpoint"],
            endpoint_sha256=self.endpoint_version["sha256"],
            kernel=f"Linux {platform.release()}",
            cpu=self.cpu,
            cores=self.cores,
            data_port=self.data_port,
            lacks=dict(self.capabilities.missing_protocols),
            congestion=list(settable_congestion(self.capabilities.congestion)),
            socket_buffer_bytes=self.capabilities.socket_buffer_bytes,
            tcp_buffer_bytes=self.tcp_buffer_bytes,
            missing_imposing=missing_imposing,
            offloads=list(offloads(local)),
            tcp_congestion=tcp_congestion(),
            command_ports_from=self.command_ports_from,
        )


class Session:
    """The session of one authenticated client, in its own thread.

    Args:
        channel: the connection to the client.
        facts: the description of this server.
        limits: the resources that a run may use.
        log: called with a line about the client, to print for the server's operator.
    """

    def __init__(
        self, channel: Channel, facts: ServerFacts, limits: Limits, log: Callable[[str], None]
    ) -> None:
        self.channel = channel
        self.facts = facts
        self.limits = limits
        self.log = log
        self.local = channel.connection.getsockname()[0]
        self.peer = channel.connection.getpeername()[0]
        self.runs = 0
        self._cpus: CpuTimes | None = None
        self._imposer = Imposer(
            Receiver(facts.endpoint, "up", self.local, self.peer, facts.data_port)
        )

    def serve(self) -> None:
        """Handle the client's requests until it disconnects.

        Raises:
            ChannelError: it has disconnected, or violated the protocol.
        """
        hello = self.channel.receive(Hello, HELLO_TIMEOUT_S)
        reason = self._refusal(hello)
        if reason is not None:
            self.channel.send(Refused(reason=reason))
            return
        self.channel.send(self.facts.welcome(self.local, self._missing_imposing()))
        try:
            self._serve_requests()
        finally:
            self._imposer.end()

    def _serve_requests(self) -> None:
        """Carry out the client's requests, one after another."""
        while True:
            match self.channel.receive_any(IDLE_TIMEOUT_S):
                case OpenProbe(token=token):
                    self._probe(bytes.fromhex(token))
                case Run(job=text):
                    self._run(text)
                case Lift():
                    undone = self._imposer.end()
                    self.channel.send(
                        Lifted(
                            imposed=undone.imposed,
                            calibration=undone.calibration,
                            failure=undone.failure and undone.failure[:2000],
                        )
                    )
                case Stop() | Finish():
                    continue  # a message about a run that had already ended by itself
                case other:
                    raise ChannelError(f"it says {other.message!r} while nothing is under way")

    def _refusal(self, hello: Hello) -> str | None:
        """Return the reason why a client is refused, which is that it is of another version; None
        if it is accepted.
        """
        ours = (PROTOCOL_VERSION, self.facts.endpoint_version["endpoint"])
        theirs = (hello.version, hello.endpoint)
        if ours == theirs:
            return None
        return (
            f"the server has endpoint {ours[1]} and protocol {ours[0]}, the client {theirs[1]} and"
            f" {theirs[0]}: install the same netwarp on both"
        )

    def _missing_imposing(self) -> str | None:
        if not self.facts.allows_netem:
            return "`netwarp serve` there was started without --allow-netem"
        refusal = self._imposer.receiver.refusal()
        return refusal and refusal[:2000]

    def _impose(self, job: Job) -> str | None:
        """Set up a job's impairments of incoming packets; return the reason if that fails, else
        None.
        """
        wanted = asked_of_direction(job.paths[0].up, "up")
        if wanted and not self.facts.allows_netem:
            return f"it asks for {wanted[0]}, without --allow-netem"
        reason = never_imposed(job, "up") if wanted else None
        if reason is not None:
            return reason
        try:
            self._imposer.begin(job)
        except ImposingError as error:
            return str(error)[:2000]
        return None

    def _probe(self, token: bytes) -> None:
        """Measure the path together with the client, whose datagrams carry this token."""
        try:
            responder = Responder((self.local, self.facts.data_port), self.peer, token)
        except OSError as error:
            self.channel.send(Refused(reason=f"its data port is not free: {error.strerror}"))
            return
        try:
            now = cpu_times()
            busy = None if self._cpus is None else busy_share(self._cpus, now)
            self._cpus = now
            self.channel.send(Probing(busy=busy))
            self._respond(responder)
            self.channel.send(responder.probed())
        finally:
            responder.close()

    def _respond(self, responder: Responder) -> None:
        """Answer the datagrams of a probe until the client reports that it has sent all of them."""
        with selectors.DefaultSelector() as selector:
            selector.register(self.channel, selectors.EVENT_READ)
            selector.register(responder.socket, selectors.EVENT_READ)
            while (left_s := responder.until_s - time.monotonic()) > 0:
                selector.select(left_s)
                responder.respond()
                for message in self.channel.arrived():
                    if not isinstance(message, CloseProbe):
                        raise ChannelError(f"it says {message.message!r} in the midst of a probe")
                    # Datagrams that were sent before the message may be in the socket already.
                    responder.respond()
                    return
        raise ChannelError("a probe took too long")

    def _run(self, text: str) -> None:
        """Carry out the server's part of a run whose job is this text, or refuse it with the
        reason.
        """
        try:
            job = job_from_json(text, "the job")
        except RecordError as error:
            self.channel.send(Refused(reason=str(error)[:2000]))
            return
        reason = refusal(job, self.limits, self.facts.command_ports_from) or self._impose(job)
        if reason is not None:
            self.channel.send(Refused(reason=f"the server refuses the run: {reason}"))
            return
        self.runs += 1
        command = workload_of(job).server_command(job)
        if command is not None:
            self.log(f"runs: {shown(command.text)}")
        token = secrets.token_hex(8)
        where = (self.local, self.facts.data_port)
        role = ServerRole(
            self.facts.endpoint, job, where, self.peer, token, self.limits, self.facts.containment
        )
        try:
            self.channel.send(Running(token=token))
            how = self._relay(role)
        except RoleError as error:
            how = f"the server sent {error}"
        finally:
            role.close()
            if command is not None:
                self.log("the command and all that it started have ended")
        self._imposer.count()
        self.channel.send(Ended(how=how))

    def _relay(self, role: ServerRole) -> str | None:
        """Pass orders to the role and its messages to the client until the role ends; return the
        reason of its failure, or None if it succeeded.
        """
        with selectors.DefaultSelector() as selector:
            selector.register(self.channel, selectors.EVENT_READ)
            selector.register(role, selectors.EVENT_READ)
            while (left_s := role.until_s - time.monotonic()) > 0:
                ready = {key.fileobj for key, _ in selector.select(left_s)}
                if self.channel in ready:
                    for message in self.channel.arrived():
                        match message:
                            case Begin(epoch_ns=epoch_ns):
                                role.begin(epoch_ns)
                            case Finish():
                                role.finish()
                                role.until_s = min(role.until_s, time.monotonic() + GRACE_S)
                            case Stop():
                                return "the client gave the run up"
                            case other:
                                raise ChannelError(f"it says {other.message!r} during a run")
                if role in ready:
                    lines = role.said()
                    if lines is None:
                        return role.how_it_ended()
                    for line in lines:
                        # One read can contain many short lines, so the time limit is checked here
                        # too.
                        if time.monotonic() > role.until_s:
                            return TIME_IS_OVER
                        self.channel.send(Said(line=line))
        return TIME_IS_OVER


class Pairing:
    """One-time tokens of a server, for clients that are not paired yet.

    A token has 128 bits, so that it cannot be guessed. A client with a wrong token does not use up
    the right one; otherwise any stranger could do that.
    """

    VALID_S = 900.0

    def __init__(self, token: str) -> None:
        self.token: str | None = token
        self.until_s = time.monotonic() + self.VALID_S

    def take(self, expected: str, given: str) -> str | None:
        """Use up the token; return the reason if the proof is wrong or comes too late, else None.

        Args:
            expected: the proof computed from the token.
            given: the proof that the client sent.
        """
        if self.token is None or time.monotonic() > self.until_s:
            return "there is no token any more: start `netwarp serve` again for another"
        if not hmac.compare_digest(expected, given):
            return "the token is wrong, or somebody is in between"
        self.token = None
        return None


def tcp_buffer_bytes(root: Path = TCP_SETTINGS) -> int:
    """Return the largest buffer that the kernel grants TCP in each direction (tcp(7))."""
    largest = [int((root / name).read_text().split()[2]) for name in ("tcp_rmem", "tcp_wmem")]
    return min(largest)


def tcp_congestion(root: Path = TCP_SETTINGS) -> str:
    """Return the congestion control of TCP sockets for which none was set (tcp(7))."""
    return (root / "tcp_congestion_control").read_text().strip()


def settable_congestion(loaded: Iterable[str]) -> tuple[str, ...]:
    """Return the loaded congestion controls that this user's TCP sockets may have: without
    CAP_NET_ADMIN, those of `tcp_allowed_congestion_control`.
    """
    return tuple(name for name in loaded if _is_settable(name))


def _is_settable(congestion: str) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as tried:
        try:
            tried.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion.encode())
        except OSError:
            return False
    return True


def server_facts(
    data_port: int, commands_beside: Path | None = None, *, allows_netem: bool = False
) -> ServerFacts:
    """Collect the properties of this host that a server reports.

    Args:
        data_port: the port to which clients connect for data.
        commands_beside: the directory of the host's key, if clients' commands are allowed; else
            None.
        allows_netem: whether packets that clients send may be impaired here.

    Raises:
        BackendError: the host has no endpoint, or cannot contain commands.
    """
    endpoint = find_endpoint()
    contained = None if commands_beside is None else containment(endpoint, commands_beside)
    return ServerFacts(
        __version__, endpoint, endpoint_version(endpoint), probe_host(endpoint),
        tcp_buffer_bytes(), cpu_model(), len(os.sched_getaffinity(0)), data_port, contained,
        allows_netem,
    )  # fmt: skip


def shown_address(address: object) -> str:
    """Return a socket's address as users read it, such as `192.0.2.1:7000`."""
    match address:
        case (str(host), int(port), *_):
            return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        case _:
            return str(address)
