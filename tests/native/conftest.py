"""Runs on this host's own kernel, in namespaces: as whoever runs the tests, and as nobody."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from native.two_hosts import Hosts, two_hosts

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this directory runs on the host."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.native)


@pytest.fixture(scope="module")
def hosts() -> Iterator[Hosts]:
    """Two hosts with a router in between; gone with the module."""
    with two_hosts() as made:
        yield made
