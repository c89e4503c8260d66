"""Measures what a run costs besides its guest: planning, files, records read, metrics, progress."""

from __future__ import annotations

import resource
import tempfile
from pathlib import Path
from typing import Any

import netwarp
from netwarp.study import Study, study_from_mapping

RUNS = 100
MOST_REPLICATES = 10_000
MOST_MS = 5.0


def measure(repeats: int) -> dict[str, Any]:
    """Run a study of many small runs, then replay it: the same work but for the guests.

    Returns:
        CPU milliseconds a run: of each replay, ``ms``, and at most, ``most_ms``.
    """
    with tempfile.TemporaryDirectory(prefix="netwarp-bench-") as place:
        recorded = Path(place) / "recorded"
        if netwarp.run(small_study(RUNS), "virtual", out=recorded).failed:
            raise SystemExit("a run that was to be replayed failed")
        spent_ms = [
            _replayed_cpu_s(recorded, Path(place) / str(repeat)) * 1e3 / RUNS
            for repeat in range(repeats)
        ]
    return {"name": "a run, besides its guest", "ms": spent_ms, "most_ms": MOST_MS}


def _replayed_cpu_s(recorded: Path, out: Path) -> float:
    before = _cpu_s()
    netwarp.run(small_study(RUNS), f"replay:{recorded}", out=out)
    return _cpu_s() - before


def _cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def small_study(runs: int) -> Study:
    """Give a study of so many small runs, over two transports."""
    return study_from_mapping(
        {
            "title": "small runs",
            "replicates": min(runs // 2, MOST_REPLICATES),
            "path": {"loss": "1%"},
            "workload": {"kind": "bulk", "size": "10kB"},
            "factors": {
                "transport": ["tcp", "quic"],
                "path.rtt": [f"{10 + step}ms" for step in range(-(-runs // (2 * MOST_REPLICATES)))],
            },
        }
    )
