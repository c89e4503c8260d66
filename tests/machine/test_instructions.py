"""Instructions by which a program asks the CPU itself."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from netwarp.machine.instructions import asks_of_the_cpu, libraries_of

# As gcc 12 writes __rdtsc(), __rdtscp() and _rdrand64_step(), and as Go writes its cputicks.
RDTSC = bytes.fromhex("0f31 48c1e220 4809d0 c3")
GO_RDTSC = bytes.fromhex("0faee8 0f31 48c1e220 4801d0")
RDTSCP = bytes.fromhex("0f01f9 89ce 48c1e220 4809d0")
RDRAND = bytes.fromhex("480fc7f2 b901000000 0f42c1")
RDSEED = bytes.fromhex("480fc7f8 7305")


@pytest.mark.parametrize(
    ("code", "names"),
    [
        (RDTSC, ("RDTSC",)),
        (GO_RDTSC, ("RDTSC",)),
        (RDTSCP, ("RDTSC",)),
        (RDRAND, ("RDRAND",)),
        (RDSEED, ("RDSEED",)),
        (RDTSC + RDSEED, ("RDTSC", "RDSEED")),
        (bytes.fromhex("0f31 c3 90909090 90909090 90909090"), ()),
    ],
)
def test_what_a_program_asks_is_named(tmp_path: Path, code: bytes, names: tuple[str, ...]) -> None:
    program = tmp_path / "program"
    program.write_bytes(b"\x7fELF" + bytes(60) + code + bytes(60))
    assert asks_of_the_cpu(program) == names


def test_what_is_no_program_asks_nothing(tmp_path: Path) -> None:
    (tmp_path / "script").write_bytes(b"#!/bin/sh\n" + RDTSC)
    assert asks_of_the_cpu(tmp_path / "script") == ()
    assert asks_of_the_cpu(tmp_path) == ()
    assert asks_of_the_cpu(tmp_path / "missing") == ()


def test_libraries_of_a_program_and_theirs_are_found_by_name(tmp_path: Path) -> None:
    def linked(name: str, *with_: str) -> Path:
        names = b"".join(f"\0{each}".encode() for each in with_)
        (tmp_path / name).write_bytes(b"\x7fELF" + names + b"\0GLIBC_2.2.5\0")
        return tmp_path / name

    program = linked("program", "libone.so.1", "libm.so", "ld-linux-x86-64.so.2", "notes.so.txt")
    one, two = linked("libone.so.1", "libtwo++.so.2.3"), linked("libtwo++.so.2.3", "libone.so.1")
    assert libraries_of(program, [tmp_path / "none", tmp_path]) == (one, two)
    (tmp_path / "script").write_text("#!/bin/sh\n\0libone.so.1\0")
    assert libraries_of(tmp_path / "script", [tmp_path]) == ()


def test_libraries_of_a_program_of_this_machine_are_found() -> None:
    python = Path(sys.executable).resolve()
    linked = subprocess.run(["ldd", python], capture_output=True, text=True, check=True).stdout
    names = {Path(each).resolve().name for each in re.findall(r"=> (/\S+/lib\S+)", linked)}
    found = {each.name for each in libraries_of(python)}
    assert {name for name in names if name.startswith("libc")} <= found
