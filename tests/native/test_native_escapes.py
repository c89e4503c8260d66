"""Programs of a native run that attack what holds them; each aims at what its own test made."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from native import keys
from netwarp.backends.native import NativeBackend

NETWARP = Path(sys.executable).with_name("netwarp")
PYTHON = "/usr/bin/python3"
SERVE = f"exec {PYTHON} -m http.server 80"

# Leaves a root directory made by chroot(2), and acts on a file outside. In a user namespace of its
# own a program has the capability that chroot(2) takes.
LEAVE_THE_ROOT = """
import ctypes, os, socket, sys
directory = sys.argv[1]
if sys.argv[2] == "user namespace":
    assert ctypes.CDLL(None).unshare(0x10000000) == 0
outside = os.open("/", os.O_RDONLY)
os.makedirs("/tmp/below", exist_ok=True)
try:
    os.chroot("/tmp/below")
    os.fchdir(outside)
    for _ in range(64):
        os.chdir("..")
    os.chroot(".")
    print("chroot: done")
except OSError as error:
    print("chroot:", error.strerror)
for name, attack in {
    "chmod": lambda: os.chmod(directory + "/mine", 0o777),
    "utime": lambda: os.utime(directory + "/mine", (0, 0)),
    "xattr": lambda: os.setxattr(directory + "/mine", "user.netwarp", b"x"),
    "connect": lambda: socket.socket(socket.AF_UNIX).connect(directory + "/socket"),
}.items():
    try:
        attack()
    except OSError:
        print(name, "failed")
"""


@pytest.fixture(scope="module", autouse=True)
def able_host() -> None:
    capabilities = NativeBackend().capabilities
    missing = capabilities.missing_path or capabilities.missing_programs
    if missing is not None:
        pytest.skip(missing)


def run_exec(
    folder: Path, *client: str, front: Sequence[str] = ()
) -> subprocess.CompletedProcess[str]:
    command = [str(NETWARP), "exec", "--backend", "native", "--server", SERVE, "--", *client]
    return subprocess.run(
        [*front, *command], cwd=folder, capture_output=True, text=True, check=False, timeout=120
    )


@pytest.mark.parametrize(
    ("by", "answer"), [("plain", "Operation not permitted"), ("user namespace", "done")]
)
def test_no_way_leads_out_of_the_root(tmp_path: Path, by: str, answer: str) -> None:
    file = tmp_path / "mine"
    file.write_text("before")
    before = file.stat()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        listening.listen()
        done = run_exec(tmp_path, PYTHON, "-c", LEAVE_THE_ROOT, str(tmp_path), by)
    assert f"chroot: {answer}\n" in done.stdout, done.stderr
    assert "connect failed" in done.stdout, done.stderr
    after = file.stat()
    assert (after.st_mode, after.st_mtime_ns) == (before.st_mode, before.st_mtime_ns)
    assert "user.netwarp" not in os.listxattr(file)


def test_programs_have_no_capability_that_leads_out(tmp_path: Path) -> None:
    done = run_exec(tmp_path, "grep", "CapBnd", "/proc/self/status")
    held = int(done.stdout.split()[1], 16)
    # DAC_READ_SEARCH, SYS_MODULE, SYS_RAWIO, SYS_CHROOT, SYS_PTRACE, SYS_ADMIN, SYS_BOOT, MKNOD
    assert not any(held >> number & 1 for number in (2, 16, 17, 18, 19, 21, 22, 27))
    # NET_ADMIN: their network is their own.
    assert held >> 12 & 1


def test_views_of_the_kernel_and_devices_keep_their_modes(tmp_path: Path) -> None:
    """As tried on a device of no consequence: the change is to what it is already."""
    script = (
        "chmod $(stat -c %a /sys/kernel) /sys/kernel || echo sys;"
        " chmod $(stat -c %a /dev/zero) /dev/zero || echo dev; echo x > /dev/null && echo written"
    )
    done = run_exec(tmp_path, "sh", "-c", script)
    assert done.stdout == "sys\ndev\nwritten\n", done.stderr
    assert done.stderr.count("Read-only file system") == 2, done.stderr


def test_a_program_makes_a_user_namespace(tmp_path: Path) -> None:
    done = run_exec(tmp_path, "unshare", "--user", "echo", "made")
    assert done.stdout == "made\n", done.stderr


def test_no_key_of_the_user_is_reached(tmp_path: Path) -> None:
    """Neither those of the session nor those of the user, whose keyring has a number."""
    names = [f"netwarp-test-{os.getpid()}-of-{whose}" for whose in ("session", "user")]
    hold = [PYTHON, "-c", keys.HOLD_KEYS, *names]
    look = [PYTHON, "-c", keys.READ_KEYS, *names]
    seen = subprocess.run([*hold, *look], capture_output=True, text=True, check=True)
    if not seen.stdout.strip():
        pytest.skip("no key can be added here")
    assert seen.stdout.split() == names, "nothing hides them, so that the test can fail"
    done = run_exec(tmp_path, *look, front=hold)
    assert done.stdout == "\n", done.stderr
