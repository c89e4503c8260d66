"""What holds a guest kernel, tried by a process in its place that attacks what the test made."""

from __future__ import annotations

import os
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest

from netwarp.backends.guest_files import find_endpoint
from netwarp.backends.virtual import enclosed_in

# Each attack prints its name if it succeeds.
ATTACKS = """
import ctypes, fcntl, mmap, os, socket, sys
outside, pid, abstract = sys.argv[1], int(sys.argv[2]), sys.argv[3]
c = ctypes.CDLL(None, use_errno=True)
def attack(name, attempt):
    try:
        attempt()
    except OSError:
        return
    print(name)
def call(number, *arguments):
    if c.syscall(number, *arguments) < 0:
        raise OSError(ctypes.get_errno(), "")
def connect(address):
    socket.socket(socket.AF_UNIX).connect(address)
def datagrams(kind=socket.SOCK_DGRAM):
    return socket.socketpair(socket.AF_UNIX, kind)[0]
attack("write", lambda: open(outside, "w"))
attack("chmod", lambda: os.chmod(outside, 0o777))
attack("utime", lambda: os.utime(outside, (0, 0)))
attack("chown", lambda: os.chown(outside, os.getuid(), os.getgid()))
attack("xattr", lambda: os.setxattr(outside, "user.x", b"x"))
attack("create", lambda: open(outside + ".new", "x"))
attack("link", lambda: os.link(outside, "link"))
attack("device", lambda: os.mknod("device", 0o060600, os.makedev(7, 0)))
attack("signal", lambda: os.kill(pid, 0))
attack("see a process", lambda: os.stat(f"/proc/{pid}"))
attack("socket with a name", lambda: connect(outside + ".socket"))
attack("abstract socket", lambda: connect("\\0" + abstract))
attack("datagram", lambda: datagrams().sendto(b"x", outside + ".datagrams"))
attack("message", lambda: datagrams().sendmsg([b"x"], [], 0, outside + ".datagrams"))
attack("raw pair", lambda: datagrams(socket.SOCK_RAW).sendto(b"x", outside + ".datagrams"))
attack("large file", lambda: open("large", "w").truncate((64 << 30) + 1))
def others_file():
    return os.open(outside, os.O_RDONLY)
attack("flock", lambda: fcntl.flock(others_file(), fcntl.LOCK_EX | fcntl.LOCK_NB))
attack("lock", lambda: fcntl.lockf(others_file(), fcntl.LOCK_SH | fcntl.LOCK_NB))
attack("lease", lambda: fcntl.fcntl(others_file(), fcntl.F_SETLEASE, fcntl.F_RDLCK))
attack("notice", lambda: fcntl.fcntl(os.open("/", os.O_RDONLY), fcntl.F_NOTIFY, 1))
attack("65 MiB of data", lambda: mmap.mmap(-1, 65 << 20, flags=mmap.MAP_PRIVATE))
attack("network", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
attack("user namespace", lambda: call(272, 0x10000000))
attack("mount namespace", lambda: call(272, 0x20000))
attack("clone of a user namespace", lambda: call(56, 0x10000000 | 17, 0, 0, 0, 0))
attack("chroot", lambda: os.chroot("/"))
attack("remount", lambda: call(165, None, b"/", None, 0x1020, None))
attack("setuid", lambda: os.setuid(os.getuid() + 1))
open("inside", "w").write("mine")
open("large", "w").truncate(1 << 30)
one, other = socket.socketpair()
one.sendall(b"ours")
assert other.recv(4) == b"ours"
print("done")
"""


@pytest.mark.parametrize("user", [os.geteuid(), 65534])
def test_an_enclosed_process_changes_nothing_outside(tmp_path: Path, user: int) -> None:
    if user != os.geteuid() and os.geteuid() != 0:
        pytest.skip("only root can become another user")
    place, outside = tmp_path / "run", tmp_path / "outside"
    place.mkdir()
    outside.write_text("before")
    for path in (place, outside):
        os.chown(path, user, -1)
    for folder in (tmp_path, *tmp_path.parents):
        if Path(tempfile.gettempdir()) in folder.parents:
            folder.chmod(0o755)
    before = outside.stat()
    abstract = f"netwarp-test-{os.getpid()}"
    as_user = ["setpriv", "--reuid", str(user), "--clear-groups"] if os.geteuid() == 0 else []
    enclosed = [*as_user, *enclosed_in(find_endpoint(), Path(), must=True)]
    with (
        socket.socket(socket.AF_UNIX) as named,
        socket.socket(socket.AF_UNIX) as unnamed,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) as datagrams,
    ):
        datagrams.bind(f"{outside}.datagrams")
        Path(f"{outside}.datagrams").chmod(0o777)
        named.bind(f"{outside}.socket")
        Path(f"{outside}.socket").chmod(0o777)
        unnamed.bind("\0" + abstract)
        for each in (named, unnamed):
            each.listen()
        done = subprocess.run(
            [*enclosed, "/usr/bin/python3", "-c", ATTACKS, outside, str(os.getpid()), abstract],
            cwd=place, capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        with pytest.raises(BlockingIOError):
            datagrams.recv(1)
    if "user namespace" in done.stderr or "clone" in done.stderr:
        pytest.skip(done.stderr)
    assert done.stdout == "done\n", done.stderr
    after = outside.stat()
    assert (after.st_mode, after.st_mtime_ns) == (before.st_mode, before.st_mtime_ns)
    assert (place / "inside").read_text() == "mine"
    made = {"run", "outside", "outside.socket", "outside.datagrams"}
    assert {each.name for each in tmp_path.iterdir()} == made


# Ignores the signal itself, and sends it to all of its process group: they are outside of its
# number space for processes, but need no number.
SIGNAL_THE_GROUP = "import os, signal; signal.signal(15, signal.SIG_IGN); os.kill(0, 15)"


@pytest.mark.parametrize("is_enclosed", [True, False])
def test_an_enclosed_process_signals_nobody_outside(tmp_path: Path, is_enclosed: bool) -> None:
    front = enclosed_in(find_endpoint(), Path(), must=True) if is_enclosed else []
    with subprocess.Popen(["sleep", "1000"], process_group=0) as outside:
        done = subprocess.run(
            [*front, "/usr/bin/python3", "-c", SIGNAL_THE_GROUP],
            cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60,
            process_group=outside.pid,
        )  # fmt: skip
        outside.kill()
    if is_enclosed and ("user namespace" in done.stderr or "clone" in done.stderr):
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    assert outside.returncode == (-9 if is_enclosed else -15), done.stderr


@pytest.mark.parametrize(
    ("script", "status"), [("exit 7", 7), ("kill -KILL $$", -9), ("kill -SEGV $$", -11)]
)
def test_an_enclosed_process_ends_as_its_program_does(
    tmp_path: Path, script: str, status: int
) -> None:
    command = [*enclosed_in(find_endpoint(), Path()), "sh", "-c", script]
    assert subprocess.run(command, cwd=tmp_path, check=False, timeout=60).returncode == status


SPINS = """
import os, time
ends = os.pipe()
if os.fork() == 0:
    os.setsid()
    while time.process_time() < 1:
        pass
    os.write(ends[1], b".")
    while True:
        pass
os.read(ends[0], 1)
"""
"""Ends when what it leaves behind, which goes on, has had a second of a CPU."""


def test_the_cpu_time_of_what_it_leaves_behind_counts(tmp_path: Path) -> None:
    command = [*enclosed_in(find_endpoint(), Path()), "/usr/bin/python3", "-c", SPINS]
    before = os.times()
    subprocess.run(command, cwd=tmp_path, check=True, timeout=60)
    after = os.times()
    used_s = after.children_user + after.children_system
    assert used_s - before.children_user - before.children_system > 0.9
