"""What lanes share: a CPU for each process that runs tests, and a directory for each lane."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

HERE = Path(__file__).parent
LANES = ("browser", "cli", "fuzz", "guest", "native")
"""Lanes with a directory and a marker of their name; scripts/test.sh runs the directory."""


def pytest_configure(config: pytest.Config) -> None:
    """Keep each of xdist's workers, and the guests it boots, on a CPU of its own.

    A guest is pinned to a CPU among those its starter may use: two workers that may use all would
    both begin with the first one.

    Ctrl-C is tested, so what tests start must not inherit that it is ignored, as it is in a
    job that a script starts in the background. A handler of our own becomes the default in what
    tests start.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    if worker:
        cpus = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cpus[int(worker.removeprefix("gw")) % len(cpus)]})


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse a test whose marker puts it into a lane that does not run its directory.

    Raises:
        UsageError: such a test would be run by nobody, or by two lanes.
    """
    for item in items:
        directory = item.path.relative_to(HERE).parts[0] if HERE in item.path.parents else ""
        marked = [lane for lane in LANES if item.get_closest_marker(lane) is not None]
        if (directory in LANES or marked) and directory not in marked:
            raise pytest.UsageError(
                f"{item.nodeid} is marked {', '.join(marked) or 'as of no lane'}, and its directory"
                f" is {directory}: move it to tests/{marked[0] if marked else 'another directory'}"
            )
