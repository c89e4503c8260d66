"""The program as a user runs it: a process, its output, its exit status."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).parent
Netwarp = Callable[..., "subprocess.CompletedProcess[str]"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this directory runs the program."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.cli)


@pytest.fixture
def netwarp(tmp_path: Path) -> Netwarp:
    """Run the program in an empty directory."""

    def run(*arguments: str | Path, **environ: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [Path(sys.prefix) / "bin" / "netwarp", *arguments],
            cwd=tmp_path,
            env={**os.environ, "COLUMNS": "100", "NO_COLOR": "1", **environ},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run
