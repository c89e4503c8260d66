"""Results in other formats: a function each, from a run directory to text."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from typing import TYPE_CHECKING

from netwarp.errors import InputError
from netwarp.metrics import metric_named
from netwarp.metrics.competing import workload_views
from netwarp.output.iperf3 import iperf3_document
from netwarp.results.fixed_conditions import fixed_conditions
from netwarp.run_directory import RunDirectory
from netwarp.suggestions import did_you_mean
from netwarp.version import __version__
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
    """Write an array with the document that iperf3 would have printed for each run.

    Raises:
        InputError: runs have several workloads, and a document of iperf3's is of one.
    """
    if data.study.cells[0].workloads:
        raise InputError(
            "--format iperf3: its documents are of one flow, and these runs have several workloads:"
            " choose csv or json"
        )
    documents = [iperf3_document(run, data) for run in data.results.runs]
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
            records = data.records(run.run)
            views = [(each.job, each.records) for each in workload_views(job, records)]
            archives += [
                workload_of(one).http_archive(one, of_one, title)
                for one, of_one in views or [(job, records)]
            ]
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


def to_qlog(data: RunData) -> str:
    """List the files in which QUIC's connections say what they did, one on each line.

    Raises:
        InputError: no run wrote any.
    """
    directory = RunDirectory(data.directory)
    paths = [path for run in data.results.runs for path in directory.qlog_of(run.run)]
    if not paths:
        raise InputError(
            "--format qlog: no run wrote what its connections of QUIC did, or none was kept:"
            " set transport.quic.qlog = true"
        )
    return "".join(f"{path}\n" for path in paths)


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


EXPORTS: Mapping[str, Callable[[RunData], str]] = {
    "csv": to_csv,
    "json": to_json,
    "iperf3": to_iperf3,
    "har": to_har,
    "qlog": to_qlog,
}
"""Formats by name."""
