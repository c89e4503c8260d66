"""What something cost, and how it is summed up."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bench.lines import Goal


@dataclass(frozen=True)
class Cost:
    """One execution: CPU time of all its processes, wall time, and where known memory and clock."""

    cpu_s: float
    wall_s: float
    peak_mib: float | None = None
    virtual_s: float | None = None


def row(name: str, goal: Goal, costs: Sequence[Cost]) -> dict[str, Any]:
    """Sum several executions up: medians and ranges, with the goals there are."""
    return {
        "name": name,
        "cpu_s": _spread([cost.cpu_s for cost in costs]),
        "wall_s": _spread([cost.wall_s for cost in costs]),
        "virtual_s": costs[0].virtual_s,
        "peak_mib": max((cost.peak_mib for cost in costs if cost.peak_mib), default=None),
        "goal": {"cpu_s": goal.cpu_s, "wall_s": goal.wall_s, "memory_mib": goal.memory_mib},
    }


def verdict(line: dict[str, Any]) -> str:
    """Hold the medians against the line's goals."""
    goal = line["goal"]
    parts = [
        (line["cpu_s"]["median"], goal["cpu_s"], "CPU s"),
        (line["wall_s"]["median"], goal["wall_s"], "wall s"),
        (line["peak_mib"], goal["memory_mib"], "MiB"),
    ]
    return ", ".join(
        f"{'within' if value <= most else 'OVER'} {most:g} {unit}"
        for value, most, unit in parts
        if most is not None and value is not None
    )


def _spread(values: Sequence[float]) -> dict[str, float]:
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}
