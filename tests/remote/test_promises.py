"""What docs/security.md promises of a server's patience and of its role, each seen to be so."""

from __future__ import annotations

import ctypes
import os
import socket
import subprocess
from pathlib import Path

import pytest

from netwarp.backends.guest_files import find_endpoint
from netwarp.backends.remote import session
from netwarp.backends.remote.admission import Limits
from netwarp.backends.remote.channel import ChannelError
from netwarp.backends.remote.messages import Ended, Said
from netwarp.run_directory import JOB_FILE, RECORDS_FILE
from netwarp.wire import End, Start, job_to_json, read_records
from remote.conftest import Running as RunningServer
from remote.conftest import Starter
from remote.jobs import job
from remote.test_faults import PATIENCE_S, let_in, running, script

LANDLOCK_CREATE_RULESET = 444
ASKS_FOR_THE_VERSION = 1


def test_a_client_that_says_nothing_is_sent_away(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert session.IDLE_TIMEOUT_S == 15 * 60
    monkeypatch.setattr(session, "IDLE_TIMEOUT_S", 0.1)
    channel = let_in(server).channel
    with pytest.raises(ChannelError, match="closed the connection"):
        channel.receive_any(PATIENCE_S)
    channel.close()
    assert any("did not say anything in time" in line for line in server.told), server.told
    server.expect_it_goes_on()


def test_either_end_finds_out_within_half_a_minute_that_the_other_is_gone(
    server: RunningServer,
) -> None:
    channel = let_in(server).channel
    (theirs,) = [each for each in server.server._connections if each.fileno() >= 0]
    for connection in (channel.connection, theirs):
        assert connection.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        idle_s, every_s, probes, unacknowledged_ms = (
            connection.getsockopt(socket.IPPROTO_TCP, option)
            for option in (
                socket.TCP_KEEPIDLE,
                socket.TCP_KEEPINTVL,
                socket.TCP_KEEPCNT,
                socket.TCP_USER_TIMEOUT,
            )
        )
        assert idle_s + every_s * probes <= 30
        assert 0 < unacknowledged_ms <= 30_000
    channel.close()


def test_landlock_keeps_a_role_from_writing_outside_its_directory(
    start: Starter, tmp_path: Path
) -> None:
    version = ctypes.CDLL(None).syscall(LANDLOCK_CREATE_RULESET, None, 0, ASKS_FOR_THE_VERSION)
    if version < 1:
        pytest.skip("this kernel has no Landlock")
    outside = tmp_path / "outside"
    role = (
        f'[ "$1" != confine ] || exec {find_endpoint()} "$@"\n'
        "echo x > inside && echo inside >&3\n"
        f"echo x > {outside} && echo outside >&3\n"
        "echo tried >&3"
    )
    server = start(script(tmp_path, role))
    channel = running(server)
    said = []
    while isinstance(message := channel.receive_any(PATIENCE_S), Said):
        said.append(message.line)
    assert isinstance(message, Ended)
    assert said == ["inside", "tried"]
    assert not outside.exists()
    channel.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user's role is that user's")
def test_a_role_of_root_is_nobodys(start: Starter, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("root's alone")
    secret.chmod(0o600)
    role = (
        f'[ "$1" != confine ] || exec {find_endpoint()} "$@"\n'
        "grep -hE '^(Uid|Gid|Groups|CapEff|CapPrm|CapAmb|NoNewPrivs):' /proc/self/status >&3\n"
        f"cat {secret} >&3 2>&1\n"
        "echo x > inside && echo inside >&3"
    )
    server = start(script(tmp_path, role))
    channel = running(server)
    said = []
    while isinstance(message := channel.receive_any(PATIENCE_S), Said):
        said.append(" ".join(message.line.split()))
    channel.close()
    network = f"{1 << 10 | 1 << 12:016x}"  # CAP_NET_BIND_SERVICE and CAP_NET_ADMIN
    assert said[:3] == ["Uid:" + 4 * " 65534", "Gid:" + 4 * " 65534", "Groups:"]
    assert said[3:6] == [f"CapPrm: {network}", f"CapEff: {network}", f"CapAmb: {network}"]
    assert said[6] == "NoNewPrivs: 1"
    assert "Permission denied" in said[7]
    assert said[8:] == ["inside"]


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user's role is that user's")
def test_root_without_all_capabilities_becomes_nobody_with_those_it_has(tmp_path: Path) -> None:
    """Root of a container, or of a service with a bounding set, may have no CAP_NET_ADMIN."""
    confined = [str(find_endpoint()), "confine", "--as-nobody", "--writable", ".", "--"]
    shown = subprocess.run(
        [
            "setpriv", "--bounding-set=-net_admin", "--inh-caps=-net_admin", *confined,
            "/bin/grep", "^CapEff:", "/proc/self/status",
        ],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert shown.stdout.split() == ["CapEff:", f"{1 << 10:016x}"]


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user's role is that user's")
def test_nobody_can_read_the_job_that_a_root_with_a_strict_umask_wrote(
    start: Starter, tmp_path: Path
) -> None:
    role = f'[ "$1" != confine ] || exec {find_endpoint()} "$@"\n[ -r job.json ] && echo read >&3'
    program = script(tmp_path, role)
    before = os.umask(0o077)
    try:
        channel = running(start(program))
        message = channel.receive_any(PATIENCE_S)
    finally:
        os.umask(before)
    assert isinstance(message, Said)
    assert message.line == "read"
    channel.close()


def test_a_role_has_a_bound_of_memory(start: Starter, tmp_path: Path) -> None:
    server = start(script(tmp_path, "ulimit -v >&3"), Limits(memory_bytes=3 << 30))
    channel = running(server)
    message = channel.receive_any(PATIENCE_S)
    assert isinstance(message, Said)
    assert int(message.line) * 1024 == 3 << 30
    channel.close()


@pytest.mark.parametrize(
    "line",
    [
        '{"message":"write","line":{"record":"mine","path":"/etc/passwd"}}',
        '{"message":"write","line":"no record"}',
        '{"message":"mine"}',
        "no JSON",
    ],
)
def test_what_a_server_says_is_known_records_or_ends_the_run(tmp_path: Path, line: str) -> None:
    (tmp_path / JOB_FILE).write_text(job_to_json(job()))
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(b'{"message":"ready","certificate":null}\n' + line.encode() + b"\n")
        ours.shutdown(socket.SHUT_WR)
        ended = subprocess.run(
            [str(find_endpoint()), "remote", ".", "--address", "127.0.0.1", "--port", "9",
             "--server-fd", str(theirs.fileno()), "--server-clock-ns", "0"],
            cwd=tmp_path, env={"PATH": "/usr/bin:/bin", "NETWARP_RUN_TOKEN": "0" * 16},
            pass_fds=(theirs.fileno(),), capture_output=True, text=True, check=False,
            timeout=PATIENCE_S,
        )  # fmt: skip
    assert ended.returncode == 1
    first, last = read_records(tmp_path / RECORDS_FILE)
    assert isinstance(first, Start)
    assert isinstance(last, End)
    assert last.failure is not None
    assert last.failure.message.startswith("understand the server's message")
