"""Clients and strangers that attack a server of the test's own, on the loopback device."""

from __future__ import annotations

import socket
import struct
import time
from pathlib import Path

import pytest

from netwarp.backends.remote import server as server_module
from netwarp.backends.remote.admission import Limits
from netwarp.backends.remote.identity import open_identity
from netwarp.backends.remote.messages import Ended, Finish, Said
from netwarp.backends.remote.server import MOST_STRANGERS, network_of
from netwarp.errors import BackendError
from netwarp.run_status import Status
from remote.conftest import Running as RunningServer
from remote.conftest import Starter
from remote.test_faults import PATIENCE_S, SAYS_SO_AND_STAYS, expect_ended, running, script


def test_a_client_that_floods_with_orders_ends_with_its_time(
    start: Starter, tmp_path: Path
) -> None:
    """More bytes than a pipe holds go to a role that reads none of them."""
    server = start(script(tmp_path, SAYS_SO_AND_STAYS), Limits(run_s=2))
    channel = running(server)
    assert isinstance(channel.receive_any(PATIENCE_S), Said)
    for _ in range(6000):
        channel.send(Finish())
    ended = channel.receive(Ended, PATIENCE_S)
    assert ended.how == "the server's time for a run was over"
    expect_ended(tmp_path)
    channel.close()


def test_what_a_stranger_says_is_told_in_signs_that_a_terminal_shows(server: RunningServer) -> None:
    said = ('{"message":"' + "\\u001b]0;mine\\u0007\\u001b[31m" * 500 + '"}').encode()
    with server.tls() as stranger:
        stranger.sendall(struct.pack(">I", len(said)) + said)
        stranger.settimeout(PATIENCE_S)
        assert stranger.recv(1) == b""
    until_s = time.monotonic() + PATIENCE_S
    while not server.told and time.monotonic() < until_s:
        server.server.join(0.05)
    assert "no message of the protocol" in server.told[0]
    assert all(line.isprintable() and len(line) < 1000 for line in server.told), server.told


def test_a_reason_is_one_line_whoever_wrote_it() -> None:
    status = Status("failed", "\x1b[31mred\u202e" + "x" * 8_000_000, 0.0, 0.0, 0, 0.0)
    assert status.reason is not None
    assert status.reason.isprintable()
    assert len(status.reason) <= 2000
    assert status.reason.startswith("\\x1b[31mred\\u202e")


def test_addresses_that_one_owner_has_are_one_network() -> None:
    assert network_of("192.0.2.1") == network_of("::ffff:192.0.2.1") == "192.0.2.1"
    assert network_of("2001:db8::1") == network_of("2001:db8::ffff:1%eth0") == "2001:db8::/64"
    assert network_of("2001:db8:0:1::1") != network_of("2001:db8::1")


def test_a_crowd_of_few_networks_keeps_nobody_out(server: RunningServer) -> None:
    places = [socket.socketpair() for _ in range(MOST_STRANGERS + 1)]
    crowd = [
        server_module._Stranger(f"192.0.2.{number // 16}", ours)
        for number, (ours, _) in enumerate(places[:-1])
    ]
    assert all(map(server.server._make_room_for, crowd))
    one_more_of_them = server_module._Stranger("192.0.2.0", places[-1][0])
    assert not server.server._make_room_for(one_more_of_them)
    somebody_else = server_module._Stranger("198.51.100.1", places[-1][0])
    assert server.server._make_room_for(somebody_else)
    assert places[0][1].recv(1) == b"", "the oldest of the crowd was sent away"
    server.expect_it_goes_on()
    for pair in places:
        for each in pair:
            each.close()


def test_a_key_directory_that_others_can_write_to_is_refused(tmp_path: Path) -> None:
    identity = open_identity(tmp_path / "mine")
    identity.directory.chmod(0o777)
    with pytest.raises(BackendError, match="chmod 700"):
        open_identity(tmp_path / "mine")
