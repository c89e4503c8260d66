"""Strangers, liars and the dead: refused or ended, and the server goes on."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import socket
import ssl
import struct
import threading
from pathlib import Path

import pytest

from netwarp.backends.remote import channel as channel_module
from netwarp.backends.remote import connecting
from netwarp.backends.remote import server as server_module
from netwarp.backends.remote.admission import Limits
from netwarp.backends.remote.channel import Channel, ChannelError, RefusedError
from netwarp.backends.remote.connecting import Connected
from netwarp.backends.remote.identity import open_identity
from netwarp.backends.remote.messages import (
    LENGTH_BYTES,
    MOST_BYTES_OF_STRANGERS,
    PROTOCOL_VERSION,
    Begin,
    CloseProbe,
    Ended,
    Finish,
    Hello,
    Message,
    OpenProbe,
    Pair,
    Paired,
    Probing,
    Run,
    Running,
    Said,
    Welcome,
    encode,
)
from netwarp.errors import BackendError
from netwarp.wire import job_to_json
from remote.conftest import ENDPOINT_VERSION, Starter
from remote.conftest import Running as RunningServer
from remote.jobs import changed, job

PATIENCE_S = 10.0
HELLO = Hello(version=1, endpoint=ENDPOINT_VERSION)


def expect_the_end(connection: socket.socket) -> None:
    """Expect that the peer closes the connection, or has reset it."""
    connection.settimeout(PATIENCE_S)
    with connection, contextlib.suppress(ConnectionError, ssl.SSLError):
        while connection.recv(65536):
            pass


def send_frame(channel: Channel, data: bytes) -> None:
    channel.connection.setblocking(True)
    channel.connection.sendall(data)
    channel.connection.setblocking(False)


def let_in(server: RunningServer, name: str = "client") -> Connected:
    return server.connect(server.paired(name))


@pytest.mark.parametrize(
    "message",
    [HELLO, Run(job="{}"), OpenProbe(token="0" * 32), Begin(epoch_ns=0), Finish()],
    ids=lambda each: each.message,
)
def test_without_a_certificate_nothing_but_pairing_is_heard(
    server: RunningServer, message: Message
) -> None:
    channel = server.channel()
    channel.send(message)
    with pytest.raises(ChannelError):
        channel.receive(Welcome, PATIENCE_S)
    channel.close()
    server.expect_it_goes_on()


def test_an_unknown_certificate_is_refused(server: RunningServer) -> None:
    server.paired()  # a server that knows nobody would refuse in any case
    channel = server.channel(server.client("stranger"))
    with pytest.raises(ChannelError):
        greet(channel)
    channel.close()
    server.expect_it_goes_on()


def greet(channel: Channel) -> Welcome:
    channel.send(HELLO)
    return channel.receive(Welcome, PATIENCE_S)


def test_a_server_that_is_another_is_not_told_anything(server: RunningServer) -> None:
    client = server.client()
    client.add_peer(open_identity(server.place / "elsewhere").certificate)
    with pytest.raises(BackendError, match="known certificate"):
        server.connect(client)


@pytest.mark.parametrize(
    "said",
    [b"", b"GET / HTTP/1.1\r\n\r\n", bytes(range(256)) * 40, b"\x16\x03\x01\xff\xff" + b"\0" * 400],
    ids=["nothing", "HTTP", "noise", "a TLS record that lies"],
)
def test_what_is_not_tls_is_closed(server: RunningServer, said: bytes) -> None:
    connection = server.raw()
    with contextlib.suppress(OSError):  # ENOTCONN where the server has reset it already
        connection.sendall(said)
        connection.shutdown(socket.SHUT_WR)
    expect_the_end(connection)
    server.expect_it_goes_on()


def test_half_open_connections_are_closed(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some say nothing, some stop in the handshake, some after it: none may stay."""
    monkeypatch.setattr(server_module, "HANDSHAKE_TIMEOUT_S", 0.3)
    silent = [server.raw() for _ in range(4)]
    started = server.raw()
    started.sendall(b"\x16\x03\x01\x02\x00\x01")
    for connection in (*silent, started, server.tls()):
        expect_the_end(connection)
    server.expect_it_goes_on()


@pytest.mark.parametrize(
    "data",
    [
        b"\0\0\0\0",
        b"\xff\xff\xff\xff",
        (MOST_BYTES_OF_STRANGERS + 1).to_bytes(LENGTH_BYTES, "big"),
        b"\0\0\0\x02{}",
        b"\0\0\0\x04null",
        b'\0\0\0\x11{"message":"fly"}',
    ],
)
def test_a_stranger_who_sends_no_message_is_sent_away(server: RunningServer, data: bytes) -> None:
    channel = server.channel()
    send_frame(channel, data)
    with pytest.raises(ChannelError):
        channel.receive(Paired, PATIENCE_S)
    channel.close()
    server.expect_it_goes_on()


@pytest.mark.parametrize(
    "data",
    [
        b"\xff\xff\xff\xff",
        b"\0\0\0\x02{}",
        encode(Begin(epoch_ns=1)),
        encode(CloseProbe()),
        encode(HELLO),
        encode(Pair(certificate="x", proof="0" * 64)),
        encode(Running(token="0" * 16)),
    ],
)
def test_a_client_that_does_not_keep_to_the_protocol_is_sent_away(
    server: RunningServer, data: bytes
) -> None:
    channel = let_in(server).channel
    send_frame(channel, data)
    with pytest.raises(ChannelError):
        channel.receive(Welcome, PATIENCE_S)
    channel.close()
    server.server.join(PATIENCE_S)
    server.expect_it_goes_on()


def test_another_version_is_told_so(server: RunningServer) -> None:
    with pytest.raises(BackendError, match="install the same netwarp on both"):
        server.connect_version("9.9.9")


def test_a_server_of_another_version_is_refused(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoken = PROTOCOL_VERSION
    monkeypatch.setattr(connecting, "PROTOCOL_VERSION", spoken + 1)
    monkeypatch.setattr(
        connecting, "Hello", lambda endpoint, **_: Hello(version=spoken, endpoint=endpoint)
    )
    with pytest.raises(BackendError, match=f"speaks version {spoken} .*install the same netwarp"):
        let_in(server)


def test_one_client_at_a_time(server: RunningServer) -> None:
    first, second = server.paired("first"), server.paired("second")
    connected = server.connect(first)
    with pytest.raises(BackendError, match="at another client's runs"):
        server.connect(second)
    connected.channel.close()
    server.server.join(PATIENCE_S)
    server.connect(second).channel.close()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not a job"),
        ("{}", "not a job"),
        ("[" * 50_000, "not a job"),
        (job_to_json(job(size="11GB")), "bytes travel"),
        (job_to_json(changed(job(), chunks=300)), "300 chunks"),
    ],
)
def test_a_job_that_is_none_or_too_much_is_refused(
    server: RunningServer, text: str, why: str
) -> None:
    channel = let_in(server).channel
    for _ in range(2):
        channel.send(Run(job=text))
        with pytest.raises(RefusedError, match=why):
            channel.receive(Running, PATIENCE_S)
    channel.close()


def script(place: Path, text: str) -> Path:
    """Give a program that takes the endpoint's place: it leaves its process ID and does as said."""
    file = place / "endpoint"
    file.write_text(
        f"#!/bin/sh\necho $$ > {place}/pid.partial\nmv {place}/pid.partial {place}/pid\n{text}\n"
    )
    file.chmod(0o755)  # for nobody, too, whom a role of root becomes
    return file


def expect_ended(place: Path) -> None:
    """Expect that the program has gone, within the time that the server's threads take to end."""
    pid = int((place / "pid").read_text())
    assert not Path(f"/proc/{pid}").exists()


def running(server: RunningServer) -> Channel:
    channel = let_in(server).channel
    channel.send(Run(job=job_to_json(job())))
    channel.receive(Running, PATIENCE_S)
    return channel


SAYS_SO_AND_STAYS = """echo '{"message":"ready","certificate":null}' >&3; exec sleep 1000"""


def test_the_role_of_a_client_that_dies_is_ended(start: Starter, tmp_path: Path) -> None:
    server = start(script(tmp_path, SAYS_SO_AND_STAYS))
    channel = running(server)
    assert isinstance(channel.receive_any(PATIENCE_S), Said)
    channel.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    channel.connection.close()
    server.server.join(PATIENCE_S)
    expect_ended(tmp_path)
    server.expect_it_goes_on()


def test_a_client_that_reads_nothing_is_sent_away(
    start: Starter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channel_module, "SEND_TIMEOUT_S", 0.3)
    line = '{"message":"write","line":"' + "x" * 60_000 + '"}'
    server = start(script(tmp_path, f"while :; do echo '{line}'; done >&3"))
    channel = running(server)
    server.server.join(PATIENCE_S)
    expect_ended(tmp_path)
    channel.close()
    server.expect_it_goes_on()


def test_a_role_that_lives_too_long_is_ended(start: Starter, tmp_path: Path) -> None:
    server = start(script(tmp_path, SAYS_SO_AND_STAYS), Limits(run_s=0.5))
    channel = running(server)
    assert isinstance(channel.receive_any(PATIENCE_S), Said)
    ended = channel.receive(Ended, PATIENCE_S)
    assert ended.how == "the server's time for a run was over"
    expect_ended(tmp_path)
    channel.send(OpenProbe(token="0" * 32))
    channel.receive(Probing, PATIENCE_S)  # the same client may go on
    channel.close()


def test_a_role_has_bounds_and_no_environment_of_ours(
    start: Starter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_SECRET", "of the server")
    server = start(script(tmp_path, f"ulimit -v > {tmp_path}/told; env >> {tmp_path}/told"))
    channel = running(server)
    assert isinstance(channel.receive_any(PATIENCE_S), Ended)
    told = (tmp_path / "told").read_text()
    assert "A_SECRET" not in told
    channel.close()


def test_a_line_without_end_is_not_kept(start: Starter, tmp_path: Path) -> None:
    server = start(script(tmp_path, "exec head -c 100000000 /dev/zero >&3"))
    channel = running(server)
    ended = channel.receive(Ended, PATIENCE_S)
    assert ended.how is not None
    assert "a message of more than" in ended.how
    expect_ended(tmp_path)
    channel.close()


def test_stopping_the_server_ends_what_is_under_way(start: Starter, tmp_path: Path) -> None:
    server = start(script(tmp_path, SAYS_SO_AND_STAYS))
    channel = running(server)
    assert isinstance(channel.receive_any(PATIENCE_S), Said)
    server.server.stop()
    server.server.join(PATIENCE_S)
    expect_ended(tmp_path)
    with pytest.raises(ChannelError):
        channel.receive(Ended, PATIENCE_S)
    channel.close()


CONNECTIONS = 10_000
AT_A_TIME = 400


# A peer that resets while Python wraps its socket leaves the wrapper to the garbage collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_ten_thousand_connections(server: RunningServer) -> None:
    """They come in crowds, say nothing or nonsense, and leave: few are heard, nobody is let in."""
    _, most_files = resource.getrlimit(resource.RLIMIT_NOFILE)
    at_a_time = min(AT_A_TIME, most_files // 4)
    made = 0
    most_threads = 0
    while made < CONNECTIONS:
        crowd = []
        for number in range(at_a_time):
            connection = socket.socket()
            connection.setblocking(False)
            connection.connect_ex(server.address)
            crowd.append(connection)
            if number % 2:
                with_nonsense(connection)
        most_threads = max(most_threads, threading.active_count())
        for connection in crowd:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.close()
        made += at_a_time
    assert most_threads <= server_module.MOST_STRANGERS_OF_A_NETWORK + 10
    server.server.join(PATIENCE_S)
    server.expect_it_goes_on()
    assert server.server.refused > 0
    assert len(server.told) < 2 * server_module.LINES_AT_ONCE * 60


def with_nonsense(connection: socket.socket) -> None:
    try:
        connection.send(os.urandom(16))
    except OSError:
        return


def test_a_signal_that_kills_a_role_is_told(start: Starter, tmp_path: Path) -> None:
    server = start(script(tmp_path, "kill -SEGV $$"))
    channel = running(server)
    ended = channel.receive(Ended, PATIENCE_S)
    assert ended.how == f"the server was killed by signal {signal.SIGSEGV.value}"
    channel.close()
