"""Runs programs of the machine over a path by `netwarp exec`."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

NETWARP = Path(sys.executable).with_name("netwarp")
PATH = ("--rtt", "100ms", "--rate", "20mbit")


def skip_without(programs: Sequence[str]) -> None:
    """Skip the test if one of these programs of the machine is not installed."""
    missing = [each for each in programs if shutil.which(each) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")


def run_over_a_path(directory: Path, client: str, *options: str) -> dict[str, Any]:
    """Run a client's shell commands in a directory, with these options, and return what
    `netwarp exec --json` says of the run, which has to succeed.
    """
    done = subprocess.run(
        [NETWARP, "exec", "--json", *PATH, *options, "--", "sh", "-c", client],
        cwd=directory, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told
