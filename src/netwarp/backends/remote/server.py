"""The server: listens for clients with which it is paired, and serves one at a time."""

import contextlib
import ipaddress
import socket
import ssl
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from netwarp.backends.remote.admission import Limits
from netwarp.backends.remote.channel import Channel, ChannelError, find_the_dead
from netwarp.backends.remote.identity import Identity, der, fingerprint, proof
from netwarp.backends.remote.messages import (
    MOST_BYTES,
    MOST_BYTES_OF_STRANGERS,
    Pair,
    Paired,
    Refused,
)
from netwarp.backends.remote.session import Pairing, ServerFacts, Session, shown_address
from netwarp.errors import BackendError, one_line

MOST_STRANGERS = 64
"""Maximum number of simultaneous connections of clients that have not been authenticated yet;
further ones are closed at once."""
MOST_STRANGERS_OF_A_NETWORK = 16
HANDSHAKE_TIMEOUT_S = 5.0
BACKLOG = 256
LINES_AT_ONCE = 20
"""Maximum number of lines about unknown clients that are printed per second; further ones are only
counted."""
ACCEPT_TIMEOUT_S = 0.5


@dataclass(eq=False)
class _Stranger:
    """A connection from a client that has not been authenticated yet."""

    network: str
    connection: socket.socket


def network_of(host: str) -> str:
    """Return the network of an address that usually has a single owner: an IPv4 address, or a /64
    of IPv6 (RFC 7421).
    """
    address = ipaddress.ip_address(host.partition("%")[0])
    mapped = getattr(address, "ipv4_mapped", None)
    if isinstance(address, ipaddress.IPv4Address) or mapped is not None:
        return str(mapped or address)
    return str(ipaddress.ip_network((address, 64), strict=False))


class Server:
    """Accepts clients and serves one at a time, until `stop` is called.

    Args:
        address: host and port to listen at; port 0 for any.
        identity: this host's identity, with its peers' certificates.
        facts: the properties of this host that it reports to its clients.
        limits: the resources that a run may use.
        pairing: the token with which a new client can pair.
        log: called with a line to print for the server's operator, from several threads.

    Raises:
        BackendError: it cannot listen at the address.
    """

    def __init__(
        self, address: tuple[str, int], identity: Identity, facts: ServerFacts, limits: Limits,
        pairing: Pairing, log: Callable[[str], None],
    ) -> None:  # fmt: skip
        self.identity = identity
        self.facts = facts
        self.limits = limits
        self.pairing = pairing
        self._log = log
        self.refused = 0
        """Number of connections that the server refused."""
        self._listener = _listen(address)
        self._lock = threading.Lock()
        self._strangers: list[_Stranger] = []
        """Connections of clients that have not been authenticated yet, oldest first."""
        self._connections: set[socket.socket] = set()
        self._threads: set[threading.Thread] = set()
        """Threads that were started; some may have ended."""
        self._busy = threading.Lock()
        self._stopping = threading.Event()
        self._told_at_s = time.monotonic()
        self._told = 0
        self._untold = 0

    @property
    def address(self) -> tuple[str, int]:
        """The address at which the server listens, with its port."""
        host, port, *_ = self._listener.getsockname()
        return host, port

    def serve(self) -> None:
        """Accept clients until `stop` is called."""
        while not self._stopping.is_set():
            try:
                connection, address = self._listener.accept()
            except TimeoutError:
                continue
            except OSError as error:
                if self._stopping.is_set():
                    return
                self._log_stranger(f"cannot accept a connection: {error.strerror}")
                # There are no descriptors left: wait until other connections are closed.
                self._stopping.wait(0.05)
                continue
            host = address[0]
            stranger = _Stranger(network_of(host), connection)
            if not self._make_room_for(stranger):
                connection.close()
                self._refuse(address, "too many connections that were not let in")
                continue
            thread = threading.Thread(
                target=self._receive, args=(stranger, address), name="netwarp-client", daemon=True
            )
            thread.start()
            with self._lock:
                self._threads = {each for each in self._threads if each.is_alive()} | {thread}

    def log(self, line: str) -> None:
        """Print a line, in which text from other hosts is made printable."""
        self._log(one_line(line))

    def stop(self) -> None:
        """Accept no more clients, and end the sessions that are under way. Any thread may call
        it.
        """
        self._stopping.set()
        self._listener.close()
        with self._lock:
            for connection in self._connections:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def join(self, timeout_s: float) -> None:
        """Wait until the sessions that were under way have ended."""
        until_s = time.monotonic() + timeout_s
        with self._lock:
            threads = self._threads
        for thread in threads:
            thread.join(max(0.0, until_s - time.monotonic()))

    def _make_room_for(self, stranger: _Stranger) -> bool:
        """Add a connection of a client that is not authenticated yet, and return whether it was
        added. If there are too many, the oldest connection from the network with the most
        connections is closed.
        """
        with self._lock:
            of_networks = Counter(each.network for each in self._strangers)
            if of_networks[stranger.network] >= MOST_STRANGERS_OF_A_NETWORK:
                return False
            if len(self._strangers) >= MOST_STRANGERS:
                crowd = of_networks.most_common(1)[0][0]
                oldest = next(each for each in self._strangers if each.network == crowd)
                self._strangers.remove(oldest)
                with contextlib.suppress(OSError):
                    oldest.connection.shutdown(socket.SHUT_RDWR)
            self._strangers.append(stranger)
            return True

    def _forget(self, stranger: _Stranger) -> None:
        with self._lock, contextlib.suppress(ValueError):
            self._strangers.remove(stranger)

    def _receive(self, stranger: _Stranger, address: tuple[str, int]) -> None:
        """Authenticate a client, then pair it or serve it."""
        is_stranger = True
        connection = stranger.connection
        with self._lock:
            self._connections.add(connection)
        channel: Channel | None = None
        try:
            channel = self._channel(stranger)
            certificate = channel.certificate
            if certificate is None:
                self._pair(channel, address)
                return
            name = _known(certificate, self.identity)
            is_stranger = False
            self._forget(stranger)
            channel.most_bytes = MOST_BYTES
            self._serve_alone(channel, address, name)
        except (OSError, ValueError, ChannelError) as error:
            if is_stranger:
                self._refuse(address, _why(error))
            else:
                self.log(f"{shown_address(address)} has left: {_why(error)}")
        finally:
            self._forget(stranger)
            with self._lock:
                self._connections.discard(connection)
            if channel is not None:
                self._connections.discard(channel.connection)
                channel.close()
            connection.close()

    def _channel(self, stranger: _Stranger) -> Channel:
        """Perform the TLS handshake with a client, and return the channel to it."""
        connection = stranger.connection
        connection.settimeout(HANDSHAKE_TIMEOUT_S)
        find_the_dead(connection)
        connection.getpeername()  # no handshake with a client that has disconnected already
        context = self.identity.context("server")
        secured = context.wrap_socket(connection, server_side=True)
        with self._lock:
            self._connections.add(secured)
            stranger.connection = secured
        channel = Channel(secured, "client")
        channel.most_bytes = MOST_BYTES_OF_STRANGERS
        return channel

    def _serve_alone(self, channel: Channel, address: tuple[str, int], name: str) -> None:
        """Serve a client, unless another one is being served: simultaneous runs would disturb each
        other.
        """
        if not self._busy.acquire(blocking=False):
            channel.send(Refused(reason="the server is at another client's runs: try again later"))
            self.log(f"{shown_address(address)} ({name}) has to wait: another client is here")
            return
        try:
            who = f"{shown_address(address)} ({name})"
            session = Session(
                channel, self.facts, self.limits, lambda line: self.log(f"{who} {line}")
            )
            self.log(f"{who} is here")
            try:
                session.serve()
            finally:
                self.log(f"{who}: {session.runs} runs")
        finally:
            self._busy.release()

    def _pair(self, channel: Channel, address: tuple[str, int]) -> None:
        """Pair the server with a client that proves to have the one-time token."""
        asked = channel.receive(Pair, HANDSHAKE_TIMEOUT_S)
        client = der(asked.certificate)
        with self._lock:
            token = self.pairing.token or ""
            ours = self.identity.certificate
            expected = proof(token, "client", ours, client)
            reason = self.pairing.take(expected, asked.proof)
        if reason is not None:
            with contextlib.suppress(ChannelError):
                channel.send(Refused(reason=reason))
            self._refuse(address, reason)
            return
        self.identity.add_peer(client)
        channel.send(Paired(proof=proof(token, "server", ours, client)))
        self.log(f"paired with {shown_address(address)}, certificate {fingerprint(client)}")

    def _refuse(self, address: tuple[str, int], why: str) -> None:
        with self._lock:
            self.refused += 1
        self._log_stranger(f"refused {shown_address(address)}: {why}")

    def _log_stranger(self, line: str) -> None:
        """Print a line about an unknown client, unless too many were printed in this second,
        because such clients decide how often this happens.
        """
        with self._lock:
            now_s = time.monotonic()
            if now_s - self._told_at_s > 1:
                untold, self._untold, self._told, self._told_at_s = self._untold, 0, 0, now_s
            else:
                untold = 0
            self._told += 1
            if self._told > LINES_AT_ONCE:
                self._untold += 1
                return
        if untold:
            self.log(f"and {untold} more refused")
        self.log(line)


def _listen(address: tuple[str, int]) -> socket.socket:
    """Open the socket at which the server listens."""
    try:
        family = socket.getaddrinfo(*address, type=socket.SOCK_STREAM)[0][0]
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError as error:
        raise BackendError(
            f"cannot listen at {shown_address(address)}: {error.strerror or error}: choose another"
            " with --listen ADDRESS:PORT"
        ) from None
    listener.settimeout(ACCEPT_TIMEOUT_S)
    return listener


def _known(certificate: bytes, identity: Identity) -> str:
    """Return the name under which the host with this certificate is stored.

    Raises:
        ChannelError: no host with which this one is paired has the certificate.
    """
    name = identity.peers().get(certificate)
    if name is None:
        raise ChannelError("its certificate is not one of a paired host")
    return name


def _why(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        return f"no TLS with a known certificate ({error.reason or 'closed'})"
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return str(error)
