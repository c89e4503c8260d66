"""Programs in a guest that attack what holds them; each aims at files of its own test alone."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from netwarp.backends.leftovers import make_harmless
from netwarp.backends.needs import Machine
from netwarp.backends.virtual import CONFINEMENT
from netwarp.errors import BackendError

NETWARP = Path(sys.executable).with_name("netwarp")
PYTHON = Path(sys.executable).resolve()
SERVE = f"exec {PYTHON} -m http.server 80"

# Has the guest kernel's own page (arch/um/kernel/skas/stub.c) make a system call, and tells who
# carried it out: a mapping that the guest's kernel knows nothing of is the host's.
JUMP_INTO_THE_STUB = """
import ctypes, mmap, struct
stub = 0x7FFFFFFFC000
at = ctypes.string_at(stub, 4096).find(bytes.fromhex("0f05c3"))
assert at >= 0, "the page has no system call that returns"
code = bytes.fromhex("4989cab80900000049bb") + struct.pack("<Q", stub + at) + b"\\x41\\xff\\xe3"
place = mmap.mmap(-1, 4096, prot=7)
place.write(code)
words = [ctypes.c_long] * 6
call = ctypes.CFUNCTYPE(ctypes.c_long, *words)(ctypes.addressof(ctypes.c_char.from_buffer(place)))
wanted = 0x10000000000
assert call(wanted, 1 << 20, 3, 0x32, -1, 0) == wanted
known = any(line.startswith("10000000000-") for line in open("/proc/self/maps"))
print("the guest's kernel" if known else "the host's kernel")
"""


@pytest.fixture
def held() -> None:
    try:
        CONFINEMENT.check(Machine())
    except BackendError as error:
        pytest.skip(str(error))


@pytest.fixture
def in_memory() -> Iterator[Path]:
    """A directory of the test's own where guests have their memory."""
    with tempfile.TemporaryDirectory(prefix="netwarp-test-", dir="/dev/shm") as directory:
        yield Path(directory)


def run_exec(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(NETWARP), "exec", "--server", SERVE, *arguments]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=300
    )


def test_a_program_does_not_make_the_guest_kernels_system_calls(tmp_path: Path) -> None:
    done = run_exec(tmp_path, "--", str(PYTHON), "-c", JUMP_INTO_THE_STUB)
    assert "the host's kernel" not in done.stdout
    # The guest's kernel kills a program that makes a system call from there (`handle_trap`).
    assert "was killed by SIGSEGV" in done.stderr


def test_files_of_the_machine_keep_mode_owner_and_times(
    tmp_path: Path, in_memory: Path, held: None
) -> None:
    files = [place / "mine" for place in (tmp_path, in_memory)]
    for file in files:
        file.write_text("before")
        file.chmod(0o640)
    before = [file.stat() for file in files]
    attacks = "".join(
        f" mkdir -p /tmp/{name}; mount -t hostfs none /tmp/{name} -o {file.parent};"
        f" cat /tmp/{name}/mine; chmod 6777 /tmp/{name}/mine; chown 1:1 /tmp/{name}/mine;"
        f" touch -d 2001-01-01 /tmp/{name}/mine; echo after > /tmp/{name}/mine;"
        f" touch /tmp/{name}/new; ln -s / /tmp/{name}/link; rm -f /tmp/{name}/mine;"
        for name, file in zip(("disk", "memory"), files, strict=True)
    )
    done = run_exec(tmp_path, "--", "sh", "-c", attacks)
    assert done.stdout == "beforebefore", "it got as far as reading"
    for file, old in zip(files, before, strict=True):
        new = file.stat()
        assert (new.st_mode, new.st_uid, new.st_mtime_ns) == (
            old.st_mode,
            old.st_uid,
            old.st_mtime_ns,
        )
        assert file.read_text() == "before"
        assert {each.name for each in file.parent.iterdir()} <= {"mine", "netwarp-out"}


def test_what_a_program_plants_in_its_run_directory_is_harmless(tmp_path: Path) -> None:
    """Neither a set-user-ID file, nor a device, nor a link or FIFO in place of a file of ours."""
    secret = tmp_path / "secret"
    secret.write_text("another file's content")
    place = tmp_path / "kept"
    planted = place / "runs" / ".c000-r00.partial"
    script = (
        f"mkdir /tmp/run; mount -t hostfs none /tmp/run -o {planted} && cd /tmp/run && echo in;"
        " cp /bin/true root; chmod 6755 root; mknod disk b 7 0; mkfifo pipe; mkdir -m 0 shut;"
        f" rm -f endpoint client.stdout console.log; ln -s {secret} console.log; ln -s / below"
    )
    done = run_exec(tmp_path, "--out", str(place), "--", "sh", "-c", script)
    assert "Traceback" not in done.stderr
    assert "another file's content" not in done.stdout + done.stderr
    kept = place / "runs" / "c000-r00"
    assert (kept / "root").exists(), done.stderr
    for path in kept.rglob("*"):
        mode = path.lstat().st_mode
        assert stat.S_ISREG(mode) or stat.S_ISDIR(mode), path
        assert not mode & (stat.S_ISUID | stat.S_ISGID), path


def test_no_file_of_the_run_directory_is_set_user_id_while_the_run_lasts(
    tmp_path: Path, held: None
) -> None:
    """Nor after kill -9, when nobody makes it harmless: the machine refuses the mode itself."""
    place = tmp_path / "kept"
    mount = f"mount -t hostfs none /tmp/run -o {place}/runs/.c000-r00.partial"
    # Mounted anew, hostfs asks the machine for what it has.
    script = (
        f"mkdir /tmp/run; {mount} && cd /tmp/run; cp /bin/true root; chmod 6755 root; mkdir dir;"
        f" chmod 2755 dir; chmod 1755 dir; cd /; umount /tmp/run; {mount};"
        " stat -c %a /tmp/run/root /tmp/run/dir"
    )
    done = run_exec(tmp_path, "--out", str(place), "--", "sh", "-c", script)
    assert done.stdout == "755\n1755\n", done.stderr
    assert done.stderr.count("Operation not permitted") == 2, done.stderr


def test_what_a_guest_writes_beside_its_memory_has_a_bound(tmp_path: Path, held: None) -> None:
    """What fills it leaves the guest no memory: the write fails, or the guest ends."""
    script = (
        "for n in $(seq 3 60); do mkdir /tmp/$n;"
        " mount -t hostfs none /tmp/$n -o /proc/self/fd/$n || continue;"
        " touch /tmp/$n/mine || continue; {}; done"
    )
    size, fill = "stat -f -c '%b %S' /tmp/$n", "head -c 300M /dev/zero > /tmp/$n/mine && echo all"
    seen = run_exec(tmp_path, "--memory", "128MiB", "--", "sh", "-c", script.format(size))
    (line,) = seen.stdout.splitlines()
    blocks, block_bytes = map(int, line.split())
    assert 128 << 20 <= blocks * block_bytes <= 160 << 20, seen.stderr
    filled = run_exec(tmp_path, "--memory", "128MiB", "--", "sh", "-c", script.format(fill))
    assert "all" not in filled.stdout, filled.stderr


@pytest.mark.parametrize("plant", ["mkfifo {}", "ln -s /dev/zero {}", "truncate -s 8T {}"])
def test_records_that_are_none_are_a_failed_run(tmp_path: Path, plant: str) -> None:
    place = tmp_path / "kept"
    planted = place / "runs" / ".c000-r00.partial"
    script = (
        f"mkdir /tmp/run; mount -t hostfs none /tmp/run -o {planted} && cd /tmp/run;"
        f" rm records.jsonl; {plant.format('records.jsonl')}"
    )
    done = run_exec(tmp_path, "--out", str(place), "--", "sh", "-c", script)
    assert done.returncode == 1, done.stdout
    assert "Traceback" not in done.stderr
    assert len(done.stderr) < 10_000


def test_a_program_that_fails_after_an_endless_line_fails_by_its_status(tmp_path: Path) -> None:
    """The record that ends a run quotes the beginning of the line, and is read."""
    script = "import sys; sys.stderr.write('a' * 3_000_000); sys.exit(3)"
    done = run_exec(tmp_path, "--", str(PYTHON), "-c", script)
    said = done.stderr.replace("a" * 3_000_000, "", 1)
    assert "the client's program exited with status 3; the last it said: aaa" in said
    assert len(said) < 5000


def test_leftovers_are_made_harmless_and_files_stay(tmp_path: Path) -> None:
    (tmp_path / "written").mkdir()
    (tmp_path / "written" / "link").symlink_to("/nowhere")
    (tmp_path / "link").symlink_to("/nowhere")
    (tmp_path / "shut").mkdir()
    (tmp_path / "shut" / "root").write_text("kept")
    (tmp_path / "shut" / "root").chmod(0o6000)
    os.mkfifo(tmp_path / "shut" / "pipe")
    (tmp_path / "shut").chmod(0)
    make_harmless(tmp_path)
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")}
    assert left == {"written", "written/link", "shut", "shut/root"}
    assert stat.S_IMODE((tmp_path / "shut" / "root").stat().st_mode) == 0o400
    shutil.rmtree(tmp_path / "shut")


def test_a_program_makes_namespaces_as_browsers_sandboxes_do(tmp_path: Path) -> None:
    """As an ordinary user, with what bubblewrap does: mounts of its own, and another root."""
    script = (
        "mkdir /tmp/new && mount -t tmpfs none /tmp/new && mkdir /tmp/new/old"
        " && pivot_root /tmp/new /tmp/new/old && echo made"
    )
    as_user = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--")
    namespaces = ("unshare", "--user", "--map-root-user", "--mount", "--net", "--pid", "--fork")
    done = run_exec(tmp_path, "--", *as_user, *namespaces, "sh", "-c", script)
    assert done.stdout == "made\n", done.stderr


def test_what_is_kept_of_a_program_is_never_set_user_id(tmp_path: Path) -> None:
    """Its copy may not be, not even before its mode is set: the guest is refused that."""
    script = "echo '#!/bin/sh' > program; chmod 6755 program; echo more > other"
    answer = run_exec(tmp_path, "--keep", "--out", "out", "--", "sh", "-c", script)
    assert answer.returncode == 0, answer.stderr
    (kept,) = tmp_path.glob("out/runs/*/written/client")
    below = kept / tmp_path.relative_to("/")
    assert stat.S_IMODE((below / "program").stat().st_mode) == 0o755
    assert (below / "program").read_text() == "#!/bin/sh\n"
    assert (below / "other").read_text() == "more\n"
