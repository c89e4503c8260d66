"""Results in other formats: a function each, from results to text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from netwarp.errors import InputError
from netwarp.results.parquet import RESULTS_FILE, read_results, to_frame

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from netwarp.results import Results, RunResult


def export_results(directory: Path, format_: str) -> str:
    """Write the results of a run directory in a format of `EXPORTS`.

    Raises:
        InputError: there is no such format.
        RunDirectoryError: there are no results.
    """
    if format_ not in EXPORTS:
        raise InputError(f"--format {format_}: unknown; choose one of {', '.join(EXPORTS)}")
    return EXPORTS[format_](read_results(directory / RESULTS_FILE))


def to_csv(results: Results) -> str:
    """One line per run, columns as in `results.parquet`."""
    return to_frame(results).write_csv()


def to_json(results: Results) -> str:
    """One object per run, with factors and metrics as objects of their own."""
    rows = [
        {
            "run": run.run,
            "cell": run.cell,
            "replicate": run.replicate,
            "seed": run.seed,
            "factors": dict(run.factors),
            "outcome": run.outcome,
            "reason": run.reason,
            "metrics": dict(run.metrics),
        }
        for run in results.runs
    ]
    return json.dumps(rows, indent=2, ensure_ascii=False) + "\n"


def to_iperf3(results: Results) -> str:
    """One object per run with the names of iperf3's JSON; runs are not sampled in intervals."""
    return json.dumps([_iperf3(run) for run in results.runs], indent=2, ensure_ascii=False) + "\n"


def _iperf3(run: RunResult) -> dict[str, Any]:
    start = {"test_start": {"protocol": run.factors.get("transport", "").upper()}}
    document: dict[str, Any] = {"title": run.run, "start": start, "intervals": [], "end": {}}
    seconds, bits_per_second = run.value("completion_time_s"), run.value("goodput_bit_s")
    if run.outcome == "failed":
        return document | {"error": run.reason}
    if seconds is not None and bits_per_second is not None:
        total = {
            "start": 0,
            "end": seconds,
            "seconds": seconds,
            "bytes": round(seconds * bits_per_second / 8),
            "bits_per_second": bits_per_second,
        }
        retransmits = run.value("retransmitted_packets")
        sent = total if retransmits is None else total | {"retransmits": int(retransmits)}
        document["end"] = {"sum_sent": sent, "sum_received": total}
    return document


EXPORTS: Mapping[str, Callable[[Results], str]] = {
    "csv": to_csv,
    "json": to_json,
    "iperf3": to_iperf3,
}
"""Formats by name."""
