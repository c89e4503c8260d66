"""Results in other formats: a function each, from a run directory to text."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from netwarp.errors import InputError
from netwarp.metrics import metric_named
from netwarp.results.fixed_conditions import fixed_conditions
from netwarp.suggestions import did_you_mean
from netwarp.units import NS_PER_S
from netwarp.version import __version__
from netwarp.wire import Goodput
from netwarp.wording import cell_text
from netwarp.workloads import workload_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from netwarp.evaluation import RunData
    from netwarp.results import RunResult


def export_results(data: RunData, format_: str, run: str | None = None) -> str:
    """Write the results of a run directory in a format of `EXPORTS`.

    Args:
        data: of the run directory.
        format_: name of the format.
        run: the one run that is written; None for all.

    Raises:
        InputError: there is no such format or run, or the format has nothing to say of any run.
    """
    if format_ not in EXPORTS:
        raise InputError(f"--format {format_}: unknown; choose one of {', '.join(EXPORTS)}")
    if run is not None:
        chosen = tuple(each for each in data.results.runs if each.run == run)
        if not chosen:
            known = [each.run for each in data.results.runs]
            raise InputError(f"--run {run}: no such run; {did_you_mean(run, known[:12])}")
        data = replace(data, results=replace(data.results, runs=chosen))
    return EXPORTS[format_](data)


def to_csv(data: RunData) -> str:
    """Write one line per run: factors, the conditions that all runs share, outcome, metrics."""
    fixed = _fixed(data)
    metrics = sorted({name for run in data.results.runs for name in run.metrics})
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    heads = ["run", "cell", "replicate", "seed", *data.results.factors, *fixed]
    writer.writerow([*heads, "outcome", "reason", *metrics])
    for run in data.results.runs:
        place = [run.run, run.cell, run.replicate, run.seed, *run.factors.values()]
        values = _values(run)
        writer.writerow(
            [*place, *fixed.values(), run.outcome, run.reason, *(values.get(m) for m in metrics)]
        )
    return text.getvalue()


def to_json(data: RunData) -> str:
    """Write one object per run, with factors, conditions and metrics as objects of their own."""
    fixed = _fixed(data)
    rows = [
        {
            "run": run.run,
            "cell": run.cell,
            "replicate": run.replicate,
            "seed": run.seed,
            "factors": dict(run.factors),
            "conditions": fixed,
            "outcome": run.outcome,
            "reason": run.reason,
            "metrics": _values(run),
        }
        for run in data.results.runs
    ]
    return json.dumps(rows, indent=2, ensure_ascii=False) + "\n"


def to_iperf3(data: RunData) -> str:
    """Write one object per run with the names of iperf3's JSON.

    `intervals` has the content received in each second of a run that recorded it over time, and
    one interval, the whole of it, of a run that did not.
    """
    documents = [_iperf3(run, data) for run in data.results.runs]
    return json.dumps(documents, indent=2, ensure_ascii=False) + "\n"


def to_har(data: RunData) -> str:
    """Write an HTTP Archive, version 1.2: a page for each run, with an entry for each resource.

    Raises:
        InputError: no run loaded anything over HTTP.
    """
    archives = []
    for run in data.results.runs:
        job = data.job(run.run)
        if job is not None:
            title = f"{run.run}: {cell_text(run.factors, ', ')}"
            archives.append(workload_of(job).http_archive(job, data.records(run.run), title))
    loaded = [each for each in archives if each is not None]
    if not loaded:
        raise InputError("--format har: no run loaded a page over HTTP, or none was kept")
    log = {
        "version": "1.2",
        "creator": {"name": "netwarp", "version": __version__},
        "pages": [each.page for each in loaded],
        "entries": [entry for each in loaded for entry in each.entries],
    }
    return json.dumps({"log": log}, indent=2, ensure_ascii=False) + "\n"


def _fixed(data: RunData) -> dict[str, str]:
    runs = data.results.runs
    return fixed_conditions(data.study, data.job(runs[0].run) if runs else None)


def _values(run: RunResult) -> dict[str, float | int | None]:
    """Give a run's metrics in base units; what is counted in wholes is an integer."""
    return {
        name: int(value) if value is not None and _is_whole(name) else value
        for name, value in run.metrics.items()
    }


def _is_whole(name: str) -> bool:
    return metric_named(name).is_whole


def _iperf3(run: RunResult, data: RunData) -> dict[str, Any]:
    transport = run.factors.get("transport") or _fixed(data).get("transport.kind", "")
    start = {"test_start": {"protocol": transport.upper()}}
    document: dict[str, Any] = {"title": run.run, "start": start, "intervals": [], "end": {}}
    if run.outcome == "failed":
        return document | {"error": run.reason}
    document["intervals"] = _intervals(run.run, data)
    seconds, bits_per_second = run.value("completion_time_s"), run.value("goodput_bit_s")
    if seconds is not None and bits_per_second is not None:
        total = _sum(0, seconds, round(seconds * bits_per_second / 8))
        total["bits_per_second"] = bits_per_second
        retransmits = run.value("retransmitted_packets")
        sent = total if retransmits is None else total | {"retransmits": int(retransmits)}
        document["end"] = {"sum_sent": sent, "sum_received": total}
        document["intervals"] = document["intervals"] or [_interval(total)]
    return document


def _intervals(run: str, data: RunData) -> list[dict[str, Any]]:
    """Add up what came in by whole seconds, as iperf3 reports; the last one may be shorter.

    Nothing where it was not recorded over time.
    """
    recorded = next((each for each in data.records(run) if isinstance(each, Goodput)), None)
    if recorded is None:
        return []
    by_second: dict[int, int] = {}
    for step, received in enumerate(recorded.bytes):
        second = step * recorded.step_ns // NS_PER_S
        by_second[second] = by_second.get(second, 0) + received
    end_s = len(recorded.bytes) * recorded.step_ns / NS_PER_S
    return [
        _interval(_sum(second, min(second + 1, end_s), received))
        for second, received in by_second.items()
    ]


def _interval(total: dict[str, Any]) -> dict[str, Any]:
    return {"streams": [], "sum": total | {"omitted": False}}


def _sum(start_s: float, end_s: float, received: int) -> dict[str, Any]:
    seconds = end_s - start_s
    return {
        "start": start_s,
        "end": end_s,
        "seconds": seconds,
        "bytes": received,
        "bits_per_second": 8 * received / seconds if seconds else 0,
    }


EXPORTS: Mapping[str, Callable[[RunData], str]] = {
    "csv": to_csv,
    "json": to_json,
    "iperf3": to_iperf3,
    "har": to_har,
}
"""Formats by name."""
