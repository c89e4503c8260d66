"""What all lanes share: a CPU for each of the processes that run tests side by side."""

from __future__ import annotations

import os

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Keep each of xdist's workers, and the guests it boots, on a CPU of its own.

    A guest is pinned to a CPU among those its starter may use: two workers that may use all would
    both begin with the first one.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    if worker:
        cpus = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cpus[int(worker.removeprefix("gw")) % len(cpus)]})
