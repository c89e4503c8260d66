"""A source that is done again once for the tests of a module."""

from __future__ import annotations

import pytest

from netwarp.sources.reproduction import Reproduction
from sources.made_source import outcome


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    """Give the test source, done again once for all tests that only read what it left."""
    return outcome(tmp_path_factory.mktemp("done"))
