"""Results of `netwarp exec`: an object for scripts, and one line for users."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netwarp.execution.files_read import named_files
from netwarp.machine.instructions import asks_of_the_cpu, libraries_of
from netwarp.measure.select import of_kind
from netwarp.metrics import metrics_until_failure
from netwarp.output.export import values_in_base_units
from netwarp.run_directory import RunDirectory
from netwarp.wire import Job, Program, Record, Side
from netwarp.wording import mean_text, number, quantity
from netwarp.workloads import reads_of

if TYPE_CHECKING:
    from netwarp.evaluation import RunData
    from netwarp.results import RunResult

SIGNALLED = 128
"""Added to the number of a signal, it gives the exit status of a program that the signal ended, as
in shells.
"""
PRINTED_BYTES = 1 << 20
"""Maximum number of bytes of a program's output in the object: as many as its record contains of
standard output."""
HIDDEN = re.compile(r"(?:/tmp|/run|/dev/shm)/[^\s:;,'\"()]+")
"""Paths below folders that programs see without the machine's files
(endpoint/programs/src/root.rs).
"""
MISSING = ("not found", "No such file")
"""Parts of messages with which programs report that a file does not exist."""


def program_runs(data: RunData) -> dict[str, Any]:
    """Return the results of the runs as an object. Its main fields are those of the first run that
    failed, or else of the first run.

    A failed run has the metrics that were measured until it failed.
    """
    runs = [_with_what_was_measured(run, data) for run in data.results.runs]
    shown = next((run for run in runs if run.reason is not None), runs[0])
    records = data.records(shown.run)
    directory = data.kept
    client = _program(records, "client")
    return {
        "exit_status": _exit_status(shown, client),
        "failure": shown.reason,
        "metrics": values_in_base_units(shown),
        "client": _program_json("client", client, directory, shown.run),
        "server": _program_json("server", _program(records, "server"), directory, shown.run),
        "virtual_s": data.provenance["virtual_s"],
        "wall_s": data.provenance["wall_s"],
        "out": str(data.directory),
        "runs": [
            {
                "run": run.run,
                "seed": run.seed,
                "failure": run.reason,
                "metrics": values_in_base_units(run),
            }
            for run in runs
        ],
    }


def _with_what_was_measured(run: RunResult, data: RunData) -> RunResult:
    job = data.job(run.run) if run.reason is not None else None
    if job is None:
        return run
    return replace(run, metrics=metrics_until_failure(job, data.records(run.run)))


def time_taken(virtual_s: float, wall_s: float) -> str:
    """Return as text the time that all runs took, in s of virtual time and in s of wall time."""
    return f"{_exact_time(virtual_s)} on the run's clock in all, {number(wall_s, 2)} s of yours"


def _exact_time(seconds: float) -> str:
    """Return a time as text with up to six digits, in s from 0.1 s on, else in ms or µs."""
    size, unit = (1.0, "s") if seconds >= 0.1 or seconds == 0 else (1e-3, "ms")
    if unit == "ms" and seconds < 1e-4:
        size, unit = 1e-6, "µs"
    return f"{seconds / size:.6g} {unit}"


def in_one_line(data: RunData, summary: dict[str, Any]) -> str:
    """Return as text the time that the client took and the numbers of packets, or why a run
    failed.
    """
    took = time_taken(summary["virtual_s"], summary["wall_s"])
    runs = data.results.runs
    if summary["failure"] is not None:
        failed = sum(run.reason is not None for run in runs)
        of = f"{failed} of {len(runs)} runs failed, the first: " if len(runs) > 1 else ""
        hint = hidden_file_hint(summary)
        return f"exec: {of}{summary['failure']}{hint} ({took}; {summary['out']})"
    if len(runs) > 1:
        found = (
            f"{_repeated(summary['difference'], summary['asks_of_the_cpu'])}; "
            if "repeatable" in summary
            else ""
        )
        return f"exec: {len(runs)} runs, {_means(data)}; {found}{took}; {summary['out']}"
    ran = f"the client ran {_exact_time(summary['metrics']['run_time_s'])}"
    return f"exec: {ran}; {of_path(summary['metrics'])}; {took}; {summary['out']}"


def of_path(metrics: Mapping[str, float | None]) -> str:
    """Return as text the number of packets in each direction; between two hosts, where packets are
    not counted, the median round-trip time.
    """
    rtt_s = metrics.get("path_median_rtt_s")
    if rtt_s is not None:
        return f"median round trip {number(rtt_s * 1000, 3)} ms"
    return ", ".join(
        f"{metrics[f'wire_packets_{direction}']:.0f} packets {direction}"
        f" ({_dropped(metrics, direction)})"
        for direction in ("down", "up")
    )


def _dropped(metrics: Mapping[str, float | None], direction: str) -> str:
    """Return as text how many packets were lost at random, and how many were dropped by a full
    queue.
    """
    dropped = metrics[f"path_dropped_{direction}"] or 0.0
    overflow = metrics.get(f"path_overflow_{direction}")
    # the kernel does not distinguish the two, or there are none
    if overflow is None or dropped == 0:
        return f"{dropped:.0f} dropped"
    return f"{dropped - overflow:.0f} lost, {overflow:.0f} queue full"


def hidden_file_hint(summary: Mapping[str, Any]) -> str:
    """Return a hint that programs do not see a file of this machine, if the output of one contains
    a message that it is missing; else "".
    """
    lines = [line for side in ("client", "server") for line in summary[side]["stderr"].splitlines()]
    missed = (line for line in lines if any(words in line for words in MISSING))
    for path in (path for line in missed for path in HIDDEN.findall(line)):
        if Path(path).exists():
            return (
                f"; {path} is on this machine, but programs find /tmp, /run and /dev/shm empty, but"
                " for the folder where the command is given: give it there, or put the file"
                " elsewhere"
            )
    return ""


def _means(data: RunData) -> str:
    """Return the mean run time with its interval, as text."""
    (cell,) = data.results.cells
    estimate = cell.estimate("run_time_s")
    if estimate is None:
        return "none measured"
    shown = quantity("run_time_s", estimate.mean)
    return f"{shown.title.lower()} {mean_text(estimate, shown)} {shown.unit}"


def askers(job: Job) -> dict[str, list[str]]:
    """Return the programs in a job's commands, and their libraries, that read CPU values which
    differ each time, such as its random numbers.

    Returns:
        The names of the instructions that read such values, by program or library.
    """
    files = {file.resolve() for reads in reads_of(job) for file in named_files(reads)}
    libraries = {library for file in files for library in libraries_of(file)} - files
    asked = {
        str(file): list(asks_of_the_cpu(file)) for file in (*sorted(files), *sorted(libraries))
    }
    return {file: names for file, names in asked.items() if names}


def _repeated(difference: str | None, asked: Mapping[str, Sequence[str]]) -> str:
    if difference is None:
        return "repeatable: the first seed gave the same records twice"
    suspects = ", ".join(f"{file} has {' and '.join(names)}" for file, names in asked.items())
    why = f": {suspects}, which ask the CPU itself (docs/exec.md)" if suspects else ""
    return f"NOT REPEATABLE: the first seed gave other records the second time ({difference}){why}"


def _exit_status(run: RunResult, client: Program | None) -> int:
    if run.reason is None:
        return 0
    if client is None:
        return 1
    return client.exit_status or (SIGNALLED + client.signal if client.signal else 1)


def _program_json(
    side: Side, program: Program | None, directory: RunDirectory, run: str
) -> dict[str, Any]:
    """Return a program's record as an object. If the program did not end, everything but its output
    is null.
    """
    stdout, stdout_bytes = directory.printed(run, f"{side}.stdout", PRINTED_BYTES)
    stderr, stderr_bytes = directory.printed(run, f"{side}.stderr", PRINTED_BYTES)
    unknown = dict.fromkeys(Program.model_fields) | {
        "record": "program",
        "side": side,
        "stdout_bytes": stdout_bytes,
        "stderr_bytes": stderr_bytes,
        "stdout": stdout,
    }
    known = unknown if program is None else program.model_dump(mode="json")
    return {**known, "stderr": stderr}


def _program(records: Sequence[Record], side: str) -> Program | None:
    return next((each for each in of_kind(records, Program) if each.side == side), None)
