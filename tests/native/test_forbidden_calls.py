"""Every system call that docs/security.md says a guest kernel does not make, tried in its place."""

from __future__ import annotations

import errno
import json
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from netwarp.backends.guest_files import find_endpoint
from netwarp.backends.virtual import enclosed_in

Calls = dict[str, tuple[int, tuple[int, ...]]]
"""The number and the arguments of each."""

SOURCE = Path(__file__).parents[2] / "endpoint" / "programs" / "src" / "enclosure.rs"
BAD = -1
"""A descriptor that is none, and a pointer to what is not mapped."""
NO_KEY = 0x6E770001
"""The key of no System V object."""
ABSENT = 0x7FFFFFFF
"""The number of no process."""
CREATES, IN_NO_FOLDER = 0o101, 0o20200001
"""The flags O_CREAT and O_TMPFILE of open(2), to write."""
STREAM, DATAGRAM, RAW, PACKET = 1, 2, 3, 5

# Without the filter each of these fails for another reason or changes nothing.
FORBIDDEN: Calls = {
    "connect": (42, (BAD, 0, 0)),
    "bind": (49, (BAD, 0, 0)),
    "listen": (50, (BAD, 0)),
    "accept": (43, (BAD, 0, 0)),
    "accept4": (288, (BAD, 0, 0, 0)),
    "socket": (41, (1, STREAM, 0)),
    "sendmmsg": (307, (BAD, 0, 0, 0)),
    "unshare": (272, (0,)),
    "setns": (308, (BAD, 0)),
    "mount": (165, (BAD, BAD, BAD, 0, BAD)),
    "umount2": (166, (BAD, 0)),
    "pivot_root": (155, (BAD, BAD)),
    "chroot": (161, (BAD,)),
    "open_tree": (428, (BAD, BAD, 0)),
    "move_mount": (429, (BAD, BAD, BAD, BAD, 0)),
    "fsopen": (430, (BAD, 0)),
    "fsconfig": (431, (BAD, 6, 0, 0, 0)),
    "fsmount": (432, (BAD, 0, 0)),
    "fspick": (433, (BAD, BAD, 0)),
    "mount_setattr": (442, (BAD, BAD, 0, BAD, 32)),
    "openat2": (437, (BAD, BAD, BAD, 24)),
    "open_by_handle_at": (304, (BAD, BAD, 0)),
    "process_vm_readv": (310, (ABSENT, 0, 0, 0, 0, 0)),
    "process_vm_writev": (311, (ABSENT, 0, 0, 0, 0, 0)),
    "add_key": (248, (BAD, BAD, 0, 0, 0)),
    "request_key": (249, (BAD, BAD, 0, 0)),
    "keyctl": (250, (9999, 0, 0, 0, 0)),
    "bpf": (321, (9999, 0, 0)),
    "perf_event_open": (298, (BAD, 0, -1, -1, 0)),
    "userfaultfd": (323, (0xFFFFFF,)),
    "io_uring_setup": (425, (1, BAD)),
    "io_uring_enter": (426, (BAD, 0, 0, 0, 0, 0)),
    "shmget": (29, (NO_KEY, 1, 0)),
    "msgget": (68, (NO_KEY, 0)),
    "semget": (64, (NO_KEY, 1, 0)),
    "flock": (73, (BAD, 2)),
}
BY_ARGUMENTS: Calls = {
    "chmod u+s": (90, (BAD, 0o4755)),
    "chmod g+s": (90, (BAD, 0o2755)),
    "fchmod": (91, (BAD, 0o4755)),
    "fchmodat": (268, (BAD, BAD, 0o4755)),
    "fchmodat2": (452, (BAD, BAD, 0o4755, 0)),
    "creat": (85, (BAD, 0o4755)),
    "open": (2, (BAD, CREATES, 0o4755)),
    "open without a name": (2, (BAD, IN_NO_FOLDER, 0o4755)),
    "openat": (257, (BAD, BAD, CREATES, 0o4755)),
    "openat without a name": (257, (BAD, BAD, IN_NO_FOLDER, 0o4755)),
    "mkdir": (83, (BAD, 0o2755)),
    "mkdirat": (258, (BAD, BAD, 0o2755)),
    "mknod": (133, (BAD, 0o104755, 0)),
    "mknodat": (259, (BAD, BAD, 0o104755, 0)),
    "socketpair of datagrams": (53, (1, DATAGRAM, 0, BAD)),
    "socketpair, closed on exec": (53, (1, DATAGRAM | 0o2000000, 0, BAD)),
    "socketpair, raw": (53, (1, RAW, 0, BAD)),
    "socketpair of packets": (53, (1, PACKET, 0, BAD)),
    "socketpair of TIPC": (53, (30, STREAM, 0, BAD)),
    "sendto, low address": (44, (BAD, 0, 0, 0, 1, 2)),
    "sendto, high address": (44, (BAD, 0, 0, 0, 1 << 32, 2)),
    "fcntl F_SETLK": (72, (BAD, 6, 0)),
    "fcntl F_SETLKW": (72, (BAD, 7, 0)),
    "fcntl F_SETLK, with bits that the kernel does not read": (72, (BAD, 1 << 32 | 6, 0)),
    "fcntl F_OFD_SETLK": (72, (BAD, 37, 0)),
    "fcntl F_OFD_SETLKW": (72, (BAD, 38, 0)),
    "fcntl F_SETLEASE": (72, (BAD, 1024, 0)),
    "fcntl F_NOTIFY": (72, (BAD, 1026, 0)),
    "fcntl F_SETDELEG": (72, (BAD, 1040, 0)),
}
ALLOWED: Calls = {
    "chmod +t": (90, (BAD, 0o1777)),
    "fchmod": (91, (BAD, 0o777)),
    "open": (2, (BAD, 0, 0o4755)),
    "open a directory": (2, (BAD, 0o200000, 0o4755)),
    "openat": (257, (BAD, BAD, CREATES, 0o644)),
    "socketpair": (53, (1, STREAM | 0o2000000, 0, BAD)),
    "sendto": (44, (BAD, 0, 0, 0, 0, 0)),
    "fcntl F_GETFD": (72, (BAD, 1, 0)),
    "fcntl F_SETFL": (72, (BAD, 4, 0)),
    "fcntl F_GETLK": (72, (BAD, 5, 0)),
    "fcntl F_SETOWN": (72, (BAD, 8, 0)),
    "fcntl F_DUPFD_CLOEXEC": (72, (BAD, 1030, 0)),
}
OTHER_ARCHITECTURES: Calls = {"x32": (0x40000000 | 39, ())}
TRIED = {"forbidden": FORBIDDEN, "by": BY_ARGUMENTS, "allowed": ALLOWED, "x32": OTHER_ARCHITECTURES}

# Prints the error's number of each call, 0 for none.
TRY_ALL = """
import ctypes, json, sys
c = ctypes.CDLL(None, use_errno=True)
def answer(number, arguments):
    failed = c.syscall(ctypes.c_long(number), *map(ctypes.c_long, arguments)) < 0
    return ctypes.get_errno() if failed else 0
tried = json.loads(sys.argv[1])
print(json.dumps({kind: {name: answer(*call) for name, call in calls.items()}
    for kind, calls in tried.items()}))
"""
# getpid of a program of 32 bits (int 0x80), and what it returned.
CALL_OF_32_BITS = """
import ctypes, mmap
place = mmap.mmap(-1, 4096, prot=7)
place.write(bytes.fromhex("b814000000cd80c3"))
print(ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(place)))())
"""


@cache
def answers(*front: str) -> dict[str, dict[str, int]]:
    """Have a process make all of the calls; the error's number for each kind and call."""
    command = [*front, "/usr/bin/python3", "-c", TRY_ALL, json.dumps(TRIED)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    if "user namespace" in done.stderr or "clone" in done.stderr:
        pytest.skip(done.stderr)
    found: dict[str, dict[str, int]] = json.loads(done.stdout)
    return found


def enclosed() -> list[str]:
    return enclosed_in(find_endpoint(), must=True)


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind in TRIED if kind != "allowed" for name in TRIED[kind]]
)
def test_a_call_is_refused_in_an_enclosure_alone(kind: str, name: str) -> None:
    assert answers(*enclosed())[kind][name] == errno.EPERM
    if answers()[kind][name] == errno.EPERM:
        pytest.skip("this machine refuses it to this user anyway")


@pytest.mark.parametrize("name", ALLOWED)
def test_a_call_with_other_arguments_is_let_through(name: str) -> None:
    inside, outside = answers(*enclosed())["allowed"][name], answers()["allowed"][name]
    assert inside == outside != errno.EPERM


def test_every_forbidden_call_is_tried() -> None:
    source = SOURCE.read_text()
    always = source.partition("const FORBIDDEN")[2].partition("];")[0]
    assert set(re.findall(r"libc::SYS_(\w+)", always)) == set(FORBIDDEN)
    by_arguments = source.partition("const REFUSED")[2].partition("];")[0]
    tried = {re.split(r"[ ,]", name)[0] for name in BY_ARGUMENTS}
    assert set(re.findall(r"libc::SYS_(\w+)", by_arguments)) == tried


def test_calls_of_32_bits_are_refused() -> None:
    command = ["/usr/bin/python3", "-c", CALL_OF_32_BITS]
    outside = subprocess.run(command, capture_output=True, text=True, check=False)
    if outside.returncode != 0 or int(outside.stdout) < 0:
        pytest.skip("this kernel runs no programs of 32 bits")
    inside = subprocess.run([*enclosed(), *command], capture_output=True, text=True, check=False)
    if "user namespace" in inside.stderr or "clone" in inside.stderr:
        pytest.skip(inside.stderr)
    assert int(inside.stdout) == -errno.EPERM, inside.stderr
