"""Commands between two hosts: run where the owner allows it, held, and gone with the run."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import socket
import struct
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("cryptography")

from native.conftest import AS_NOBODY
from native.two_hosts import NETWARP, SERVER, TIMEOUT_S, Hosts, Served, free_port, pair, serve, stop
from netwarp.backends.guest_files import find_endpoint
from netwarp.backends.remote.admission import Limits
from netwarp.backends.remote.channel import Channel
from netwarp.backends.remote.commands import Containment, containment
from netwarp.backends.remote.connecting import connect, parse_address
from netwarp.backends.remote.identity import Identity, open_identity
from netwarp.backends.remote.messages import Begin, Run, Running, Said
from netwarp.backends.remote.role import ROLE_MESSAGES_ON_STDOUT, ServerRole
from netwarp.backends.remote.session import tcp_congestion
from netwarp.errors import BackendError
from netwarp.plan import plan_study
from netwarp.study.exec import study_from_exec
from netwarp.wire import Job, Program, job_to_json, read_records
from netwarp.wire.record import record_from_json

PYTHON = "/usr/bin/python3"
PATIENCE_S = 30.0
PORT = 8079
SERVE = f"head -c 2000000 /dev/zero > file; exec {PYTHON} -m http.server {PORT}"
FETCH = "import sys, urllib.request as r; print(len(r.urlopen(sys.argv[1]).read()))"
CLIENT = (PYTHON, "-c", FETCH, f"http://server:{PORT}/file")
STAYS = f"{PYTHON} -c 'import time; print(\"ready\", flush=True); time.sleep(1000)'"
CONGESTION = tcp_congestion()


@pytest.fixture(scope="module", autouse=True)
def able_host() -> None:
    with tempfile.TemporaryDirectory() as place:
        try:
            containment(find_endpoint(), Path(place))
        except BackendError as error:
            pytest.skip(str(error))


def job(server: str, client: Sequence[str] = ("true",), ready: str = "line:^ready$") -> Job:
    study = study_from_exec(
        server=server, client=client, path={}, ready=ready, congestion=CONGESTION, memory="256MiB"
    )
    (run,) = plan_study(study)
    return run.job


class Contained:
    """A server's role with a command, without a client."""

    def __init__(self, command: str, limits: Limits, hidden: Sequence[Path] = ()) -> None:
        held = Containment(tuple(hidden), 1024)
        where = ("127.0.0.1", free_port())
        self.role = ServerRole(
            find_endpoint(), job(command), where, "127.0.0.1", "0" * 16, limits, held
        )
        self.role.begin(0)
        self.messages: list[dict[str, Any]] = []

    def hear(self, last: str) -> dict[str, Any]:
        """Wait for a message of this kind."""
        while (lines := self.role.said()) is not None:
            self.messages += [json.loads(line) for line in lines]
            found = [each for each in self.messages if each["message"] in (last, "failed")]
            if found:
                return found[0]
        raise AssertionError((self.messages, self.role.how_it_ended()))

    def printed(self) -> str:
        """Have it finish, and give what the command printed."""
        assert self.hear("ready")["message"] == "ready", self.messages
        self.role.finish()
        assert self.hear("done")["message"] == "done", self.messages
        records = [each["line"] for each in self.messages if each["message"] == "write"]
        (program,) = [
            each
            for each in (record_from_json(json.dumps(record)) for record in records)
            if isinstance(each, Program)
        ]
        return program.stdout


@contextmanager
def contained(
    command: str, limits: Limits | None = None, hidden: Sequence[Path] = ()
) -> Iterator[Contained]:
    made = Contained(command, limits or Limits(), hidden)
    try:
        yield made
    finally:
        made.role.close()


def printed(command: str, hidden: Sequence[Path] = ()) -> str:
    with contained(f"({command}) 2>&1; echo; echo ready; sleep 1000", hidden=hidden) as held:
        return held.printed().partition("\nready")[0].strip()


def processes(mark: str) -> list[int]:
    """Find the processes with a word among their arguments."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if mark.encode() in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
        except OSError:
            continue  # it ended meanwhile
    return found


def mark(of: str) -> str:
    return f"netwarp-{of}-{os.getpid()}"


def allowing(
    command: list[str | Path], address: str, place: Path, *options: str
) -> tuple[Served, str]:
    served = serve(command, address, place, "--allow-exec", *options)
    return served, pair(served, command)


def run_exec(
    served: Served, here: list[str | Path], where: str, folder: Path, *arguments: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*here, NETWARP, "exec", "--backend", f"remote:{where}", "--congestion", CONGESTION,
         *arguments],
        cwd=folder, env=served.environ, capture_output=True, text=True, check=False,
        timeout=TIMEOUT_S,
    )  # fmt: skip


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


@pytest.fixture
def beside() -> Iterator[Path]:
    """A directory that programs see, unlike those below /tmp, with a key in another one."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
        Path(place).chmod(0o755)
        (Path(place) / "seen").write_text("seen")
        identity = open_identity(Path(place) / "identity")
        # As readable as can be, so that it is not the file's mode that keeps it.
        identity.directory.chmod(0o755)
        identity.key_file.chmod(0o644)
        yield Path(place)


def test_the_key_cannot_be_read_although_its_neighbours_can(beside: Path) -> None:
    identity = Identity(beside / "identity")
    attempt = f"cat {beside}/seen; cat {identity.key_file}; ls {identity.directory} | wc -l"
    assert "PRIVATE KEY" in printed(attempt), "nothing hides it, so that the test can fail"
    told = printed(attempt, hidden=[identity.directory])
    assert told.startswith("seen")
    assert "PRIVATE KEY" not in told
    assert told.endswith("\n0")


def test_the_key_of_a_user_without_privilege_is_hidden_from_their_commands(
    nobodys: Path, beside: Path
) -> None:
    """Nobody serves: the key's mode lets the command, nobody's as well, read it."""
    identity = beside / "identity"
    for each in (identity, *identity.iterdir()):
        os.chown(each, 65534, 65534)
    Identity(identity).key_file.chmod(0o600)
    command = f"cat {beside}/seen; ls -A {identity}; cat {identity}/*; echo; echo ready; sleep 1000"
    (nobodys / "job.json").write_text(job_to_json(job(f"({command}) 2>&1")))
    for hidden, is_read in (([], True), ([f"--hidden={identity}"], False)):
        with subprocess.Popen(
            [
                *AS_NOBODY, "sh", "-c", ROLE_MESSAGES_ON_STDOUT, "sh", nobodys / "endpoint",
                "serve-contained", *hidden, "--job", nobodys / "job.json", "--address", "127.0.0.1",
                "--only-from", "127.0.0.1",
            ],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={}, text=True,
        ) as role:  # fmt: skip
            assert role.stdin is not None
            assert role.stdout is not None
            print('{"order":"begin","epoch_ns":0,"certificate":null}', file=role.stdin, flush=True)
            assert '"ready"' in role.stdout.readline()
            print('{"order":"finish"}', file=role.stdin, flush=True)
            told = json.loads(role.stdout.readline())["line"]["stdout"]
        assert told.startswith("seen")
        assert ("PRIVATE KEY" in told) is is_read, told


@pytest.mark.parametrize(
    "attempt",
    [
        "umount {identity}",
        "unshare --user --map-root-user --mount umount {identity}",
        "unshare --net true",
        "chroot / true",
        "mount -t tmpfs none /mnt",
        "echo 99999 > /proc/sys/kernel/pid_max",
        "ls /proc/1/root/",
        "kill -9 1",
        "touch /proc/1/root{beside}/new",
        "touch {beside}/../../new",
    ],
)
def test_nobody_gets_out(beside: Path, attempt: str) -> None:
    identity = beside / "identity"
    filled = attempt.format(identity=identity, beside=beside)
    told = printed(f"{filled} && echo got out", hidden=[identity])
    assert not told.endswith("got out") or "touch" in attempt
    assert not Path("/new").exists()
    assert sorted(each.name for each in beside.iterdir()) == ["identity", "seen"]


def test_a_command_has_no_rights_and_nothing_of_the_owners(
    beside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_SECRET", "of the owner")
    told = printed("cat /proc/self/status; env; pwd; ls -A . /tmp /run; ls /proc/self/fd")
    assert told.count("0000000000000000") >= 5, told
    assert "NoNewPrivs:\t1" in told
    assert "A_SECRET" not in told
    assert "\n/tmp/home\n" in told
    assert told.split("\n")[-4:] == ["0", "1", "2", "3"], "and 3 is what ls lists"


def test_sockets_without_a_file_are_not_reached() -> None:
    name = mark("abstract")
    connect_to = f"import socket; socket.socket(socket.AF_UNIX).connect('\\\\0{name}')"
    with socket.socket(socket.AF_UNIX) as owners:
        owners.bind(f"\0{name}")
        owners.listen()
        told = printed(f'{PYTHON} -c "{connect_to}" && echo reached')
    assert "PermissionError" in told


def test_what_is_written_has_a_bound_and_is_gone_with_the_run(beside: Path) -> None:
    fill = "head -c 400000000 /dev/zero"
    told = printed(f"{fill} > {beside}/big; {fill} > /tmp/big; {fill} > /dev/shm/big; {fill} > big")
    layer_refuses = "Permission denied" in told  # where the command is nobody's, as of a root's
    assert told.count("No space left on device") == (3 if layer_refuses else 4), told
    assert not (beside / "big").exists()
    assert not Path("/tmp/big").exists()


COUNTING = (
    "import os, time\\n"
    "count = 0\\n"
    "try:\\n"
    "    while True:\\n"
    "        if os.fork() == 0: time.sleep(1000)\\n"
    "        count += 1\\n"
    "except OSError: print(count); print('ready', flush=True); time.sleep(1000)"
)
BOMB = f'printf "{COUNTING}" > bomb.py; exec {PYTHON} bomb.py'
"""Prints how often it could."""


def test_a_fork_bomb_is_bounded_and_ends() -> None:
    word = mark("bomb")
    with contained(f"{BOMB} {word}") as held:
        count, *_ = held.printed().split()
    assert 100 < int(count) < 1000
    assert not processes(word)


def test_a_fork_bomb_of_the_root_of_a_user_namespace_is_bounded(
    tmp_path: Path, hosts: Hosts
) -> None:
    """Who that is may be the machine's root, for whom resource limits of processes do not hold."""
    here, there = hosts.on(hosts.client), hosts.on(hosts.server)
    served = serve(there, SERVER, tmp_path, "--allow-exec")
    release = tuple(int(each) for each in re.findall("[0-9]+", os.uname().release)[:2])
    if release < (6, 14):
        told, _ = served.process.communicate(timeout=PATIENCE_S)
        assert "Linux 6.14 does" in told
        return
    try:
        where = pair(served, here)
        bomb = ("--ready", "line:^ready$", "--json", "--server", BOMB, "--", "true")
        done = run_exec(served, here, where, tmp_path, *bomb)
        assert done.returncode == 0, done.stderr
        count, *_ = json.loads(done.stdout)["server"]["stdout"].split()
        assert 100 < int(count) < 1000
    finally:
        stop(served)


def test_what_a_command_leaves_behind_ends_with_it() -> None:
    word = mark("daemon")
    with contained(f"setsid {STAYS} {word} & exit 0") as held:
        assert held.hear("ready")["message"] == "ready"
        assert processes(word)
        held.role.finish()
        assert held.hear("done")["message"] == "done"
    assert not processes(word)


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
