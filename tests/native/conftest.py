"""Runs on this host's own kernel, in namespaces: as whoever runs the tests, and as nobody."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this directory runs on the host."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.native)
