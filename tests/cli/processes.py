"""Processes that the tests stop: netwarp in a terminal of its own, its guests, its drawing."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import termios
from contextlib import suppress
from pathlib import Path

NETWARP = Path(sys.prefix) / "bin" / "netwarp"
CTRL_C = b"\x03"
LIMIT_S = 20


class Terminal:
    """netwarp in a pseudo-terminal: keys typed there reach it as a user's do."""

    def __init__(self, place: Path, *arguments: str | Path, **environ: str) -> None:
        self._master, slave = os.openpty()
        termios.tcsetwinsize(slave, (24, 200))
        with os.fdopen(slave) as terminal:
            self.process = subprocess.Popen(
                ["setsid", "--ctty", NETWARP, *arguments],
                cwd=place,
                env={**os.environ, **environ},
                stdin=terminal,
                stdout=terminal,
                stderr=terminal,
            )

    def type(self, keys: bytes) -> None:
        os.write(self._master, keys)

    def rest(self) -> str:
        """Read what is printed until the program ends, and wait for that."""
        printed = b""
        while True:
            ready, _, _ = select.select([self._master], [], [], LIMIT_S)
            assert ready, f"it went on and on: {printed.decode(errors='replace')}"
            try:
                printed += os.read(self._master, 65536)
            except OSError:  # EIO: nobody has the terminal open any more
                break
        self.process.wait(LIMIT_S)
        os.close(self._master)
        return printed.decode(errors="replace")


def finished_runs(out: Path) -> list[str]:
    return sorted(path.name for path in (out / "runs").glob("c*"))


def wait_for_runs(process: subprocess.Popen[str] | subprocess.Popen[bytes], out: Path) -> None:
    """Watch the run directory until some runs are finished; the program tells nobody else."""
    while len(finished_runs(out)) < 2:
        assert process.poll() is None, "netwarp ended before it could be stopped"


def guests_in(place: Path) -> list[int]:
    """Processes that work in a run directory below a place."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").readlink().is_relative_to(place):
                found.append(int(process.name))
        except OSError:
            continue  # gone already, or not ours to look at
    return found


def removers_of(folder: Path) -> list[int]:
    """Processes that remove the folder of the local pages' runs once the pages are closed."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if os.fsencode(folder) in (process / "cmdline").read_bytes().split(b"\0"):
                found.append(int(process.name))
    return found


def has_ended(pid: int) -> bool:
    """Wait for a process that was told to die."""
    try:
        pidfd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    ready, _, _ = select.select([pidfd], [], [], LIMIT_S)
    os.close(pidfd)
    return bool(ready)
