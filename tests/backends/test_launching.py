"""What util-linux's programs set for a guest is set without them, too."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from netwarp.backends.launching import at_fixed_addresses, dying_with_parent, on_cpu
from netwarp.backends.needs import TOOLS, UMASK, Machine
from netwarp.errors import BackendError

SHELL = "/bin/sh"


@pytest.fixture(params=["util-linux", "Python"])
def launcher(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> str:
    if request.param == "Python":
        monkeypatch.setenv("PATH", str(tmp_path))
    assert (on_cpu(0)[0] == sys.executable) is (request.param == "Python")
    return str(request.param)


def said(command: list[str], *rest: str) -> str:
    return subprocess.run([*command, *rest], check=True, capture_output=True, text=True).stdout


def test_a_program_runs_on_one_cpu(launcher: str) -> None:
    cpu = max(os.sched_getaffinity(0))
    asked = "import os; print(*os.sched_getaffinity(0))"
    assert said(on_cpu(cpu), sys.executable, "-c", asked).split() == [str(cpu)]


def test_a_program_s_addresses_are_the_same_each_time(launcher: str) -> None:
    stack = "while read line; do case $line in *stack*) echo $line;; esac; done < /proc/self/maps"
    once, again = (said(at_fixed_addresses(), SHELL, "-c", stack) for _ in range(2))
    assert once == again != ""
    # The flag itself, which is inherited.
    personality = Path("/proc/self/personality")
    if personality.exists():
        code = f"print(int(open('{personality}').read(), 16) & 0x40000)"
        assert said(at_fixed_addresses(), sys.executable, "-c", code).strip() == str(0x40000)


def test_a_program_dies_with_its_parent(launcher: str) -> None:
    """The parent is killed when the program says that it runs; its end is seen by its pipe's."""
    waits = [*dying_with_parent(), SHELL, "-c", "echo $$; read never"]
    starts = f"import subprocess; subprocess.Popen({waits!r}).wait()"
    parent = subprocess.Popen(
        [sys.executable, "-c", starts], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    assert parent.stdin is not None
    assert parent.stdout.readline().strip().isdigit()
    parent.send_signal(signal.SIGKILL)
    assert parent.stdout.read() == ""  # until nobody has it open any more
    parent.stdin.close()
    assert parent.wait() == -signal.SIGKILL
    parent.stdout.close()


@pytest.mark.parametrize("mask", [0o777, 0o700, 0o200])
def test_a_umask_that_denies_its_owner_is_refused(mask: int) -> None:
    assert not UMASK.optional
    before = os.umask(mask)
    try:
        with pytest.raises(BackendError, match=f"the umask 0{mask:o} denies their owner"):
            UMASK.check(Machine({}))
        os.umask(0o077)
        assert UMASK.describe(Machine({})) == "0077"
    finally:
        os.umask(before)


def test_what_is_missing_is_told_and_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert TOOLS.optional
    assert TOOLS.describe(Machine({})) == "setpriv, setarch, taskset"
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BackendError, match="Python stands in for setpriv and setarch and taskset"):
        TOOLS.describe(Machine({}))
