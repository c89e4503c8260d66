"""What a command of another host cannot do to the one that runs it."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

pytest.importorskip("cryptography")

from native import keys
from native.conftest import AS_NOBODY
from native.remote_commands import (
    PATIENCE_S,
    PYTHON,
    STAYS,
    contained,
    job,
    mark,
    printed,
    processes,
    run_exec,
    skip_unless_commands_are_contained,
)
from native.two_hosts import SERVER, Hosts, pair, serve, stop
from netwarp.backends.remote.admission import Limits
from netwarp.backends.remote.identity import Identity, open_identity
from netwarp.backends.remote.memory_group import NoGroupError, memory_group, memory_text
from netwarp.backends.remote.role import ROLE_MESSAGES_ON_STDOUT
from netwarp.wire import job_to_json


@pytest.fixture(scope="module", autouse=True)
def able_host() -> None:
    skip_unless_commands_are_contained()


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


def printed_as_nobody(
    nobodys: Path, command: str, front: Sequence[str | Path] = (), *options: str
) -> str:
    """Give what a command printed whose server's role was started by nobody."""
    (nobodys / "job.json").write_text(job_to_json(job(f"({command}) 2>&1")))
    with subprocess.Popen(
        [
            *AS_NOBODY, *front, "/bin/sh", "-c", ROLE_MESSAGES_ON_STDOUT, "sh",
            nobodys / "endpoint", "serve-contained", *options, "--job", nobodys / "job.json",
            "--address", "127.0.0.1", "--only-from", "127.0.0.1",
        ],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={}, text=True,
    ) as role:  # fmt: skip
        assert role.stdin is not None
        assert role.stdout is not None
        print('{"order":"begin","epoch_ns":0,"certificate":null}', file=role.stdin, flush=True)
        assert '"ready"' in role.stdout.readline()
        print('{"order":"finish"}', file=role.stdin, flush=True)
        return str(json.loads(role.stdout.readline())["line"]["stdout"])


def test_the_key_of_a_user_without_privilege_is_hidden_from_their_commands(
    nobodys: Path, beside: Path
) -> None:
    """Nobody serves: the key's mode lets the command, nobody's as well, read it."""
    identity = beside / "identity"
    for each in (identity, *identity.iterdir()):
        os.chown(each, 65534, 65534)
    Identity(identity).key_file.chmod(0o600)
    command = f"cat {beside}/seen; ls -A {identity}; cat {identity}/*; echo; echo ready; sleep 1000"
    for hidden, is_read in (([], True), ([f"--hidden={identity}"], False)):
        told = printed_as_nobody(nobodys, command, (), *hidden)
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


@pytest.mark.parametrize("has_file", [False, True])
def test_sockets_of_the_owners_programs_are_not_reached(beside: Path, has_file: bool) -> None:
    (beside / "open").mkdir()
    (beside / "open").chmod(0o777)
    name = f"{beside}/open/socket" if has_file else f"\0{mark('abstract')}"
    connect_to = f"import socket; socket.socket(socket.AF_UNIX).connect({name!r})"
    with socket.socket(socket.AF_UNIX) as owners:
        owners.bind(name)
        owners.listen()
        if has_file:
            Path(name).chmod(0o777)
        subprocess.run([PYTHON, "-c", connect_to], check=True)
        script = connect_to.replace("'", '"')
        told = printed(f"{PYTHON} -c '{script}' && echo reached")
    assert ("ConnectionRefusedError" if has_file else "PermissionError") in told


def test_what_is_written_has_a_bound_and_is_gone_with_the_run(beside: Path) -> None:
    fill = "head -c 400000000 /dev/zero"
    told = printed(f"{fill} > {beside}/big; {fill} > /tmp/big; {fill} > /dev/shm/big; {fill} > big")
    layer_refuses = "Permission denied" in told  # where the command is nobody's, as of a root's
    assert told.count("No space left on device") == (3 if layer_refuses else 4), told
    assert not (beside / "big").exists()
    assert not Path("/tmp/big").exists()


SHARE = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
shared = []
def share(size):
    shared.append(libc.shmget(0, ctypes.c_size_t(size), 0o1600))
    return shared[-1]
for name, make in {
    "memfd": lambda: libc.memfd_create(b"m", 0),
    "System V, too large": lambda: share(256 << 20),
    "System V": lambda: share(64 << 20),
    "System V, again": lambda: share(96 << 20),
}.items():
    print(name + ":", os.strerror(ctypes.get_errno()) if make() < 0 else "made")
for each in shared:
    libc.shmctl(each, 0, None)
print(open("/proc/sys/kernel/msgmni").read().split(), open("/proc/sys/kernel/sem").read().split())
"""
"""Memory that belongs to no process, where half of a study's 256 MiB is for files."""


def test_memory_that_belongs_to_no_process_is_bounded_or_refused() -> None:
    here = subprocess.run([PYTHON, "-c", SHARE], capture_output=True, text=True, check=True)
    assert here.stdout.count("made") == 4, "nothing bounds it, so that the test can fail"
    told = printed(f"{PYTHON} - <<'END'\n{SHARE}\nEND\n")
    assert told.splitlines() == [
        "memfd: Operation not permitted",
        "System V, too large: No space left on device",
        "System V: made",
        "System V, again: No space left on device",
        "['32'] ['250', '32000', '32', '128']",
    ]


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


HOGS = """
import subprocess, sys
hog = "import sys; held = b'x' * (80 << 20); print('has', flush=True); sys.stdin.read()"
pipes = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE)
hogs = [subprocess.Popen([sys.executable, "-c", hog], **pipes) for _ in range(6)]
for each in hogs:
    each.stdout.readline()
for each in hogs:
    each.stdin.close()
print(sum(each.wait() == -9 for each in hogs), "of 6 were ended")
"""
"""480 MiB, each process's 80 of which are within its own bound, of a study's 256 MiB."""


def test_memory_of_all_processes_together_is_bounded_where_root_serves() -> None:
    try:
        memory_group(f"netwarp-test-{os.getpid()}", 1 << 30).remove()
    except NoGroupError as error:
        pytest.skip(str(error))
    ended, *text = printed(f"{PYTHON} - <<'END'\n{HOGS}\nEND\n").splitlines()[-1].split()
    assert text == ["of", "6", "were", "ended"]
    # 320 MiB, the role's own included, have room for three or four.
    assert int(ended) in (2, 3)


def test_serve_says_what_bounds_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 65534)
    assert "not in sum, since no control group can be made (only root makes" in memory_text()


def test_each_process_has_the_cpu_time_of_a_run_and_goes_first_when_memory_runs_out() -> None:
    assert printed("ulimit -t; ulimit -Ht; cat /proc/self/oom_score_adj") == "601\n601\n1000"
    with contained("ulimit -t; echo; echo ready; sleep 1000", Limits(run_s=7)) as held:
        assert held.printed().startswith("8\n"), "--max-time, and a second to end it"


def test_no_key_of_the_owner_is_reached(nobodys: Path) -> None:
    """Nobody serves, and the command is nobody's as well: it is the containment that keeps them."""
    names = [f"{mark('key')}-of-{whose}" for whose in ("session", "user")]
    front = (PYTHON, "-c", keys.HOLD_KEYS, *names)
    look = (PYTHON, "-c", keys.READ_KEYS, *names)
    seen = subprocess.run([*AS_NOBODY, *front, *look], capture_output=True, text=True, check=True)
    if not seen.stdout.strip():
        pytest.skip("no key can be added here")
    assert seen.stdout.split() == names, "nothing hides them, so that the test can fail"
    command = f"{PYTHON} - {' '.join(names)} <<'END'\n{keys.READ_KEYS}\nEND\n"
    told = printed_as_nobody(nobodys, f"({command}); echo; echo ready; sleep 1000", front)
    assert told.strip() == "ready"
