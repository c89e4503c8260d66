"""Exports results to other formats, each by a function from a run directory to text.

Formats with a part for each run are generated part by part, so that a large study is never in
memory as a whole.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from netwarp.errors import InputError
from netwarp.metrics import metric_named
from netwarp.metrics.competing import workload_views
from netwarp.output.iperf3 import iperf3_document
from netwarp.suggestions import did_you_mean
from netwarp.version import __version__
from netwarp.wording import cell_text
from netwarp.workloads import workload_of

if TYPE_CHECKING:
    from netwarp.evaluation import RunData
    from netwarp.results import RunResult


def export_results(data: RunData, format_: str, run: str | None = None) -> Iterator[str]:
    """Return the results of a run directory in one of the formats of `EXPORTS`, as pieces of text.

    Args:
        data: the run directory's data.
        format_: name of the format.
        run: the only run to export; None for all.

    Raises:
        InputError: there is no such format or run, or no run has anything for the format.
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


def to_csv(data: RunData) -> Iterator[str]:
    """Yield CSV, with a line for each run: factors, the conditions that all runs share, outcome,
    metrics.
    """
    fixed = data.fixed
    metrics = sorted({name for run in data.results.runs for name in run.metrics})
    heads = ["run", "cell", "replicate", "seed", *data.results.factors, *fixed]
    yield _csv_line([*heads, "outcome", "reason", *metrics])
    for run in data.results.runs:
        place = [run.run, run.cell, run.replicate, run.seed, *run.factors.values()]
        values = values_in_base_units(run)
        yield _csv_line(
            [*place, *fixed.values(), run.outcome, run.reason, *(values.get(m) for m in metrics)]
        )


def _csv_line(cells: Sequence[object]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue()


def to_json(data: RunData) -> Iterator[str]:
    """Yield a JSON array with an object for each run, in which factors, conditions and metrics are
    objects, too.
    """
    fixed = data.fixed
    return _json_array(
        {
            "run": run.run,
            "cell": run.cell,
            "replicate": run.replicate,
            "seed": run.seed,
            "factors": dict(run.factors),
            "conditions": fixed,
            "outcome": run.outcome,
            "reason": run.reason,
            "metrics": values_in_base_units(run),
        }
        for run in data.results.runs
    )


def to_iperf3(data: RunData) -> Iterator[str]:
    """Yield a JSON array with what iperf3 would have printed for each run.

    Raises:
        InputError: runs have several workloads, which iperf3's format cannot express.
    """
    if data.study.cells[0].workloads:
        raise InputError(
            "--format iperf3: its documents are of one flow, and these runs have several workloads:"
            " choose csv or json"
        )
    return _json_array(iperf3_document(run, data) for run in data.results.runs)


def _json_array(objects: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the text of a JSON array of objects, as `json.dumps` with an indent of two returns
    it.
    """
    before = "[\n  "
    for each in objects:
        # Texts have no line breaks in JSON, which writes them as \\n.
        written = json.dumps(each, indent=2, ensure_ascii=False).replace("\n", "\n  ")
        yield before + written
        before = ",\n  "
    yield "[]\n" if before.startswith("[") else "\n]\n"


def to_har(data: RunData) -> Iterator[str]:
    """Yield an HTTP Archive, version 1.2: a page for each run, with an entry for each resource.

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
    yield json.dumps({"log": log}, indent=2, ensure_ascii=False) + "\n"


def to_qlog(data: RunData) -> Iterator[str]:
    """Yield the paths of the qlog files of QUIC connections, one on each line.

    Raises:
        InputError: no run wrote a qlog file.
    """
    directory = data.kept
    paths = [path for run in data.results.runs for path in directory.qlog_of(run.run)]
    if not paths:
        raise InputError(
            "--format qlog: no run wrote what its connections of QUIC did, or none was kept:"
            " set transport.quic.qlog = true"
        )
    yield from (f"{path}\n" for path in paths)


def values_in_base_units(run: RunResult) -> dict[str, float | int | None]:
    """Return a run's metrics in base units; counts are integers."""
    return {name: metric_named(name).stored(value) for name, value in run.metrics.items()}


EXPORTS: Mapping[str, Callable[[RunData], Iterator[str]]] = {
    "csv": to_csv,
    "json": to_json,
    "iperf3": to_iperf3,
    "har": to_har,
    "qlog": to_qlog,
}
"""For each value of `--format`, the function that exports it."""
