"""Runs studies in the guest, once for all tests that look at the same one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from guest.dask_cluster import Cluster

GUEST_DIRECTORY = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this directory boots the guest."""
    for item in items:
        if GUEST_DIRECTORY in item.path.parents:
            item.add_marker(pytest.mark.guest)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    place = tmp_path / "dask"
    place.mkdir()
    started = Cluster(place)
    try:
        yield started
    finally:
        started.stop()
