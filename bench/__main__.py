"""Measures what netwarp costs, and prints it as a table or as one JSON object.

Lines are carried out in turn, several times, so that a slow minute of the machine hits all of them.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from bench import (
    commands,
    containment,
    counting,
    executors,
    guests,
    networks,
    overhead,
    peers,
    sampling,
    scale,
)
from bench.lines import COMMANDS, COUNTED, JOBS, TRANSFERS, Transfer
from bench.measured import Cost, row, verdict
from bench.printing import cell, tell
from netwarp.backends.virtual import VirtualBackend


def main() -> int:
    """Run the bench and print its table."""
    parser = _parser()
    arguments = parser.parse_args()
    if arguments.scale is not None:
        grown = scale.measure(arguments.scale, arguments.executor)
        print(json.dumps(grown, indent=2) if arguments.json else "\n".join(scale.table(grown)))
        return 0
    if arguments.containment:
        found = containment.measure(arguments.repeats, arguments.only)
        shown = containment.table(found, arguments.repeats)
        print(json.dumps(found, indent=2) if arguments.json else "\n".join(shown))
        return 0
    if arguments.networks:
        found = networks.measure(arguments.repeats)
        shown = networks.table(found, arguments.repeats)
        print(json.dumps(found, indent=2) if arguments.json else "\n".join(shown))
        return 0
    offered = JOBS if arguments.peers else sampling.LINES if arguments.sampling else TRANSFERS
    if arguments.overheads:
        overheads = measure_overheads(arguments.repeats)
        shown = overhead_table(overheads)
        print(json.dumps(overheads, indent=2) if arguments.json else "\n".join(shown))
        return 0
    lines = [line for line in offered if arguments.only.lower() in line.name.lower()]
    if not lines:
        parser.error(f"no line contains {arguments.only!r}: {'; '.join(x.name for x in offered)}")
    if arguments.repeats < 1:
        parser.error("--repeats: at least 1")
    if arguments.sampling:
        sampled = sampling.measure(lines, arguments.repeats)
        shown = sampling.table(sampled, arguments.repeats)
        print(json.dumps(sampled, indent=2) if arguments.json else "\n".join(shown))
        return 0
    if arguments.peers:
        answer = peers.measure(lines, arguments.repeats)
        table = peers.table(answer, arguments.repeats)
    else:
        felt = not arguments.only
        answer = {
            "transfers": [] if arguments.commands else measure_transfers(lines, arguments.repeats),
            "commands": measure_commands(arguments.repeats) if felt else [],
            "counts": [] if arguments.commands else count_system_calls(lines),
            "overheads": measure_overheads(arguments.repeats) if felt else [],
        }
        costs = own_table([*answer["transfers"], *answer["commands"]], arguments.repeats)
        table = chain(costs, counts_table(answer["counts"]), overhead_table(answer["overheads"]))
    print(json.dumps(answer, indent=2) if arguments.json else "\n".join(table))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--repeats", type=int, default=3, help="times each line is run (default 3)")
    parser.add_argument("--only", default="", help="transfers whose name contains this")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    lane = parser.add_mutually_exclusive_group()
    lane.add_argument("--commands", action="store_true", help="only what a user waits for")
    lane.add_argument(
        "--peers", action="store_true", help="jobs A to D, in turn with ns-3 and Shadow"
    )
    lane.add_argument(
        "--sampling", action="store_true", help="what a sample costs, and all of a run's"
    )
    lane.add_argument(
        "--containment",
        action="store_true",
        help="runs in their enclosure, in turn with the same outside it",
    )
    lane.add_argument(
        "--networks",
        action="store_true",
        help="networks of 2 to 1 000 hosts, and a dumbbell in turn with ns-3",
    )
    lane.add_argument(
        "--overheads", action="store_true", help="only what a run costs besides its guest"
    )
    lane.add_argument(
        "--scale",
        type=int,
        nargs="?",
        const=scale.RUNS,
        metavar="RUNS",
        help=f"so many small runs on all CPUs (default {scale.RUNS}), and 100 000 in memory",
    )
    parser.add_argument(
        "--executor", default="local", help="with --scale: whose CPUs, such as dask-local:2"
    )
    return parser


def measure_transfers(lines: Sequence[Transfer], repeats: int) -> list[dict[str, Any]]:
    """Run transfers in guests, and sum them up."""
    backend = VirtualBackend()
    backend.check(jobs=1)
    costs: dict[str, list[Cost]] = {line.name: [] for line in lines}
    for repeat in range(repeats):
        for line in lines:
            tell(f"{repeat + 1}/{repeats} {line.name}")
            costs[line.name].append(guests.run(backend, line))
    return [row(line.name, line.goal, costs[line.name]) for line in lines]


def count_system_calls(lines: Sequence[Transfer]) -> list[dict[str, Any]]:
    """Count, once, what does not differ between executions."""
    counts = []
    for line in COUNTED:
        if line.transfer in lines:
            tell(line.name)
            found = counting.count(line.transfer)
            counts.append({"name": line.name, "count": found, "most": line.most})
    return counts


def measure_commands(repeats: int) -> list[dict[str, Any]]:
    """Give the commands that users wait for, and sum them up."""
    rounds = []
    for repeat in range(repeats):
        tell(f"{repeat + 1}/{repeats} commands")
        rounds.append(commands.run_all(COMMANDS))
    costs = zip(*rounds, strict=True)
    return [
        row(command.name, command.goal, of_one)
        for command, of_one in zip(COMMANDS, costs, strict=True)
    ]


def measure_overheads(repeats: int) -> list[dict[str, Any]]:
    """Measure what a run costs besides its guest: on this machine, and more on a cluster."""
    return [overhead.measure(repeats), executors.measure(repeats)]


def own_table(rows: Sequence[dict[str, Any]], repeats: int) -> Iterator[str]:
    """Write medians and ranges, and ratios to the first line."""
    base_s = rows[0]["cpu_s"]["median"]
    yield f"medians of {repeats} [smallest – largest]; × is CPU time against the first line\n"
    yield f"{'':44} {'CPU s':>20} {'×':>6} {'wall s':>7} {'virtual s':>10} {'peak MiB':>8}  goal"
    for line in rows:
        cpu = line["cpu_s"]
        spread = f"{cpu['median']:.2f} [{cpu['min']:.2f} – {cpu['max']:.2f}]"
        yield (
            f"{line['name']:44} {spread:>20} {cpu['median'] / base_s:6.1f}"
            f" {line['wall_s']['median']:7.2f} {cell(line['virtual_s'], 10, 2)}"
            f" {cell(line['peak_mib'], 8, 0)}  {verdict(line)}"
        )


def counts_table(counts: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Write what was counted, and whether it is within its goal."""
    for line in counts:
        kept = "within" if line["count"] <= line["most"] else "OVER"
        yield f"{line['name']:44} {line['count']:>20}  counted: {kept} {line['most']}"


def overhead_table(overheads: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Write what runs cost in milliseconds of CPU time, and whether that is within the goal."""
    for line in overheads:
        ms = statistics.median(line["ms"])
        kept = "within" if ms <= line["most_ms"] else "OVER"
        yield f"{line['name']:44} {ms:17.1f} ms  {kept} {line['most_ms']:g} CPU ms"


if __name__ == "__main__":
    sys.exit(main())
