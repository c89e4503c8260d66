"""Servers on the loopback device, and clients that are let in, or should not be."""

from __future__ import annotations

import os
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("cryptography")

from hypothesis import settings

from netwarp.backends.native import HostCapabilities
from netwarp.backends.remote.admission import Limits
from netwarp.backends.remote.channel import Channel
from netwarp.backends.remote.commands import Containment
from netwarp.backends.remote.connecting import Connected, connect
from netwarp.backends.remote.identity import Identity, new_token, open_identity
from netwarp.backends.remote.server import Server
from netwarp.backends.remote.session import Pairing, ServerFacts

ENDPOINT_VERSION = "0.1.0"
settings.register_profile(
    "remote",
    deadline=None,  # no timed assertion
    max_examples=int(os.environ.get("NETWARP_FUZZ_RUNS", "100")),  # as of `make fuzz`
)
settings.load_profile("remote")
CAPABILITIES = HostCapabilities(
    "6.12", rootless=False, missing_path=None, missing_netem=None, missing_sctp="no SCTP",
    missing_mptcp=None, congestion=("cubic",), socket_buffer_bytes=1 << 20,
)  # fmt: skip


@dataclass
class Running:
    """A server on the loopback device, and what it told."""

    server: Server
    told: list[str]
    place: Path

    @property
    def address(self) -> tuple[str, int]:
        return self.server.address

    @property
    def token(self) -> str:
        assert self.server.pairing.token is not None
        return self.server.pairing.token

    def client(self, name: str = "client") -> Identity:
        """Give an identity that the server does not know."""
        return open_identity(self.place / name)

    def paired(self, name: str = "client") -> Identity:
        """Give an identity that the server knows, as if somebody had copied the files."""
        identity = self.client(name)
        identity.add_peer(self.server.identity.certificate)
        self.server.identity.add_peer(identity.certificate)
        return identity

    def connect(self, identity: Identity) -> Connected:
        return connect(self.address, identity, ENDPOINT_VERSION)

    def connect_version(self, endpoint: str) -> Connected:
        return connect(self.address, self.paired(), endpoint)

    def expect_it_goes_on(self) -> None:
        """Whatever was done to the server, a client that it knows is let in."""
        connected = self.connect(self.paired("another"))
        assert connected.welcome.endpoint == ENDPOINT_VERSION
        connected.channel.close()

    def raw(self) -> socket.socket:
        return socket.create_connection(self.address, 10)

    def tls(self, identity: Identity | None = None) -> ssl.SSLSocket:
        """Open TLS as somebody who does not care who the server is."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        if identity is not None:
            context.load_cert_chain(identity.certificate_file, identity.key_file)
        return context.wrap_socket(self.raw())

    def channel(self, identity: Identity | None = None) -> Channel:
        return Channel(self.tls(identity), "server")


Starter = Callable[..., Running]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Starter]:
    """Starts servers, which end with the test."""
    running: list[tuple[Server, threading.Thread]] = []

    def begin(
        endpoint: Path = Path("/bin/false"), limits: Limits | None = None,
        containment: Containment | None = None, *, allows_netem: bool = False,
    ) -> Running:  # fmt: skip
        version = {"endpoint": ENDPOINT_VERSION, "sha256": "0" * 64}
        facts = ServerFacts(
            "0.1.0", endpoint, version, CAPABILITIES, 4 << 20, "a CPU", 2, _free_port(),
            containment, allows_netem,
        )  # fmt: skip
        told: list[str] = []
        server = Server(
            ("127.0.0.1", 0), open_identity(tmp_path / "server"), facts, limits or Limits(),
            Pairing(new_token()), told.append,
        )  # fmt: skip
        thread = threading.Thread(target=server.serve, daemon=True)
        thread.start()
        running.append((server, thread))
        return Running(server, told, tmp_path)

    yield begin
    for server, thread in running:
        server.stop()
        server.join(10)
        thread.join(10)
        assert not thread.is_alive()


@pytest.fixture
def server(start: Starter) -> Running:
    return start()


def _free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as bound:
        bound.bind(("127.0.0.1", 0))
        port: int = bound.getsockname()[1]
        return port
