"""What sampling costs: the same transfers with samples and without, one right after the other."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from bench import guests
from bench.lines import FAST, Transfer
from bench.printing import tell
from netwarp.backends.virtual import VirtualBackend
from netwarp.transports import ON_ONE_PATH

MOST_RATIO = 1.03
"""Of CPU time with samples to that without."""
LINES = tuple(
    Transfer(f"{transport}, {loss} loss", transport, "100MB", {**FAST, "loss": loss})
    for transport in ON_ONE_PATH
    for loss in ("0%", "1%")
)


def measure(lines: Sequence[Transfer], repeats: int) -> list[dict[str, Any]]:
    """Run pairs, the other one first each time, so that a drift of the machine cancels out."""
    backend = VirtualBackend()
    backend.check(jobs=1)
    ratios: dict[str, list[float]] = {line.name: [] for line in lines}
    for repeat in range(repeats):
        for line in lines:
            tell(f"{repeat + 1}/{repeats} {line.name}")
            pair = [line, replace(line, sampling="off")]
            if repeat % 2:
                pair.reverse()
            cpu_s = {each.sampling: guests.run(backend, each).cpu_s for each in pair}
            ratios[line.name].append(cpu_s[None] / cpu_s["off"])
    everything = [ratio for found in ratios.values() for ratio in found]
    return [summed_up(name, found) for name, found in [*ratios.items(), ("all", everything)]]


def table(rows: Sequence[dict[str, Any]], repeats: int) -> Iterator[str]:
    """Write medians, quartiles and ranges of the ratios."""
    yield f"CPU time with samples ÷ without, {repeats} pairs of each; goal: {MOST_RATIO} at most"
    yield f"\n{'':16} {'median':>7} {'quartiles':>15} {'range':>15}"
    for row in rows:
        low, high = row["quartiles"]
        least, most = row["range"]
        quartiles, extent = f"{low:.3f} – {high:.3f}", f"{least:.3f} – {most:.3f}"
        yield f"{row['name']:16} {row['median']:7.3f} {quartiles:>15} {extent:>15}"


def summed_up(name: str, ratios: Sequence[float]) -> dict[str, Any]:
    """Give median, quartiles and range of the ratios of one line."""
    several = list(ratios) * (3 if len(ratios) == 1 else 1)  # quantiles of one are that one
    low, median, high = statistics.quantiles(several, n=4, method="inclusive")
    return {
        "name": name,
        "median": median,
        "quartiles": [low, high],
        "range": [min(ratios), max(ratios)],
    }
