"""Which program spins: its command line, found in the top of its stack."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from netwarp.backends import spinning
from netwarp.backends.spinning import STACK_TOP, Spinning, command_line


def stack_of(arguments: list[str], environment: list[str], noise: list[int]) -> bytes:
    """Lay a stack out as fs/binfmt_elf.c does."""
    texts = [text.encode() + b"\0" for text in (*arguments, *environment, "/bin/program")]
    address = STACK_TOP - 8 - sum(map(len, texts))
    pointers = []
    for text in texts:
        pointers.append(address)
        address += len(text)
    count = len(arguments)
    words = [*noise, count, *pointers[:count], 0, *pointers[count:-1], 0]
    stack = struct.pack(f"<{len(words)}Q", *words) + bytes(16)
    return stack + bytes(-(len(stack) + sum(map(len, texts))) % 8) + b"".join(texts) + bytes(8)


@pytest.mark.parametrize(
    "noise",
    [[], [0, 0, 0], [1, STACK_TOP - 64, 0, STACK_TOP - 32], [2, 5, STACK_TOP - 8, 0, 1, 2**63]],
)
def test_the_arguments_are_found_whatever_lies_below_them(noise: list[int]) -> None:
    arguments = ["iperf3", "-c", "server", ""]
    stack = stack_of(arguments, ["HOME=/tmp/home", "PATH=/bin"], noise)
    assert command_line(stack, STACK_TOP) == tuple(arguments)


def test_a_stack_without_arguments_gives_none() -> None:
    assert command_line(bytes(4096), STACK_TOP) is None
    assert command_line(b"", STACK_TOP) is None
    assert command_line(b"\x01" * 4096, STACK_TOP) is None


def test_netwarps_own_endpoint_is_not_told_to_wait_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told(*command: str, asks: bool = True) -> str:
        monkeypatch.setattr(spinning, "spinning", lambda _: Spinning(command, asks))
        return spinning.spinner_text(tmp_path, 1)

    assert "asks over and over, and never waits: the clock" in told("/usr/bin/mariadbd")
    assert "computes without a system call" in told("/usr/bin/bc", asks=False)
    (tmp_path / "client.stdout").write_text("hello\n")
    assert "call (the last that was printed: hello), and" in told("bc", asks=False)
    for own in ("/proc/self/cwd/endpoint", "netwarp-endpoint"):
        assert told(own, "server").startswith(": netwarp's own endpoint computes")


def test_a_kernel_that_works_alone_is_not_taken_for_a_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told(**ticks: int) -> str:
        spent = {1: ticks["kernel"], 2: ticks["one"], 3: ticks["other"]}
        monkeypatch.setattr(spinning, "ticks_spent", lambda *_: spent)
        monkeypatch.setattr(spinning, "_userspace", lambda _: iter([2, 3]))
        stack = stack_of(["/usr/bin/bc"], ["A=b"], [])
        monkeypatch.setattr(spinning, "_top_of_stack", lambda _: stack)
        return spinning.spinner_text(tmp_path, 1)

    assert told(kernel=34, one=0, other=0).startswith(": the guest's kernel computes and none of")
    assert told(kernel=30, one=2, other=0).startswith(": /usr/bin/bc asks over and over")
    assert told(kernel=0, one=0, other=34).startswith(": /usr/bin/bc computes without a system")


def test_a_program_that_prints_without_end_is_not_taken_for_netwarps_own_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spinning, "spinning", lambda _: Spinning(("netwarp-endpoint",), asks=True))
    (tmp_path / "server.stdout").write_text("hello\n")
    with (tmp_path / "client.stdout").open("wb") as printed:
        printed.truncate(64 << 20)
    said = ": a program prints without end, of which client.stdout has the beginning"
    assert spinning.spinner_text(tmp_path, 1) == said
