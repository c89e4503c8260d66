"""Systems that netwarp does not run on: one sentence each, with what to do."""

from __future__ import annotations

import os
import sys

import pytest

from netwarp.backends.needs import Machine
from netwarp.backends.platforms import refused_machine, refused_system
from netwarp.backends.virtual import ARCHITECTURE
from netwarp.cli import _status
from netwarp.errors import BackendError


@pytest.mark.parametrize(
    ("system", "remedy"),
    [
        ("darwin", "macOS: use a host or a virtual machine with Linux"),
        ("win32", "Windows: install it in WSL2 (`wsl --install`)"),
        ("freebsd14", "freebsd14: use a host or a virtual machine with Linux"),
    ],
)
def test_another_system_is_refused_before_anything_is_loaded(
    system: str,
    remedy: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert remedy in str(refused_system(system))
    monkeypatch.setattr(sys, "platform", system)
    assert _status() == 1
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith("error: netwarp runs on Linux on x86-64, and this is ")
    assert remedy in line


def test_linux_is_not_refused() -> None:
    assert refused_system("linux") is None
    assert refused_machine("x86_64", 64) is None


@pytest.mark.parametrize("machine", ["aarch64", "i686", "riscv64"])
def test_guests_on_another_cpu_are_refused(machine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("Linux", "host", "6.12.0", "#1", machine)
    monkeypatch.setattr(os, "uname", lambda: os.uname_result(names))
    with pytest.raises(BackendError, match=f"runs on x86_64, and this is {machine}: use such a"):
        ARCHITECTURE.check(Machine({}))


def test_a_python_of_32_bits_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "maxsize", 2**31 - 1)
    with pytest.raises(BackendError, match="this Python has 32 bits, on a CPU of 64"):
        ARCHITECTURE.check(Machine({}))
