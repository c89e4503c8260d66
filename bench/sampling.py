"""What sampling costs: the CPU time of one sample, times the samples that a run takes by default,
and what it costs to say from them where the run's time went.

The difference between runs with and without samples is smaller than this machine's noise. So
transfers are also sampled some thousand times over: the cost of one sample stands out there.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench import guests
from bench.lines import FAST, Transfer
from bench.printing import tell
from netwarp.backends.base import Backend
from netwarp.backends.virtual import VirtualBackend
from netwarp.measure.run_records import RunRecords
from netwarp.metrics.causes import attribution
from netwarp.run_directory import RECORDS_FILE
from netwarp.transports import ON_ONE_PATH
from netwarp.wire import read_records
from netwarp.wire.samples import QueueSamples
from netwarp.workloads import workload_of

MOST_SHARE = 0.03
"""Of a run's CPU time, for its samples."""
MOST_ATTRIBUTED = 0.05
"""Of a run's CPU time, for its samples and for the causes of its time together."""
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
    attribution_cpu_s: float = 0.0
    """CPU time in which the causes of its time are computed from its records."""


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
    share = sample_cpu_s * default.samples / without.cpu_s
    return {
        "sample_cpu_us": sample_cpu_s * 1e6,
        "samples": default.samples,
        "share": share,
        "attributed_share": share + default.attribution_cpu_s / without.cpu_s,
    }


def summed_up(name: str, found: Sequence[dict[str, float]]) -> dict[str, Any]:
    """Give the medians of one line, and the range of its share."""
    several = [each["share"] for each in found]
    attributed = [each["attributed_share"] for each in found]
    return {
        "name": name,
        **{key: statistics.median(each[key] for each in found) for key in found[0]},
        "range": [min(several), max(several)],
        "attributed_range": [min(attributed), max(attributed)],
    }


def table(rows: Sequence[dict[str, Any]], repeats: int) -> Iterator[str]:
    """Write what a sample costs, and what all of a run's do."""
    yield (
        f"medians of {repeats} [smallest – largest]; goals: {MOST_SHARE:.0%} of a run at most,"
        f" {MOST_ATTRIBUTED:.0%} with the causes of its time\n"
    )
    yield (
        f"{'':16} {'CPU µs a sample':>16} {'samples':>8} {'share of the run':>26}  goal"
        f"       {'with causes':>26}  goal"
    )
    for row in rows:
        share = _share(row["share"], row["range"], MOST_SHARE)
        attributed = _share(row["attributed_share"], row["attributed_range"], MOST_ATTRIBUTED)
        yield (
            f"{row['name']:16} {row['sample_cpu_us']:16.0f} {row['samples']:8.0f} {share}"
            f"  {attributed}"
        )


def _share(found: float, between: Sequence[float], most: float) -> str:
    least, largest = between
    kept = "within" if found <= most else "OVER"
    return f"{f'{found:.2%} [{least:.2%} – {largest:.2%}]':>26}  {kept} {most:.0%}"


def _run(backend: Backend, line: Transfer, sampling: str | None) -> Sampled:
    with tempfile.TemporaryDirectory(prefix="netwarp-bench-") as directory:
        place = Path(directory)
        cost = guests.run_in(backend, replace(line, sampling=sampling), place)
        records = read_records(place / RECORDS_FILE)
    job = guests.plan(replace(line, sampling=sampling)).job
    start_s = time.process_time()
    attribution(RunRecords(job, records, workload_of(job)))
    attribution_cpu_s = time.process_time() - start_s
    taken = [len(each.at_ns) for each in records if isinstance(each, QueueSamples)]
    assert cost.virtual_s is not None
    return Sampled(cost.cpu_s, max(taken, default=0), cost.virtual_s, attribution_cpu_s)
