"""A cache of the test's own."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"XDG_CACHE_HOME": str(tmp_path)}
