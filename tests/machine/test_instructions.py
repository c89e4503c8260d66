"""Instructions by which a program asks the CPU itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from netwarp.machine.instructions import asks_of_the_cpu

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
