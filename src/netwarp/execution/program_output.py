"""What programs of a run print, passed on while the run goes on."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import IO

from netwarp.regular_files import UnreadableFileError, open_regular
from netwarp.run_directory import RunDirectory

LOOK_S = 0.05
"""How often a file is looked at for more: below what a person notices."""
READ_BYTES = 64 << 10


@contextmanager
def following(
    directory: Path, run: str, sinks: tuple[IO[bytes], IO[bytes]] | None
) -> Iterator[None]:
    """Pass a client's output on as it comes, and the rest of it when the run is over.

    A run that the directory has from before is none of this.

    Args:
        directory: where the run is, or will be.
        run: its name.
        sinks: for standard output and standard error; None to pass nothing on.
    """
    if sinks is None:
        yield
        return
    over, done = Event(), Event()
    run_directory = RunDirectory(directory)
    followers = [
        Thread(target=_follow, args=(run_directory, run, file, sink, over, done), daemon=True)
        for file, sink in zip(("client.stdout", "client.stderr"), sinks, strict=True)
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
    directory: RunDirectory, run: str, name: str, sink: IO[bytes], over: Event, done: Event
) -> None:
    source: IO[bytes] | None = None
    try:
        while True:
            # In this order: what is written before the end is read after it.
            is_over = over.wait(LOOK_S)
            source = source or _opened(directory.partial_path(run) / name)
            if source is None and done.is_set():  # it was over before it was looked at
                source = _opened(directory.run_path(run) / name)
            while source is not None and (more := source.read(READ_BYTES)):
                sink.write(more)
                sink.flush()
            if is_over:
                return
    finally:
        if source is not None:
            source.close()


def _opened(path: Path) -> IO[bytes] | None:
    """Open what a program prints to; None where there is nothing, or no regular file: a program
    that has taken over its guest's kernel could name any file of the user's there.
    """
    try:
        return open(open_regular(path, os.O_NOFOLLOW), "rb")  # noqa: PTH123 - it is open already
    except (OSError, UnreadableFileError):
        return None
