"""Measures what a user waits for: whole commands, from the shell's point of view.

netwarp's modules are compiled first, as an installation leaves them.
"""

from __future__ import annotations

import compileall
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import netwarp
from bench.lines import Command
from bench.measured import Cost

NETWARP = Path(sys.prefix) / "bin" / "netwarp"
AFTER_TABLE = b"report: "
"""What `compare` prints when the report is written, after the table."""
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def run_all(commands: Sequence[Command]) -> list[Cost]:
    """Give commands in turn in one new folder; an unexpected exit status ends the bench."""
    compileall.compile_dir(Path(netwarp.__file__).parent, quiet=1)
    with tempfile.TemporaryDirectory(prefix="netwarp-bench-") as directory:
        return [_run(command, Path(directory)) for command in commands]


def _run(command: Command, place: Path) -> Cost:
    arguments = [argument.format(place=place) for argument in command.arguments]
    start_s = time.monotonic()
    with (place / "said").open("wb") as said:
        process = subprocess.Popen(
            [NETWARP, *arguments], cwd=place, stdout=subprocess.PIPE, stderr=said
        )
        to_table = _follow(process, start_s)
        # Its own usage and that of all it waited for, guests included.
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != command.exit_status:
        last = (place / "said").read_text(errors="replace")[-2000:]
        raise SystemExit(f"{command.name}: exit status {process.returncode}: {last}")
    whole = Cost(usage.ru_utime + usage.ru_stime, time.monotonic() - start_s)
    return to_table if command.to_table else whole


def _follow(process: subprocess.Popen[bytes], start_s: float) -> Cost:
    """Read what a command prints; give what it had cost when its table was all there."""
    assert process.stdout is not None
    cost = Cost(0.0, 0.0)
    with process.stdout as printed:
        while (part := os.read(printed.fileno(), 65536)) and not part.startswith(AFTER_TABLE):
            cost = Cost(_cpu_s(process.pid), time.monotonic() - start_s)
        while os.read(printed.fileno(), 65536):
            pass
    return cost


def _cpu_s(pid: int) -> float:
    """Sum the CPU time of a process and of its children that are over (proc(5), stat)."""
    numbers = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, numbers[11:15])) / _TICKS_PER_S
