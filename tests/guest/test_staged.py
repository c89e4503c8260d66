"""Replicates that are added until something is decided, as a user asks for them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any


def compare(place: Path, *options: str) -> dict[str, Any]:
    answer = subprocess.run(
        [
            Path(sys.prefix) / "bin" / "netwarp", "compare", "--transport", "tcp,tls",
            "--size", "20kB", "--rtt", "20ms", "--rate", "50mbit", "--replicates", "2", "--json",
            *options,
        ],
        cwd=place, env={**os.environ, "NO_COLOR": "1"}, capture_output=True, text=True,
        timeout=300, check=False,
    )  # fmt: skip
    assert answer.returncode == 0, answer.stderr
    told: dict[str, Any] = json.loads(answer.stdout)
    return told


def test_replicates_are_added_until_the_means_are_known(tmp_path: Path) -> None:
    """With 20 % loss no two runs are alike: two replicates become sixteen, and stay paired."""
    told = compare(tmp_path, "--loss", "20%", "--precision", "1%")
    assert [cell["runs"] for cell in told["cells"]] == [16, 16]
    provenance = json.loads((tmp_path / told["out"] / "provenance.json").read_text())
    assert provenance["looks"] == 4
    again = compare(tmp_path, "--loss", "20%", "--precision", "1%")
    assert again["cells"] == told["cells"]


def test_what_is_decided_gets_no_more_replicates(tmp_path: Path) -> None:
    """Without loss nothing is random, and TLS's extra round trip decides at the first look."""
    told = compare(tmp_path, "--decide")
    assert [cell["runs"] for cell in told["cells"]] == [2, 2]
    assert told["cells"][1]["comparison"]["verdict"] == "more"
