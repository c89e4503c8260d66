"""Jobs A to D in netwarp, and in turn in the other tools that are installed."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from bench import guests, shadow
from bench.lines import Transfer
from bench.measured import Cost, row
from bench.ns3 import Ns3
from bench.printing import cell, tell
from bench.shadow import Shadow
from netwarp.backends.virtual import VirtualBackend

OWN = "netwarp"


def measure(lines: Sequence[Transfer], repeats: int) -> dict[str, Any]:
    """Run jobs here and elsewhere in turn; under loss each with as many seeds as repeats."""
    backend = VirtualBackend()
    backend.check(jobs=1)
    program = shadow.find(os.environ)
    with Ns3() as ns3:
        peers: list[Ns3 | Shadow] = [ns3, *([Shadow(program)] if program else [])]
        costs: dict[tuple[str, str], list[Cost]] = defaultdict(list)
        for repeat in range(repeats):
            for line in lines:
                tell(f"{repeat + 1}/{repeats} {line.name}")
                costs[line.name, OWN].append(guests.run(backend, line, seed=repeat + 1))
                for peer in peers:
                    cost = peer.run(line, seed=repeat + 1)
                    costs[line.name, peer.name] += [cost] if cost else []
    jobs = []
    for line in lines:
        rows = {
            tool: row(line.name, line.goal, costs[line.name, tool])
            for tool in (OWN, *(peer.name for peer in peers))
            if costs[line.name, tool]
        }
        ratios = {
            tool: found["cpu_s"]["min"] / rows[OWN]["cpu_s"]["min"]
            for tool, found in rows.items()
            if tool != OWN
        }
        unfinished = {
            peer.name: repeats - len(costs[line.name, peer.name])
            for peer in peers
            if len(costs[line.name, peer.name]) < repeats
        }
        jobs.append(
            {"name": line.name, **rows, "ratios_of_cpu_minima": ratios, "unfinished": unfinished}
        )
    return {
        "peers": [peer.name for peer in peers],
        "jobs": jobs,
        "notes": [Ns3.note, Shadow.note if program else shadow.NOT_INSTALLED],
    }


def table(answer: dict[str, Any], repeats: int) -> Iterator[str]:
    """Write the smallest CPU times side by side, and their ratios to netwarp's."""
    yield f"smallest of {repeats}; netwarp: a whole run"
    yield from answer["notes"]
    heads = (f"{f'{peer} CPU s':>14} {'virtual s':>10} {'ratio':>9}" for peer in answer["peers"])
    yield "\n" + " ".join((f"{'':28} {'netwarp CPU s':>14} {'virtual s':>10}", *heads))
    for each in answer["jobs"]:
        cells = [f"{each['name']:28} {_cost_cells(each[OWN])}"]
        for peer in answer["peers"]:
            ratio = each["ratios_of_cpu_minima"].get(peer)
            against = "–" if ratio is None else f"1 : {ratio:.1f}"
            cells.append(f"{_cost_cells(each.get(peer))} {against:>9}")
        yield " ".join(cells)
    for each in answer["jobs"]:
        for peer, count in each["unfinished"].items():
            yield (
                f"{each['name']}: {count} of {repeats} did not finish in {peer} within the job's"
                " time limit, and do not count"
            )


def _cost_cells(line: dict[str, Any] | None) -> str:
    if line is None:
        return f"{'–':>14} {'–':>10}"
    return f"{line['cpu_s']['min']:14.2f} {cell(line['virtual_s'], 10, 1)}"
