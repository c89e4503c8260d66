"""`netwarp ui` as a process, and what it leaves behind."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cli.processes import NETWARP, has_ended, removers_of

TICKS_S = 100


@dataclass
class Served:
    """A process that serves the pages."""

    process: subprocess.Popen[str]
    address: str

    @property
    def memory_kb(self) -> int:
        """Resident memory of the process, without what it shares with files."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return next(
            int(line.split()[1]) for line in text.splitlines() if line.startswith("RssAnon")
        )

    @property
    def cpu_s(self) -> float:
        """CPU time of the process and of all its children that have ended."""
        text = Path(f"/proc/{self.process.pid}/stat").read_text()
        return sum(map(int, text.rpartition(") ")[2].split()[11:15])) / TICKS_S


@contextmanager
def served(place: Path) -> Iterator[Served]:
    """Serve the pages in a folder, until the end of the block."""
    process = subprocess.Popen(
        [NETWARP, "ui"],
        cwd=place,
        env={**os.environ, "TMPDIR": str(place)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        yield Served(process, process.stdout.readline().split()[-1])
    finally:
        folders = list(place.glob("netwarp-ui-*"))
        process.terminate()
        process.communicate(timeout=30)
        assert all(has_ended(each) for folder in folders for each in removers_of(folder))
    assert process.returncode == 130
