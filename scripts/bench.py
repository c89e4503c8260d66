"""Measures what runs cost: `make bench`. Ratios inside one execution; these machines are noisy.

Each line is one job, carried out several times in turn with the others on one CPU. CPU time is the
guest's whole process tree, boot and teardown included; peak memory is the host's.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netwarp.backends.virtual import VirtualBackend
from netwarp.plan import PlannedRun, plan_study
from netwarp.run_directory import Status
from netwarp.study import study_from_mapping


@dataclass(frozen=True)
class Line:
    """One job of the bench, and what it may cost on a quiet machine with two 3 GHz cores."""

    name: str
    transport: str
    size: str
    path: dict[str, str]
    cpu_budget_s: float | None = None
    wall_budget_s: float | None = None
    memory_budget_mib: int | None = None
    verify: bool = False


FAST = {"rate": "100mbit", "rtt": "100ms", "queue": "1bdp"}
LINES = (
    Line(
        "empty run (boot, path, 1 byte, teardown)", "tcp", "1B", {"rtt": "10ms"}, cpu_budget_s=0.15
    ),
    Line("A: 100 MB TCP, lossless", "tcp", "100MB", FAST, wall_budget_s=0.6),
    Line("B: 100 MB TCP, 1 % loss", "tcp", "100MB", {**FAST, "loss": "1%"}, wall_budget_s=0.7),
    Line(
        "C: 100 MB TCP, 5 % loss",
        "tcp",
        "100MB",
        {**FAST, "loss": "5%"},
        cpu_budget_s=0.7,
        wall_budget_s=0.7,
    ),
    Line("D: 1 GB TCP, lossless", "tcp", "1GB", FAST, wall_budget_s=5.0),
    Line("100 MB QUIC, lossless", "quic", "100MB", FAST, cpu_budget_s=8.0),
    Line("100 MB TLS, lossless", "tls", "100MB", FAST),
    Line("100 MB SCTP, lossless", "sctp", "100MB", FAST),
    *(
        Line(
            f"10 MB {transport.upper()}, 1 % loss, verified",
            transport,
            "10MB",
            {**FAST, "loss": "1%"},
            memory_budget_mib=400,
            verify=True,
        )
        for transport in ("tcp", "tls", "sctp", "quic")
    ),
)


def main() -> int:
    """Run the bench and print its table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3, help="times each line is run (default 3)")
    parser.add_argument("--only", default="", help="lines whose name contains this")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    lines = [line for line in LINES if arguments.only.lower() in line.name.lower()]
    if not lines:
        parser.error(
            f"no line contains {arguments.only!r}: {'; '.join(line.name for line in LINES)}"
        )
    measured = measure(lines, arguments.repeats)
    rows = [row(line, measured[line.name]) for line in lines]
    if arguments.json:
        print(json.dumps({"lines": rows}, indent=2))
    else:
        print_table(rows, arguments.repeats)
    return 0


def measure(lines: list[Line], repeats: int) -> dict[str, list[Status]]:
    """Carry out the lines in turn, so that a slow minute of the machine hits all of them."""
    backend = VirtualBackend()
    backend.check()
    measured: dict[str, list[Status]] = {line.name: [] for line in lines}
    for repeat in range(repeats):
        for line in lines:
            print(
                f"\r\x1b[K{repeat + 1}/{repeats} {line.name}", end="", file=sys.stderr, flush=True
            )
            measured[line.name].append(run_study(backend, planned(line)))
    print("\r\x1b[K", end="", file=sys.stderr)
    return measured


def planned(line: Line) -> PlannedRun:
    """Turn a line into the one run of a study."""
    workload = {"kind": "bulk", "size": line.size, "verify": line.verify}
    study = {
        "title": line.name,
        "replicates": 1,
        "path": line.path,
        "workload": workload,
        "factors": {"transport": [line.transport]},
    }
    return plan_study(study_from_mapping(study))[0]


def run_study(backend: VirtualBackend, run: PlannedRun) -> Status:
    """Run one job in a directory of its own; a failed run ends the bench."""
    with tempfile.TemporaryDirectory(prefix="netwarp-bench-") as directory:
        path = Path(directory)
        (path / "job.json").write_text(run.job_json)
        status = backend.run(run.job, path, slot=0, on_progress=lambda _: None)
    if status.outcome != "ok":
        raise SystemExit(f"{run.run} failed: {status.reason}")
    return status


def row(line: Line, statuses: list[Status]) -> dict[str, Any]:
    """Sum a line up: medians and ranges, with the budgets it has."""
    cpu_s = [status.cpu_s for status in statuses]
    wall_s = [status.wall_s for status in statuses]
    return {
        "name": line.name,
        "cpu_s": {"median": statistics.median(cpu_s), "min": min(cpu_s), "max": max(cpu_s)},
        "wall_s": {"median": statistics.median(wall_s), "min": min(wall_s), "max": max(wall_s)},
        "virtual_s": statuses[0].virtual_s,
        "peak_mib": max(status.peak_rss_bytes for status in statuses) / 2**20,
        "cpu_budget_s": line.cpu_budget_s,
        "wall_budget_s": line.wall_budget_s,
        "memory_budget_mib": line.memory_budget_mib,
    }


def print_table(rows: list[dict[str, Any]], repeats: int) -> None:
    """Print medians, ranges and ratios to the first line."""
    base_s = rows[0]["cpu_s"]["median"]
    print(f"medians of {repeats} runs [smallest – largest]; × is CPU time against the first line\n")
    print(f"{'':44} {'CPU s':>20} {'×':>6} {'wall s':>7} {'virtual s':>10} {'peak MiB':>8}  budget")
    for line in rows:
        cpu = line["cpu_s"]
        spread = f"{cpu['median']:.2f} [{cpu['min']:.2f} – {cpu['max']:.2f}]"
        print(
            f"{line['name']:44} {spread:>20} {cpu['median'] / base_s:6.1f}"
            f" {line['wall_s']['median']:7.2f} {line['virtual_s']:10.2f} {line['peak_mib']:8.0f}"
            f"  {verdict(line)}"
        )


def verdict(line: dict[str, Any]) -> str:
    """Hold the medians against the line's budgets."""
    parts = [
        (line["cpu_s"]["median"], line["cpu_budget_s"], "CPU s"),
        (line["wall_s"]["median"], line["wall_budget_s"], "wall s"),
        (line["peak_mib"], line["memory_budget_mib"], "MiB"),
    ]
    return ", ".join(
        f"{'within' if value <= budget else 'OVER'} {budget:g} {unit}"
        for value, budget, unit in parts
        if budget is not None
    )


if __name__ == "__main__":
    sys.exit(main())
