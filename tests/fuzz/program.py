"""Runs the command line in this process, cheaply, and says what is wrong with its answer."""

from __future__ import annotations

import io
import os
import resource
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn
from unittest import mock

from netwarp import cli
from netwarp.cli.interruption import interruption
from netwarp.cli.terminal import SCREENFUL

# A refusal takes a fraction of a second of CPU time, and longer on a machine that does other work;
# a process that waits for ever has no other end.
HANG_CPU_S = 30
HANG_S = 900
ERROR = "error: "
# What one call may take beyond what the test process has already.
MEMORY_BYTES = 2 << 30


@dataclass(frozen=True)
class Answer:
    """What the program said, and its exit status; None when it did not come to an end."""

    arguments: tuple[str, ...]
    status: int | None
    stdout: str
    stderr: str


class Hang(BaseException):
    """The program did not come back. Not an Exception, so that nothing in it catches this."""


def call(arguments: Sequence[str], place: Path) -> Answer:
    """Call the program as if it had been started in a directory."""
    stdout, stderr = io.StringIO(), io.StringIO()
    status: int | None = None
    with _alone(arguments, place), redirect_stdout(stdout), redirect_stderr(stderr):
        try:
            _main()
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        except Hang:
            stderr.write(f"hangs: nothing after {HANG_CPU_S} s of CPU time, or {HANG_S} s")
        except Exception as error:  # noqa: BLE001 - any would be a traceback
            stderr.write(f"traceback: {type(error).__name__}: {error}"[:500])
    return Answer(tuple(arguments), status, stdout.getvalue(), stderr.getvalue())


def refusal_fault(answer: Answer) -> str | None:
    """Say what is wrong with a refusal: it has exit status 2 and one line, at most a screenful."""
    if answer.status != 2:
        return f"exit status {answer.status}, not 2: {answer.stderr.strip()[:500]}"
    lines = answer.stderr.strip().splitlines()
    if len(lines) != 1:
        return f"{len(lines)} lines, not 1: {answer.stderr[:500]}"
    return line_fault(lines[0])


def line_fault(line: str) -> str | None:
    """Say what is wrong with a message."""
    if not line.startswith(ERROR):
        return f"does not begin with '{ERROR}': {line[:200]}"
    if len(line) > len(ERROR) + SCREENFUL:
        return f"{len(line)} characters are more than a screenful: {line[:200]}"
    if any(ord(character) < 32 or 0x7F <= ord(character) < 0xA0 for character in line):
        return f"has control characters: {line[:200]!r}"
    if "Traceback" in line or "Error(" in line:
        return f"speaks of the program, not of the input: {line[:200]}"
    return None


def _main() -> None:
    """Run the program but for what it does to its process: listen to signals, and end it."""

    def end(status: int) -> NoReturn:
        raise SystemExit(status)

    with (
        mock.patch.object(interruption, "listen"),
        mock.patch.object(interruption, "end_process", end),
    ):
        cli.main()


@contextmanager
def _alone(arguments: Sequence[str], place: Path) -> Iterator[None]:
    """Change what belongs to the process as a whole, and put it back."""

    def hang(signum: int, frame: object) -> None:
        raise Hang

    argv, folder = sys.argv, Path.cwd()
    limits = resource.getrlimit(resource.RLIMIT_AS)
    before = {each: signal.signal(each, hang) for each in (signal.SIGALRM, signal.SIGPROF)}
    sys.argv = ["netwarp", *arguments]
    os.chdir(place)
    resource.setrlimit(resource.RLIMIT_AS, (_address_space_bytes() + MEMORY_BYTES, limits[1]))
    signal.alarm(HANG_S)
    signal.setitimer(signal.ITIMER_PROF, HANG_CPU_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.setitimer(signal.ITIMER_PROF, 0)
        for each, handler in before.items():
            signal.signal(each, handler)
        resource.setrlimit(resource.RLIMIT_AS, limits)
        os.chdir(folder)
        sys.argv = argv


def _address_space_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()
