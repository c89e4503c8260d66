"""Starts programs on a given CPU, at fixed addresses, or so that they end with their parent. That
is done by util-linux's programs; if one of these is missing, this file, run by Python, replaces it.
Only the standard library is imported.
"""

import ctypes
import os
import shutil
import signal
import sys

PR_SET_PDEATHSIG = 1
ADDR_NO_RANDOMIZE = 0x40000
"""The flag of personality(2) that switches off the random layout of addresses."""


def dying_with_parent() -> list[str]:
    """Return the command prefix whose program is killed when the thread that starts it ends."""
    return _program("setpriv", "--pdeathsig", "KILL") or _own_command("dying-with-parent")


def on_cpu(cpu: int) -> list[str]:
    """Return the command prefix whose program runs on this CPU only."""
    return _program("taskset", "-c", str(cpu)) or _own_command(f"on-cpu={cpu}")


def at_fixed_addresses() -> list[str]:
    """Return the command prefix whose program runs without address randomisation."""
    return _program("setarch", "-R") or _own_command("at-fixed-addresses")


def nothing() -> list[str]:
    """Return a command that does nothing and succeeds. It runs this Python, and so does not depend
    on PATH.
    """
    return [sys.executable, "-I", "-S", "-c", ""]


def _program(name: str, *arguments: str) -> list[str]:
    found = shutil.which(name)
    return [found, *arguments] if found else []


def _own_command(asked: str) -> list[str]:
    return [sys.executable, "-I", "-S", __file__, asked]


def _set(asked: str) -> None:
    """Apply one setting to this process: `on-cpu=N`, `dying-with-parent` or `at-fixed-addresses`.

    Raises:
        OSError: the kernel refuses it.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    name, _, value = asked.partition("=")
    if name == "on-cpu":
        os.sched_setaffinity(0, {int(value)})
    elif name == "dying-with-parent" and libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    elif name == "at-fixed-addresses" and libc.personality(ADDR_NO_RANDOMIZE) < 0:
        raise OSError(ctypes.get_errno(), "personality(ADDR_NO_RANDOMIZE)")


if __name__ == "__main__":
    try:
        _set(sys.argv[1])
    except OSError as error:
        sys.exit(f"{error.strerror}: {os.strerror(error.errno or 0)}")
    os.execvp(sys.argv[2], sys.argv[2:])  # noqa: S606
