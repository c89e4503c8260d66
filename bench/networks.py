"""Measures what networks of many hosts cost: to build, for each packet and hop, and beside ns-3."""

from __future__ import annotations

import json
import statistics
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench import guests
from bench.lines import FAST, JOBS
from bench.measured import Cost
from bench.ns3 import NS3_TCP, Ns3
from bench.printing import tell
from netwarp.backends.base import Backend
from netwarp.backends.virtual import VirtualBackend
from netwarp.plan import plan_study
from netwarp.run_directory import RECORDS_FILE
from netwarp.study import study_from_mapping

HOSTS = (2, 16, 256, 1000)
LOADED_HOSTS = (2, 16, 256)
TOTAL_MB = 128
"""What is transferred over a dumbbell: by one pair, or by all pairs together."""
MOST_CPU_S = {256: 1.5}
MOST_MIB = {1000: 1024}
MOST_US_PER_HOP = 3.0
PAIRS_BESIDE_NS3 = 50
PER_HOP = ("per_hop_us_one", "per_hop_us_all")


def measure(repeats: int) -> dict[str, Any]:
    """Measure networks by number of hosts, and a dumbbell of 50 pairs in turn with ns-3.

    Returns:
        ``networks``: by number of hosts, the cost of building one, and for each packet and link
        that of one transfer, and of a transfer for each pair; ``beside_ns3``: the CPU time in s of
        job A, and of a dumbbell, in netwarp and in ns-3.
    """
    backend = VirtualBackend()
    backend.check(jobs=1)
    found: dict[str, Any] = {"networks": [], "beside_ns3": {}}
    for hosts in HOSTS:
        tell(f"a network of {hosts} hosts")
        pairs = hosts // 2
        built = [_run(backend, dumbbell(pairs, "1B", flows=1))[0] for _ in range(repeats)]
        line = {
            "hosts": hosts,
            "built_cpu_s": statistics.median(cost.cpu_s for cost in built),
            "peak_mib": max(cost.peak_mib or 0.0 for cost in built),
        }
        for flows in {1, pairs} if hosts in LOADED_HOSTS else ():
            line[f"per_hop_us_{'one' if flows == 1 else 'all'}"] = statistics.median(
                _per_hop_us(backend, pairs, flows) for _ in range(repeats)
            )
        found["networks"].append(line)
    with Ns3() as ns3:
        found["beside_ns3"] = _beside_ns3(backend, ns3, repeats)
    return found


def dumbbell(
    pairs: int, size: str, transport: Any = "tcp", direction: str = "down", *, flows: int
) -> Any:
    """Return a study of one run: one client of a dumbbell, or each, transfers a file from its
    server. The bottleneck has the rate and delay of job A.
    """
    ends = {"from": "client", "to": "server"} if flows > 1 else {}
    return {
        "title": f"{pairs} pairs",
        "replicates": 1,
        "path": FAST,
        "topology": {"shape": "dumbbell", "pairs": pairs},
        "workload": [
            {
                "name": "flow",
                "kind": "bulk",
                "size": size,
                "direction": direction,
                "verify": False,
                **ends,
            }
        ],
        "factors": {"transport": [transport]},
    }


def _run(backend: Backend, study: Any) -> tuple[Cost, int]:
    """Run a study of one run.

    Returns:
        what it cost, and the number of packets that all its links carried together: each packet
        counts once for each link that it crossed or was dropped by.
    """
    with tempfile.TemporaryDirectory(prefix="netwarp-bench-") as directory:
        place = Path(directory)
        run = plan_study(study_from_mapping(study))[0]
        cost = guests.run_planned(backend, run, place, study["title"])
        records = [json.loads(line) for line in (place / RECORDS_FILE).open()]
    hops = sum(r["offered_packets"] for r in records if r["record"] == "calibration")
    return cost, hops


def _per_hop_us(backend: Backend, pairs: int, flows: int) -> float:
    """Return the CPU time in µs for each packet and link of transfers, without what the same
    transfers of one byte cost.
    """
    empty, few = _run(backend, dumbbell(pairs, "1B", flows=flows))
    cost, hops = _run(backend, dumbbell(pairs, f"{TOTAL_MB // flows}MB", flows=flows))
    return (cost.cpu_s - empty.cpu_s) * 1e6 / (hops - few)


def _beside_ns3(backend: Backend, ns3: Ns3, repeats: int) -> dict[str, dict[str, float]]:
    """Run job A and a dumbbell of the same bytes in turn here and in ns-3.

    Returns:
        the smallest CPU time of each, in seconds, by job and tool.
    """
    spent_s: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    size = f"{100 // PAIRS_BESIDE_NS3}MB"
    for repeat in range(repeats):
        tell(f"{repeat + 1}/{repeats} beside ns-3")
        job_a = JOBS[0]
        spent_s["job A"]["netwarp"].append(guests.run(backend, job_a).cpu_s)
        spent_s["job A"]["ns-3"].append(ns3.run(job_a, seed=1).cpu_s)
        name = f"dumbbell of {PAIRS_BESIDE_NS3} pairs"
        ours, theirs = (
            _run(where, dumbbell(PAIRS_BESIDE_NS3, size, kind, "up", flows=PAIRS_BESIDE_NS3))[0]
            for where, kind in ((backend, "tcp"), (ns3.backend, NS3_TCP))
        )
        spent_s[name]["netwarp"].append(ours.cpu_s)
        spent_s[name]["ns-3"].append(theirs.cpu_s)
    return {
        job: {tool: min(costs) for tool, costs in by_tool.items()}
        for job, by_tool in spent_s.items()
    }


def table(found: dict[str, Any], repeats: int) -> Iterator[str]:
    """Print a line for each size of a network, and one for each job beside ns-3."""
    yield f"medians of {repeats}: dumbbells, three links between a client and its server\n"
    yield f"{'':30} {'µs for each packet and link':>29}"
    yield f"{'hosts':>6} {'built, CPU s':>13} {'peak MiB':>9} {'one flow':>14} {'each pair':>14}"
    for line in found["networks"]:
        one, every = (f"{line[key]:.2f}" if key in line else "–" for key in PER_HOP)
        yield (
            f"{line['hosts']:6} {line['built_cpu_s']:13.2f} {line['peak_mib']:9.0f} {one:>14}"
            f" {every:>14}  {', '.join(_verdicts(line))}"
        )
    yield f"\n{'smallest CPU s of each':28} {'netwarp':>8} {'ns-3':>8} {'ratio':>9}"
    for job, by_tool in found["beside_ns3"].items():
        ratio = by_tool["ns-3"] / by_tool["netwarp"]
        yield f"{job:28} {by_tool['netwarp']:8.2f} {by_tool['ns-3']:8.2f} {f'1 : {ratio:.1f}':>9}"


def _verdicts(line: dict[str, Any]) -> Iterator[str]:
    goals = [
        (line["built_cpu_s"], MOST_CPU_S.get(line["hosts"]), "CPU s"),
        (line["peak_mib"], MOST_MIB.get(line["hosts"]), "MiB"),
        (max(line.get(key, 0) for key in PER_HOP), MOST_US_PER_HOP, "µs"),
    ]
    for value, most, unit in goals:
        if value and most is not None:
            yield f"{'within' if value <= most else 'OVER'} {most:g} {unit}"
