"""Commands between two hosts: run where the owner allows it, told, and gone with the run."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("cryptography")

from native.remote_commands import (
    CLIENT,
    CONGESTION,
    FETCH,
    PATIENCE_S,
    PORT,
    PYTHON,
    SERVE,
    STAYS,
    allowing,
    job,
    mark,
    processes,
    run_exec,
    skip_unless_commands_are_contained,
)
from native.two_hosts import NETWARP, SERVER, TIMEOUT_S, Hosts, Served, free_port, pair, serve, stop
from netwarp.backends.guest_files import find_endpoint
from netwarp.backends.remote.admission import Limits
from netwarp.backends.remote.channel import Channel
from netwarp.backends.remote.connecting import connect, parse_address
from netwarp.backends.remote.identity import open_identity
from netwarp.backends.remote.messages import Begin, Run, Running, Said
from netwarp.backends.remote.role import ServerRole
from netwarp.wire import job_to_json, read_records


@pytest.fixture(scope="module", autouse=True)
def able_host() -> None:
    skip_unless_commands_are_contained()


def test_a_file_is_fetched_between_two_hosts(tmp_path: Path, hosts: Hosts) -> None:
    here, there = hosts.on(hosts.client), hosts.on(hosts.server)
    served = serve(there, SERVER, tmp_path, "--allow-exec")
    try:
        where = pair(served, here)
        done = run_exec(
            served, here, where, tmp_path, "--ready", f"port:{PORT}", "--server", SERVE,
            "--out", "told", "--json", "--", *CLIENT,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)
        assert told["client"]["stdout"] == "2000000\n"
        assert told["metrics"]["ready_time_s"] > 0
        assert told["metrics"]["cpu_server_s"] > 0
        assert told["metrics"]["path_median_rtt_s"] > 0
        kinds = [each.record for each in read_records(next(tmp_path.glob("told/runs/*/rec*")))]
        assert kinds.count("program") == kinds.count("path_measurement") == 2
        (tmp_path / "study.toml").write_text(
            f"title = 'Two sizes'\nreplicates = 2\n"
            f"transport = {{ kind = 'tcp', congestion = '{CONGESTION}' }}\n"
            "[workload]\nkind = 'command'\n"
            "server = 'head -c {size} /dev/zero > file; exec python3 -m http.server {port}'\n"
            f"ready = 'port:{PORT}'\n"
            f"client = ['{PYTHON}', '-c', '{FETCH}', 'http://server:{{port}}/file']\n"
            "metrics.fetched_bytes = { regex = '([0-9]+)' }\n"
            "[factors]\n'command.size' = ['1000', '2000']\n"
        )
        ran = subprocess.run(
            [*here, NETWARP, "run", "study.toml", "--backend", "remote", "--server", where,
             "--json"],
            cwd=tmp_path, env=served.environ, capture_output=True, text=True, check=False,
            timeout=TIMEOUT_S,
        )  # fmt: skip
        assert ran.returncode == 0, ran.stderr
        cells = json.loads(ran.stdout)["cells"]
        assert [cell["estimates"]["fetched_bytes"]["mean"] for cell in cells] == [1000, 2000]
    finally:
        stop(served)
    runs = [line for line in served.told[-1].splitlines() if " runs: " in line]
    assert len(runs) == 5
    assert "10.9.1.1:" in runs[0]
    assert runs[0].endswith(f"http.server {PORT}")


def test_without_the_option_the_refusal_names_it(tmp_path: Path) -> None:
    served = serve([], "127.0.0.1", tmp_path)
    try:
        where = pair(served, [])
        done = run_exec(served, [], where, tmp_path, "--server", SERVE, "--", "true")
        assert done.returncode == 2
        assert "`netwarp serve --allow-exec`, which lets every paired host run any" in done.stderr
    finally:
        stop(served)
    assert not [line for line in served.told[-1].splitlines() if " runs: " in line]


def test_a_host_that_cannot_contain_commands_refuses_the_option(tmp_path: Path) -> None:
    forbid = "echo 0 > /proc/sys/user/max_user_namespaces && exec"
    command = ["unshare", "--user", "--map-root-user", "sh", "-c", f'{forbid} "$@"', "sh"]
    served = serve([*command], "127.0.0.1", tmp_path, "--allow-exec")
    told, _ = served.process.communicate(timeout=PATIENCE_S)
    assert served.process.returncode == 2
    assert "commands cannot be contained on this host, and are not run otherwise" in told
    assert "sysctl -w user.max_user_namespaces" in told


def test_a_program_is_only_served_contained(tmp_path: Path) -> None:
    """Even the endpoint, asked for a command without its containment, runs none."""
    role = ServerRole(
        find_endpoint(), job(f"touch {tmp_path}/ran; echo ready; sleep 1000"),
        ("127.0.0.1", free_port()), "127.0.0.1", "0" * 16, Limits(),
    )  # fmt: skip
    try:
        role.begin(0)
        said = role.said()
        assert said is not None
        assert json.loads(said[0])["message"] == "failed"
        assert "only where they are contained" in said[0]
    finally:
        role.close()
    assert not (tmp_path / "ran").exists()


def test_the_exit_status_of_either_command_is_told(tmp_path: Path) -> None:
    served, where = allowing([], "127.0.0.1", tmp_path)
    try:
        ready = ("--ready", "line:^ready$", "--server")
        stays = (*ready, "echo ready; sleep 1000", "--")
        done = run_exec(served, [], where, tmp_path, *stays, "sh", "-c", "echo out; exit 7")
        assert (done.returncode, done.stdout) == (7, "out\n")
        fails = (*ready, "echo no >&2; exit 3", "--")
        done = run_exec(served, [], where, tmp_path, *fails, "true")
        assert done.returncode == 1
        assert "exited with status 3 before it was ready" in done.stderr
        assert "the last it said: no" in done.stderr
    finally:
        stop(served)


def test_a_command_that_hangs_is_killed(tmp_path: Path) -> None:
    """It ignores what asks it to end, and prints without end."""
    word = mark("hang")
    hangs = "import signal; signal.signal(15, signal.SIG_IGN); print(chr(10) * 9000000, flush=True)"
    served, where = allowing([], "127.0.0.1", tmp_path, "--max-time", "3s")
    try:
        done = run_exec(
            served, [], where, tmp_path, "--ready", "line:never",
            "--server", f"exec {PYTHON} -c '{hangs}; signal.pause()' {word}", "--", "true",
        )  # fmt: skip
        assert done.returncode == 1
        assert "the server's time for a run was over" in done.stderr
        assert not processes(word)
    finally:
        stop(served)


@pytest.mark.parametrize(
    "said",
    [
        {"message": "exec", "command": ["touch", "{ran}"]},
        {"message": "ready", "certificate": None, "command": ["touch", "{ran}"]},
        {"message": "write", "line": {"record": "command", "client": ["touch", "{ran}"]}},
        {"order": "begin", "epoch_ns": 0, "certificate": None, "client": "touch {ran}"},
    ],
    ids=["a message", "a key", "a record", "an order"],
)
def test_a_client_runs_nothing_that_a_server_says(tmp_path: Path, said: dict[str, Any]) -> None:
    ran = tmp_path / "ran"
    (tmp_path / "job.json").write_text(job_to_json(job("true")))
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(json.dumps(said).replace("{ran}", str(ran)).encode() + b"\n")
        done = subprocess.run(
            [
                find_endpoint(), "remote", tmp_path, "--address", "127.0.0.1", "--port", "1",
                "--server-fd", str(theirs.fileno()), "--server-clock-ns", "0",
            ],
            env={"NETWARP_RUN_TOKEN": "0" * 16}, pass_fds=[theirs.fileno()], capture_output=True,
            text=True, check=False, timeout=PATIENCE_S,
        )  # fmt: skip
    assert done.returncode == 1
    assert "understand the server's message" in done.stderr
    assert not ran.exists()


def connected(served: Served, where: str) -> Channel:
    identity = open_identity(Path(served.environ["NETWARP_IDENTITY"]))
    return connect(parse_address(where, "where"), identity, "0.1.0").channel


def started(channel: Channel, word: str) -> None:
    """Have a server run a command that stays, and wait until it is there."""
    channel.send(Run(job=job(f"exec {STAYS} {word}").model_dump_json()))
    channel.receive(Running, PATIENCE_S)
    channel.send(Begin(epoch_ns=0))
    assert json.loads(channel.receive(Said, PATIENCE_S).line)["message"] == "ready"
    assert processes(word)


def until_ended(served: Served) -> None:
    assert served.process.stdout is not None
    while "have ended" not in (line := served.process.stdout.readline()):
        assert line, "the server ended"


def test_the_command_of_a_client_that_dies_is_ended(tmp_path: Path) -> None:
    word = mark("client")
    served, where = allowing([], "127.0.0.1", tmp_path)
    try:
        channel = connected(served, where)
        started(channel, word)
        channel.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        channel.connection.close()
        until_ended(served)
        assert not processes(word)
    finally:
        stop(served)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_command_ends_with_the_server(tmp_path: Path, number: signal.Signals) -> None:
    word = mark(number.name)
    served, where = allowing([], "127.0.0.1", tmp_path)
    channel = connected(served, where)
    started(channel, word)
    watched = [os.pidfd_open(each) for each in processes(word)]
    served.process.send_signal(number)
    served.process.communicate(timeout=PATIENCE_S)
    for descriptor in watched:
        expect_readable(descriptor)
    assert not processes(word)
    if number != signal.SIGKILL:
        assert not list((tmp_path / "tmp").iterdir())
    channel.close()


def expect_readable(descriptor: int) -> None:
    """Expect that the process of a pidfd (pidfd_open(2)) ends: it is killed after its parent."""
    ready, _, _ = select.select([descriptor], [], [], PATIENCE_S)
    os.close(descriptor)
    assert ready


def test_ctrl_c_at_the_client_ends_both_commands(tmp_path: Path) -> None:
    there, here = mark("there"), mark("here")
    served, where = allowing([], "127.0.0.1", tmp_path)
    command: list[str | Path] = [
        NETWARP, "exec", "--backend", f"remote:{where}", "--congestion", CONGESTION,
        "--ready", "line:^ready$", "--server", f"exec {STAYS} {there}", "--", "sh", "-c",
        f"exec {STAYS} {here}",
    ]  # fmt: skip
    try:
        with subprocess.Popen(
            command, cwd=tmp_path, env=served.environ, stdout=subprocess.PIPE,
            start_new_session=True,
        ) as running:  # fmt: skip
            assert running.stdout is not None
            assert running.stdout.readline() == b"ready\n"
            assert processes(there)
            assert processes(here)
            os.killpg(running.pid, signal.SIGINT)
            assert running.wait() == 130
        until_ended(served)
        assert not processes(there)
        assert not processes(here)
        assert not list(tmp_path.glob("netwarp-out/*/runs/c*"))
    finally:
        stop(served)
