"""Set-up with programs that stand in for compilers: what runs side by side, and what ends."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
BUILDS = (
    '[ "$1" = build ] || exit 0; into="$CARGO_TARGET_DIR/x86_64-unknown-linux-gnu/release";'
    ' mkdir -p "$into"; echo built >"$into/netwarp-endpoint"'
)
"""What stands in for cargo."""
LIMIT_S = 120
"""After which two builds that wait for one another, and are not side by side, have failed."""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Make a clone in which Python is set up, and neither the endpoint nor the kernel is."""
    clone = tmp_path / "clone"
    for name in ("scripts/setup.sh", "scripts/toolchain.sh", "pyproject.toml", "locks/run.txt",
                 "locks/dev.txt", "endpoint/Cargo.toml",
                 "src/netwarp/backends/endpoint_sources.py"):  # fmt: skip
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPOSITORY / name, clone / name)
    inputs = ("pyproject.toml", "locks/run.txt", "locks/dev.txt")
    content = b"".join((clone / name).read_bytes() for name in inputs)
    (clone / ".venv" / "bin").mkdir(parents=True)
    (clone / ".venv" / "bin" / "python").symlink_to(sys.executable)
    stamp = f"run {sha256(content).hexdigest()}  -\n"
    (clone / ".venv" / "netwarp-python.stamp").write_text(stamp)
    program(clone / "bin" / "rustc", "echo 'rustc 99.0.0'")
    for fifo in ("kernel-begun", "endpoint-built"):
        os.mkfifo(clone / fifo)
    return clone


def program(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)


def set_up(clone: Path, **given: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "XDG_CACHE_HOME": str(clone / "cache"),
               "PATH": f"{clone / 'bin'}:{os.environ['PATH']}", **given}  # fmt: skip
    return subprocess.run(
        [clone / "scripts" / "setup.sh", "demo"], env=environ, timeout=LIMIT_S,
        capture_output=True, text=True, check=False, start_new_session=True,
    )  # fmt: skip


def test_kernel_and_endpoint_are_built_side_by_side(clone: Path) -> None:
    """Each waits for the other: one after the other, neither would end."""
    program(
        clone / "guest" / "build.sh",
        f'[ "${{1-}}" != --print ] || exit 1; echo >{clone}/kernel-begun;'
        f" read line <{clone}/endpoint-built; echo 'guest kernel: ready'",
    )
    waits = f"read line <{clone}/kernel-begun"
    program(clone / "bin" / "cargo", f"{BUILDS}; {waits}; echo >{clone}/endpoint-built")
    done = set_up(clone)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1] == "guest kernel: ready"
    assert (clone / ".venv" / "libexec" / "netwarp-endpoint").read_text() == "built\n"


def test_the_kernel_is_taken_out_of_a_wheel_that_the_user_names(clone: Path) -> None:
    program(
        clone / "guest" / "build.sh",
        '[ "${1-}" != --print ] || exit 1; echo "guest kernel: asked with $# words: $*"',
    )
    program(clone / "bin" / "cargo", BUILDS)
    done = set_up(clone, NETWARP_KERNEL_WHEEL="/wheels of mine/k.whl")
    assert done.returncode == 0, done.stderr
    assert "asked with 2 words: --wheel /wheels of mine/k.whl" in done.stderr.splitlines()[-1]


def test_a_kernel_that_is_built_is_not_begun(clone: Path) -> None:
    program(clone / "guest" / "build.sh", "echo 'guest kernel: ready' >&2")
    program(clone / "bin" / "cargo", "exit 1")
    done = set_up(clone)
    assert done.returncode == 1
    assert "kernel: building it beside the rest" not in done.stderr


def test_a_kernel_that_cannot_be_built_fails_the_set_up_with_its_reason(clone: Path) -> None:
    program(
        clone / "guest" / "build.sh",
        '[ "${1-}" != --print ] || exit 1; echo "guest kernel: error: no archive" >&2; exit 1',
    )
    program(clone / "bin" / "cargo", BUILDS)
    done = set_up(clone)
    assert done.returncode == 1
    assert "guest kernel: error: no archive" in done.stderr


def test_a_failed_endpoint_ends_the_kernel_s_build(clone: Path) -> None:
    """Its end is seen by the pipe's, which it alone has open for writing."""
    program(
        clone / "guest" / "build.sh",
        f'[ "${{1-}}" != --print ] || exit 1; exec 3>{clone}/kernel-begun; echo >&3;'
        f" exec cat {clone}/endpoint-built",
    )
    program(
        clone / "bin" / "cargo",
        f'[ "$1" = build ] || exit 0; read line <{clone}/kernel-begun; exit 1',
    )
    done = set_up(clone)
    assert done.returncode == 1
    assert "the endpoint does not build" in done.stderr
    pipe = os.open(clone / "kernel-begun", os.O_RDONLY | os.O_NONBLOCK)
    try:
        content = os.read(pipe, 1)
    except BlockingIOError:  # it still runs, and is on its way to its end
        assert select.select([pipe], [], [], LIMIT_S)[0] == [pipe]
        content = os.read(pipe, 1)
    os.close(pipe)
    assert content == b""
