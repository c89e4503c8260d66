"""What lanes share: a CPU for each process that runs tests, and a directory for each lane."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

HERE = Path(__file__).parent
LANES = ("browser", "cli", "fuzz", "guest", "native")
"""Lanes with a directory and a marker of their name; scripts/test.sh runs the directory."""
LONGEST = (
    "guest/test_guides.py", "guest/test_reference_hashes.py", "guest/test_cluster.py",
    "guest/test_lessons.py", "guest/test_jitter_order.py", "guest/test_exec_programs.py",
    "guest/test_competing.py", "guest/test_page_programs.py", "guest/test_truth.py",
    "sources/test_reproduce.py", "test_verification.py", "test_early_refusal.py",
)  # fmt: skip
"""Files of few tests that take long, the longest first. One that begins when all others have ended
would leave a CPU idle until its end.
"""


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


def begun_first(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """Return the tests in the order in which a lane begins them: those of the longest files, and
    then those of the files that have most.
    """
    ranks = {HERE / name: rank for rank, name in enumerate(LONGEST)}
    counts = Counter(item.path for item in items)
    return sorted(items, key=lambda each: (ranks.get(each.path, len(ranks)), -counts[each.path]))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put tests into order where lanes run them side by side, and refuse a test whose marker puts
    it into a lane that does not run its directory.

    Raises:
        UsageError: such a test would be run by nobody, or by two lanes.
    """
    if hasattr(config, "workerinput"):  # one of xdist's processes
        items[:] = begun_first(items)
    for item in items:
        directory = item.path.relative_to(HERE).parts[0] if HERE in item.path.parents else ""
        marked = [lane for lane in LANES if item.get_closest_marker(lane) is not None]
        if (directory in LANES or marked) and directory not in marked:
            raise pytest.UsageError(
                f"{item.nodeid} is marked {', '.join(marked) or 'as of no lane'}, and its directory"
                f" is {directory}: move it to tests/{marked[0] if marked else 'another directory'}"
            )
