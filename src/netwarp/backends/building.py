"""Runs a program that builds something, such as a kernel or a stack, and ends it on request."""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from netwarp.backends.watch import ending_with_us, kill_group


def run_builder(
    command: Sequence[str | Path],
    *,
    cwd: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> int:
    """Run a build program to its end, and return its exit status.

    Ctrl-C ends it at once, with all processes that it started, and does not wait for it to clean
    up: a shell handles a signal only after the program that it waits for has ended, and unpacking
    or removing a kernel's source takes minutes on a busy machine. The next build removes what is
    left.
    """
    builder = subprocess.Popen(
        ending_with_us(command), cwd=cwd, env=environ and dict(environ), process_group=0
    )
    try:
        return builder.wait()
    except BaseException:
        kill_group(builder)
        builder.wait()
        raise
