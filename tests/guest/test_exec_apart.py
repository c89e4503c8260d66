"""`netwarp exec`: client and server are on two hosts, which only the path connects."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from netwarp.backends.native import NativeBackend

NETWARP = Path(sys.executable).with_name("netwarp")
# Any Python listens and connects; a shell cannot.
PYTHON = Path(sys.executable).resolve()

# The server leaves all that it can, then listens, by which it is ready.
SERVER = f"""
exec {PYTHON} - <<'END'
import ctypes, os, socket
print("the server's word", flush=True)
os.makedirs("left", exist_ok=True)
names = ["left/file", "/tmp/file", "/run/file", "/dev/file", "/dev/shm/file", "/tmp/home/file"]
for name in [*names, "/var/lib/file"]:
    try:
        open(name, "w").close()
    except OSError as error:
        print(name, error)
listening = []
for name in ["left/socket", "/tmp/socket", "/dev/socket", "\\0socket"]:
    try:
        listening.append(socket.socket(socket.AF_UNIX))
        listening[-1].bind(name)
        listening[-1].listen()
    except OSError as error:
        print(name, error)
libc = ctypes.CDLL(None, use_errno=True)
print(libc.shmget(4711, 4096, 0o1666), libc.mq_open(b"/queue", os.O_CREAT | os.O_RDWR, 0o666, None))
ready = socket.create_server(("", 80))
ready.accept()[0].recv(1)
END
"""

# The client prints what it finds of that, a line each, and ends the server.
CLIENT = """
import ctypes, glob, os, socket, sys
names = ["left/file", "/tmp/file", "/run/file", "/dev/file", "/dev/shm/file", "/tmp/home/file"]
print(*[name for name in [*names, "/var/lib/file"] if os.path.exists(name)], sep="\\n")
for name in ["left/socket", "/tmp/socket", "/dev/socket", "\\0socket"]:
    try:
        socket.socket(socket.AF_UNIX).connect(name)
        print(repr(name))
    except OSError:
        pass
libc = ctypes.CDLL(None, use_errno=True)
if libc.shmget(4711, 4096, 0) >= 0:
    print("shared memory")
if libc.mq_open(b"/queue", os.O_RDWR) >= 0:
    print("message queue")
for name in glob.glob(sys.argv[1] + "/**/server.stdout", recursive=True):
    if os.path.getsize(name):
        print("output")
socket.create_connection(("server", 80)).close()
"""


def found(folder: Path, *arguments: str) -> list[str]:
    """Give what a client finds of what its server has left, other than over the path."""
    out = folder / "out"
    command: list[str | Path] = [
        NETWARP,
        "exec",
        "--out",
        out,
        "--json",
        *arguments,
        "--server",
        SERVER,
    ]
    client: list[str | Path] = ["--", PYTHON, "-c", CLIENT, out]
    done = subprocess.run(
        [*command, *client], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout)["client"]["stdout"]
    assert isinstance(told, str)
    return told.split()


BACKENDS = ["virtual", "native"]


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    if request.param == "native":
        capabilities = NativeBackend().capabilities
        missing = capabilities.missing_path or capabilities.missing_programs
        if missing is not None:
            pytest.skip(missing)
    return str(request.param)


def test_hosts_share_no_file_socket_memory_or_queue(tmp_path: Path, backend: str) -> None:
    assert found(tmp_path, "--backend", backend) == []


def test_hosts_share_what_they_write_where_that_is_asked_for(tmp_path: Path, backend: str) -> None:
    theirs = found(tmp_path, "--backend", backend, "--shared")
    assert {"left/file", "/tmp/file", "/dev/shm/file", "'left/socket'", "'/tmp/socket'"} <= {
        *theirs
    }
    assert "'\\x00socket'" not in theirs, "a name of one network is none of the other's"


def test_what_each_host_wrote_is_kept_apart(tmp_path: Path) -> None:
    out = tmp_path / "out"
    server = f"echo server > mine; exec {PYTHON} -m http.server 80"
    command: list[str | Path] = [NETWARP, "exec", "--keep", "--out", out, "--server", server]
    client: list[str | Path] = ["--", "sh", "-c", "echo client > mine; echo client > /tmp/new"]
    subprocess.run([*command, *client], cwd=tmp_path, check=True)
    written = out / "runs" / "c000-r00" / "written"
    mine = tmp_path.relative_to("/") / "mine"
    assert (written / "server" / mine).read_text() == "server\n"
    assert (written / "client" / mine).read_text() == "client\n"
    assert [path.name for path in written.rglob("new")] == ["new"]
    assert not (tmp_path / "mine").exists()


def test_a_host_has_the_devices_in_folders_too(tmp_path: Path) -> None:
    command: list[str | Path] = [NETWARP, "exec", "--json", "--server", SERVER]
    client = ["--", "sh", "-c", "ls -l /dev/net/tun"]
    done = subprocess.run(
        [*command, *client], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout)["client"]["stdout"].startswith("crw")
