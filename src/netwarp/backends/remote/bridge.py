"""Passes lines between the endpoint's descriptor and the server, while a run is under way."""

import contextlib
import json
import selectors
import socket
import threading
import time

from netwarp.backends.remote.channel import Channel, ChannelError
from netwarp.backends.remote.messages import Begin, Ended, Finish, Message, Refused, Said, Stop

READ_BYTES = 64 << 10
STOP_TIMEOUT_S = 15.0
MOST_SAID_BYTES = 256 << 20
"""Maximum number of bytes of messages that a server may send during one run: some ten million
packet arrivals."""


class Bridge(threading.Thread):
    """Passes lines between the orchestrator on this host and the server's role on the other.

    Args:
        channel: the connection to the server, whose role waits for the order to begin. No other
            thread may use it until this thread has ended.
        ours: our end of a socket pair whose other end belongs to the orchestrator.
        most_s: the longest time in seconds that the server's role may take.
    """

    def __init__(self, channel: Channel, ours: socket.socket, most_s: float) -> None:
        super().__init__(name="netwarp-bridge", daemon=True)
        self.channel = channel
        self.ours = ours
        self.lost: str | None = None
        """Reason why the connection to the server was lost; None if it was not lost."""
        self._most_s = most_s
        self._until_s = time.monotonic() + most_s
        self._said_bytes = 0
        self._unread = b""
        self._has_ended = False

    def run(self) -> None:
        """Pass lines until the orchestrator has closed its end of the socket pair, and the server's
        role has ended.
        """
        try:
            self._carry()
            if not self._has_ended:
                self._stop_role()
        except ChannelError as error:
            self.lost = str(error)
            self._fail(f"the server is gone: {error}")
        finally:
            self._end_of_messages()
            self.ours.close()

    def _carry(self) -> None:
        """Pass lines in both directions until orchestrator and server have finished."""
        with selectors.DefaultSelector() as selector:
            selector.register(self.ours, selectors.EVENT_READ)
            selector.register(self.channel, selectors.EVENT_READ)
            while True:
                ready = {key.fileobj for key, _ in selector.select(self._left_s())}
                if self.channel in ready:
                    for message in self.channel.arrived():
                        self._pass_on(message)
                    if self._has_ended:
                        selector.unregister(self.channel)
                        self._end_of_messages()
                if self.ours in ready:
                    data = self._read()
                    if not data:
                        return
                    self._order(data)

    def _left_s(self) -> float | None:
        """Return the time in s that the server's role may still take; None if it has ended.

        Raises:
            ChannelError: no time is left.
        """
        if self._has_ended:
            return None
        left_s = self._until_s - time.monotonic()
        if left_s <= 0:
            raise ChannelError(f"it did not end the run within {self._most_s:.0f} s")
        return left_s

    def _read(self) -> bytes:
        try:
            return self.ours.recv(READ_BYTES)
        except OSError:
            return b""  # the orchestrator was killed

    def _order(self, data: bytes) -> None:
        """Convert the client's orders to messages, and send them to the server."""
        *lines, self._unread = (self._unread + data).split(b"\n")
        for line in lines:
            order = json.loads(line)
            if not self._has_ended:
                is_begin = order["order"] == "begin"
                self.channel.send(Begin(epoch_ns=order["epoch_ns"]) if is_begin else Finish())

    def _pass_on(self, message: Message) -> None:
        match message:
            case Said(line=line):
                self._said_bytes += len(line)
                if self._said_bytes > MOST_SAID_BYTES:
                    raise ChannelError(f"it said more than {MOST_SAID_BYTES} bytes of one run")
                self._write(line)
            case Ended(how=how):
                self._has_ended = True
                if how is not None:
                    self._fail(how)
            case Refused(reason=reason):
                self._has_ended = True
                self._fail(reason)
            case other:
                raise ChannelError(f"it says {other.message!r} during a run")

    def _fail(self, message: str) -> None:
        failure = {"stage": "server", "message": message}
        self._write(json.dumps({"message": "failed", "failure": failure}))

    def _write(self, line: str) -> None:
        with contextlib.suppress(OSError):  # the orchestrator has gone, which the next read reports
            self.ours.sendall(line.encode() + b"\n")

    def _end_of_messages(self) -> None:
        with contextlib.suppress(OSError):
            self.ours.shutdown(socket.SHUT_WR)

    def _stop_role(self) -> None:
        """End the server's role after the run has ended on this host, so that the next run can
        begin.
        """
        self.channel.send(Stop())
        until_s = time.monotonic() + STOP_TIMEOUT_S
        while (left_s := until_s - time.monotonic()) > 0:
            if isinstance(self.channel.receive_any(left_s), Ended):
                return
        raise ChannelError("the server did not end a run that was given up")
