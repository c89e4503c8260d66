"""Connects the client to a server: pairs the two once, and opens a connection for each run."""

import contextlib
import hmac
import re
import socket
import ssl
from dataclasses import dataclass

from netwarp.backends.remote.channel import Channel, ChannelError, RefusedError, find_the_dead
from netwarp.backends.remote.identity import Identity, fingerprint, proof
from netwarp.backends.remote.messages import PROTOCOL_VERSION, Hello, Pair, Paired, Welcome
from netwarp.backends.remote.session import shown_address
from netwarp.errors import BackendError, InputError

CONNECT_TIMEOUT_S = 10.0
_ADDRESS = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^\s:/\[\]]+)):(\d{1,5})", re.ASCII)


def parse_address(text: str, option: str) -> tuple[str, int]:
    """Parse ``HOST:PORT`` or ``[IPV6]:PORT``.

    Raises:
        InputError: the text has neither form.
    """
    match = _ADDRESS.fullmatch(text)
    if match is None or int(match[3]) > 65535:
        raise InputError(
            f"{option} {text}: not HOST:PORT, such as 192.0.2.7:4434 or [2001:db8::7]:4434"
        )
    return match[1] or match[2], int(match[3])


@dataclass(frozen=True)
class Connected:
    """A connection to a server that has accepted this client."""

    channel: Channel
    welcome: Welcome

    @property
    def address(self) -> str:
        """The server's IP address."""
        address: str = self.channel.connection.getpeername()[0]
        return address


def connect(server: tuple[str, int], identity: Identity, endpoint: str) -> Connected:
    """Connect to a server with which this host is paired.

    Args:
        server: host and port.
        identity: the identity of this host.
        endpoint: version of the endpoint on this host.

    Raises:
        BackendError: the server cannot be reached, or does not accept this client.
    """
    where = shown_address(server)
    if not identity.peers():
        raise BackendError(
            f"this host is paired with none: `netwarp serve` on the other one prints the command,"
            f" `netwarp pair {where} TOKEN`"
        )
    channel = _open(server, identity.context("client"))
    try:
        if channel.certificate not in identity.peers():
            raise BackendError(f"{where} shows a certificate that is not one of a paired host")
        channel.send(Hello(version=PROTOCOL_VERSION, endpoint=endpoint))
        welcome = channel.receive(Welcome, CONNECT_TIMEOUT_S)
        if welcome.version != PROTOCOL_VERSION:
            channel.close()
            raise BackendError(
                f"{where} speaks version {welcome.version} of netwarp's protocol, this host version"
                f" {PROTOCOL_VERSION}: install the same netwarp on both"
            )
        return Connected(channel, welcome)
    except RefusedError as error:
        channel.close()
        raise BackendError(f"{where} refuses: {error}") from None
    except ChannelError as error:
        channel.close()
        raise BackendError(
            f"{where} did not let this host in ({error}): if it does not know this host, pair with"
            f" it anew, `netwarp pair {where} TOKEN`"
        ) from None


def pair(server: tuple[str, int], token: str, identity: Identity) -> str:
    """Pair this host with a server: each stores the other's certificate.

    Returns:
        The fingerprint of the server's certificate.

    Raises:
        BackendError: the token is wrong or was used before, the server cannot be reached, or
            somebody intercepts the connection.
    """
    where = shown_address(server)
    channel = _open(server, identity.context("client", pairing=True))
    try:
        theirs = channel.certificate
        if theirs is None:
            raise BackendError(f"{where} shows no certificate")
        ours = identity.certificate
        mine = proof(token, "client", theirs, ours)
        channel.send(Pair(certificate=ssl.DER_cert_to_PEM_cert(ours), proof=mine))
        paired = channel.receive(Paired, CONNECT_TIMEOUT_S)
        if not hmac.compare_digest(paired.proof, proof(token, "server", theirs, ours)):
            raise BackendError(f"{where} does not have the token: somebody is in between")
        identity.add_peer(theirs)
        return fingerprint(theirs)
    except RefusedError as error:
        raise BackendError(f"{where} refuses to pair: {error}") from None
    except ChannelError as error:
        raise BackendError(f"cannot pair with {where}: {error}") from None
    finally:
        channel.close()


def _open(server: tuple[str, int], context: ssl.SSLContext) -> Channel:
    """Open a TLS connection to a server; raise BackendError with the reason if that fails."""
    connection: socket.socket | None = None
    try:
        connection = socket.create_connection(server, CONNECT_TIMEOUT_S)
        find_the_dead(connection)
        return Channel(context.wrap_socket(connection), "server")
    except ssl.SSLError as error:
        why = f"no TLS with a known certificate ({error.reason or 'closed'})"
    except OSError as error:
        why = error.strerror or str(error)
    # raised by the codec of international names if a label has more than 63 characters
    except UnicodeError:
        why = "no host can have this name"
    if connection is not None:
        with contextlib.suppress(OSError):
            connection.close()
    where = shown_address(server)
    raise BackendError(
        f"cannot connect to {where}: {why}; is `netwarp serve` running there, its port open, and"
        f" this host paired with it (`netwarp pair {where} TOKEN`)?"
    )
