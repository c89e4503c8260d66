"""Results of `netwarp exec`, as an object for scripts and as one line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from netwarp.measure.select import of_kind
from netwarp.wire import Program
from netwarp.wording import mean_text, number, quantity

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from netwarp.evaluation import RunData
    from netwarp.results import RunResult
    from netwarp.wire import Record

SIGNALLED = 128
"""Added to a signal's number for the exit status of a program that it ended, as shells do."""


def program_runs(data: RunData) -> dict[str, Any]:
    """Give the results of the runs; the first that failed, or else the first, represents all."""
    runs = data.results.runs
    shown = next((run for run in runs if run.reason is not None), runs[0])
    records = data.records(shown.run)
    client, server = _program(records, "client"), _program(records, "server")
    return {
        "exit_status": _exit_status(shown, client),
        "failure": shown.reason,
        "metrics": dict(shown.metrics),
        "client": None if client is None else client.model_dump(mode="json"),
        "server": None if server is None else server.model_dump(mode="json"),
        "virtual_s": data.provenance["virtual_s"],
        "wall_s": data.provenance["wall_s"],
        "out": str(data.directory),
        "runs": [
            {"run": run.run, "seed": run.seed, "failure": run.reason, "metrics": dict(run.metrics)}
            for run in runs
        ],
    }


def time_taken(virtual_s: float, wall_s: float) -> str:
    """Write the time that runs took, in s, in virtual time and in wall time."""
    return f"{virtual_s:.6g} s on the run's clock, {number(wall_s, 2)} s of yours"


def in_one_line(data: RunData, told: dict[str, Any]) -> str:
    """Write the time that the runs took and what the path did, or why a run failed."""
    took = time_taken(told["virtual_s"], told["wall_s"])
    runs = data.results.runs
    if told["failure"] is not None:
        failed = sum(run.reason is not None for run in runs)
        of = f"{failed} of {len(runs)} runs failed, the first: " if len(runs) > 1 else ""
        return f"exec: {of}{told['failure']} ({took}; {told['out']})"
    if len(runs) > 1:
        found = f"{_repeated(told['difference'])}; " if "repeatable" in told else ""
        return f"exec: {len(runs)} runs, {_means(data)}; {found}{took}; {told['out']}"
    return f"exec: {took}; {of_path(told['metrics'])}; {told['out']}"


def of_path(metrics: Mapping[str, float | None]) -> str:
    """Say what a path carried, or of one between two hosts, where nobody counts, how long."""
    rtt_s = metrics.get("path_median_rtt_s")
    if rtt_s is not None:
        return f"median round trip {number(rtt_s * 1000, 3)} ms"
    return ", ".join(
        f"{metrics[f'wire_packets_{direction}']:.0f} packets {direction}"
        f" ({metrics[f'path_dropped_{direction}']:.0f} dropped)"
        for direction in ("down", "up")
    )


def _means(data: RunData) -> str:
    (cell,) = data.results.cells
    estimate = cell.estimate("run_time_s")
    if estimate is None:
        return "none measured"
    shown = quantity("run_time_s", estimate.mean)
    return f"{shown.title.lower()} {mean_text(estimate, shown)} {shown.unit}"


def _repeated(difference: str | None) -> str:
    if difference is None:
        return "repeatable: the first seed gave the same records twice"
    return f"NOT REPEATABLE: the first seed gave other records the second time ({difference})"


def _exit_status(run: RunResult, client: Program | None) -> int:
    if run.reason is None:
        return 0
    if client is None:
        return 1
    return client.exit_status or (SIGNALLED + client.signal if client.signal else 1)


def _program(records: Sequence[Record], side: str) -> Program | None:
    return next((each for each in of_kind(records, Program) if each.side == side), None)
