"""Copies the output of a run's programs to other streams during the run."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import IO

from netwarp.regular_files import UnreadableFileError, open_regular
from netwarp.run_directory import RunDirectory

LOOK_S = 0.05
"""Time in s between two readings of a file: too short for a user to notice."""
READ_BYTES = 64 << 10


@contextmanager
def following(
    directory: Path, run: str, outputs: tuple[IO[bytes], IO[bytes]] | None
) -> Iterator[None]:
    """Context manager: copy a client's output to streams while it is written, and the rest when the
    run has ended.

    The output of a run that the directory already contains is not copied.

    Args:
        directory: the run directory in which the run is or will be.
        run: the name of the run.
        outputs: streams for standard output and standard error; None to copy nothing.
    """
    if outputs is None:
        yield
        return
    over, done = Event(), Event()
    run_directory = RunDirectory(directory)
    followers = [
        Thread(target=_follow, args=(run_directory, run, file, output, over, done), daemon=True)
        for file, output in zip(("client.stdout", "client.stderr"), outputs, strict=True)
    ]
    for follower in followers:
        follower.start()
    try:
        yield
        done.set()
    finally:
        over.set()
        for follower in followers:
            follower.join()


def _follow(
    directory: RunDirectory, run: str, name: str, output: IO[bytes], over: Event, done: Event
) -> None:
    """Copy a program's output to a stream until the program's run has ended."""
    source: IO[bytes] | None = None
    try:
        while True:
            # This order matters: output that was written before the end is read after it.
            is_over = over.wait(LOOK_S)
            source = source or _opened(directory.partial_path(run) / name)
            if source is None and done.is_set():  # the run was over before the file was opened
                source = _opened(directory.run_path(run) / name)
            while source is not None and (more := source.read(READ_BYTES)):
                output.write(more)
                output.flush()
            if is_over:
                return
    finally:
        if source is not None:
            source.close()


def _opened(path: Path) -> IO[bytes] | None:
    """Open the file with a program's output; None if there is none, or it is not a regular file.

    A program that has taken control of its guest's kernel could put any file of the user's there.
    """
    try:
        return open(open_regular(path, os.O_NOFOLLOW), "rb")  # noqa: PTH123 - it is open already
    except (OSError, UnreadableFileError):
        return None
