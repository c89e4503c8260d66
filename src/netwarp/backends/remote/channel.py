"""A TLS connection that carries messages; every wait on it has a time limit."""

import contextlib
import select
import socket
import ssl
import time
from collections.abc import Sequence
from typing import TypeVar

from netwarp.backends.remote.messages import (
    MOST_BYTES,
    Message,
    MessageError,
    Refused,
    Sender,
    encode,
    take,
)

READ_BYTES = 64 << 10
SEND_TIMEOUT_S = 10.0
"""Time in s after which a peer that accepts no bytes is disconnected."""
KEEPALIVE = {"TCP_KEEPIDLE": 10, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3}
"""Options of tcp(7) by which the loss of a peer is detected within half a minute."""
UNACKNOWLEDGED_MS = 25_000
M = TypeVar("M")


class ChannelError(Exception):
    """The peer is gone, is too slow, or violates the protocol."""


class Channel:
    """One end of a connection. Only one thread may use it at a time, as OpenSSL demands."""

    def __init__(self, connection: ssl.SSLSocket, sender: Sender) -> None:
        self.connection = connection
        self.sender: Sender = sender
        """Which end the peer is: the client or the server."""
        self.most_bytes = MOST_BYTES
        self._buffer = bytearray()
        self._messages: list[Message] = []
        connection.setblocking(False)

    @property
    def certificate(self) -> bytes | None:
        """The peer's certificate (DER), verified by TLS; None if the peer presented none."""
        return self.connection.getpeercert(binary_form=True) or None

    def fileno(self) -> int:
        """Return the socket's descriptor, for `select`."""
        return self.connection.fileno()

    def send(self, message: Message) -> None:
        """Send a message.

        Raises:
            ChannelError: the peer is gone, or accepts no bytes.
        """
        left = memoryview(encode(message))
        until_s = time.monotonic() + SEND_TIMEOUT_S
        while left:
            try:
                left = left[self.connection.send(left) :]
            except ssl.SSLWantWriteError:
                self._wait(until_s, "take a message", writing=True)
            except ssl.SSLWantReadError:
                self._wait(until_s, "take a message")
            except OSError as error:
                raise ChannelError(f"the connection is lost: {_why(error)}") from None

    def receive(self, kind: type[M], timeout_s: float) -> M:
        """Wait for a message of the expected kind.

        Raises:
            ChannelError: no message arrives in time, it is of another kind, or the peer refused the
                request.
        """
        message = self.receive_any(timeout_s)
        if isinstance(message, kind):
            return message
        if isinstance(message, Refused):
            raise RefusedError(message.reason)
        raise ChannelError(f"the peer says {message.message!r} where {kind.__name__} was to come")

    def receive_any(self, timeout_s: float) -> Message:
        """Wait for the next message.

        Raises:
            ChannelError: no message arrives in time.
        """
        until_s = time.monotonic() + timeout_s
        while not (messages := self.arrived()):
            self._wait(until_s, "say anything")
        first, *self._messages = messages
        return first

    def arrived(self) -> Sequence[Message]:
        """Return the messages that have arrived, without waiting.

        Raises:
            ChannelError: the peer has closed the connection, or sent something that is not a
                message.
        """
        messages, self._messages = self._messages, []
        while not messages:
            try:
                data = self.connection.recv(READ_BYTES)
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                break
            except OSError as error:
                raise ChannelError(f"the connection is lost: {_why(error)}") from None
            if not data:
                raise ChannelError("the peer has closed the connection")
            self._buffer += data
            try:
                while (message := take(self._buffer, self.sender, self.most_bytes)) is not None:
                    messages.append(message)
            except MessageError as error:
                raise ChannelError(f"the peer sent {error}") from None
        return messages

    def close(self) -> None:
        """Close the connection without waiting for the peer."""
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)
        self.connection.close()

    def _wait(self, until_s: float, what: str, *, writing: bool = False) -> None:
        """Wait until the socket is readable or, with `writing`, writable; raise ChannelError if
        neither is the case at `until_s`.
        """
        left_s = until_s - time.monotonic()
        mine = [self.connection]
        try:
            ready = select.select([] if writing else mine, mine if writing else [], [], left_s)
        except (OSError, ValueError):
            raise ChannelError("the connection was closed") from None
        if left_s <= 0 or not any(ready):
            raise ChannelError(f"the peer did not {what} in time")


class RefusedError(ChannelError):
    """The peer refused a request; the message is its reason."""


def find_the_dead(connection: socket.socket) -> None:
    """Turn on TCP keepalive, by which the kernel detects that a peer is gone."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in KEEPALIVE.items():
        connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNACKNOWLEDGED_MS)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _why(error: OSError) -> str:
    return error.strerror or str(error) or type(error).__name__
