"""What sampling costs: the CPU time of one sample, times the samples that a run takes by default.

The difference between runs with and without samples is smaller than this machine's noise. So
transfers are also sampled some thousand times over: the cost of one sample stands out there.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench import guests
from bench.lines import FAST, Transfer
from bench.printing import tell
from netwarp.backends.base import Backend
from netwarp.backends.virtual import VirtualBackend
from netwarp.run_directory import RECORDS_FILE
from netwarp.transports import ON_ONE_PATH
from netwarp.wire import read_records
from netwarp.wire.samples import QueueSamples

MOST_SHARE = 0.03
"""Of a run's CPU time, for its samples."""
OFTEN = 5000
"""Samples of a run from which the cost of one is taken, about."""
LINES = tuple(
    Transfer(f"{transport}, {loss} loss", transport, "100MB", {**FAST, "loss": loss})
    for transport in ON_ONE_PATH
    for loss in ("0%", "1%")
)


@dataclass(frozen=True)
class Sampled:
    """One run: its CPU time, how often it was sampled, and how long it was on the guest's clock."""

    cpu_s: float
    samples: int
    virtual_s: float


def measure(lines: Sequence[Transfer], repeats: int) -> list[dict[str, Any]]:
    """Run each line without samples, with those of the default, and with many, in turn."""
    backend = VirtualBackend()
    backend.check(jobs=1)
    found: dict[str, list[dict[str, float]]] = {line.name: [] for line in lines}
    for repeat in range(repeats):
        for line in lines:
            tell(f"{repeat + 1}/{repeats} {line.name}")
            without, default = _run(backend, line, "off"), _run(backend, line, None)
            interval = f"{round(default.virtual_s / OFTEN * 1e6)}us"
            found[line.name].append(shares(without, default, _run(backend, line, interval)))
    return [summed_up(name, each) for name, each in found.items()]


def shares(without: Sampled, default: Sampled, often: Sampled) -> dict[str, float]:
    """Give the cost of a sample, how many are taken by default, and their share of a run."""
    sample_cpu_s = (often.cpu_s - without.cpu_s) / often.samples
    return {
        "sample_cpu_us": sample_cpu_s * 1e6,
        "samples": default.samples,
        "share": sample_cpu_s * default.samples / without.cpu_s,
    }


def summed_up(name: str, found: Sequence[dict[str, float]]) -> dict[str, Any]:
    """Give the medians of one line, and the range of its share."""
    several = [each["share"] for each in found]
    return {
        "name": name,
        **{key: statistics.median(each[key] for each in found) for key in found[0]},
        "range": [min(several), max(several)],
    }


def table(rows: Sequence[dict[str, Any]], repeats: int) -> Iterator[str]:
    """Write what a sample costs, and what all of a run's do."""
    yield f"medians of {repeats} [smallest – largest]; goal: {MOST_SHARE:.0%} of a run at most\n"
    yield f"{'':16} {'CPU µs a sample':>16} {'samples':>8} {'share of the run':>26}  goal"
    for row in rows:
        least, most = row["range"]
        share = f"{row['share']:.2%} [{least:.2%} – {most:.2%}]"
        kept = "within" if row["share"] <= MOST_SHARE else "OVER"
        yield (
            f"{row['name']:16} {row['sample_cpu_us']:16.0f} {row['samples']:8.0f} {share:>26}"
            f"  {kept} {MOST_SHARE:.0%}"
        )


def _run(backend: Backend, line: Transfer, sampling: str | None) -> Sampled:
    with tempfile.TemporaryDirectory(prefix="netwarp-bench-") as directory:
        place = Path(directory)
        cost = guests.run_in(backend, replace(line, sampling=sampling), place)
        records = read_records(place / RECORDS_FILE)
    taken = [len(each.at_ns) for each in records if isinstance(each, QueueSamples)]
    assert cost.virtual_s is not None
    return Sampled(cost.cpu_s, max(taken, default=0), cost.virtual_s)
