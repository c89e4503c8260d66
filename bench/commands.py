"""Measures what a user waits for: whole commands, from the shell's point of view."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench.lines import Command
from bench.measured import Cost

NETWARP = Path(sys.prefix) / "bin" / "netwarp"


def run_all(commands: Sequence[Command]) -> list[Cost]:
    """Give commands in turn in one new folder; an unexpected exit status ends the bench."""
    with tempfile.TemporaryDirectory(prefix="netwarp-bench-") as directory:
        return [_run(command, Path(directory)) for command in commands]


def _run(command: Command, place: Path) -> Cost:
    arguments = [argument.format(out=place / "out") for argument in command.arguments]
    start_s = time.monotonic()
    with (place / "output").open("wb") as output:
        process = subprocess.Popen(
            [NETWARP, *arguments], cwd=place, stdout=output, stderr=subprocess.STDOUT
        )
        # Its own usage and that of all it waited for, guests included.
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != command.exit_status:
        said = (place / "output").read_text(errors="replace")
        raise SystemExit(f"{command.name}: exit status {process.returncode}: {said[-2000:]}")
    return Cost(usage.ru_utime + usage.ru_stime, time.monotonic() - start_s)
