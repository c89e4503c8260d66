"""Runs on this host's own kernel, in namespaces: as whoever runs the tests, and as nobody."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from native.two_hosts import Hosts, two_hosts
from netwarp.backends.guest_files import find_endpoint

HERE = Path(__file__).parent
AS_NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]


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


@pytest.fixture
def nobodys(tmp_path: Path) -> Iterator[Path]:
    """A directory of nobody's with an endpoint that nobody can run; needs root to make."""
    if os.geteuid() != 0:
        pytest.skip("not root: the other tests here already run without privilege")
    place = Path(tempfile.mkdtemp(prefix="netwarp-native-"))
    shutil.copy(find_endpoint(), place / "endpoint")
    os.chown(place, 65534, 65534)
    place.chmod(0o755)
    try:
        answer = subprocess.run(
            [*AS_NOBODY, place / "endpoint", "capabilities", "--json"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        lack = json.loads(answer.stdout)["missing"]["path"]
        if lack is not None:
            pytest.skip(f"this host allows nobody no namespaces: {lack}")
        yield place
    finally:
        shutil.rmtree(place)
