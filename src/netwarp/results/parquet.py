"""Writes the results as `results.parquet`, one row per run.

The columns are run, cell, replicate, seed, the factors, outcome, reason, the metrics. The file has
nothing that differs between two executions of one study with one seed. Import this module only to
write the file: importing polars takes longer than printing a table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from netwarp.metrics import metric_named
from netwarp.results.results import Results, RunResult
from netwarp.results.table_file import write_table

_LEADING = {"run": pl.String, "cell": pl.UInt32, "replicate": pl.UInt32, "seed": pl.UInt64}
_MIDDLE = {"outcome": pl.String, "reason": pl.String}


GROUP_ROWS = 4096
"""Rows of a row group, which is held in memory."""


def to_frame(results: Results) -> pl.DataFrame:
    """Convert results to a table with the columns in the order given above."""
    schema = _schema(results)
    return _frame(results.runs, results.factors, schema)


def write_results(results: Results, path: Path) -> None:
    """Write `results.parquet` atomically; equal results give equal bytes.

    Raises:
        OSError: the file cannot be written.
    """
    schema = _schema(results)
    parts = (
        _frame(results.runs[first : first + GROUP_ROWS], results.factors, schema)
        for first in range(0, len(results.runs), GROUP_ROWS)
    )
    write_table(parts, schema, path, GROUP_ROWS)


def _schema(results: Results) -> dict[str, Any]:
    metrics = sorted({name for run in results.runs for name in run.metrics})
    return {
        **_LEADING,
        **dict.fromkeys(results.factors, pl.String),
        **_MIDDLE,
        **{name: pl.Int64 if _is_whole(name) else pl.Float64 for name in metrics},
    }


def _frame(
    runs: Sequence[RunResult], factors: Iterable[str], schema: Mapping[str, Any]
) -> pl.DataFrame:
    metrics = list(schema)[len(_LEADING) + len(list(factors)) + len(_MIDDLE) :]
    rows = [
        [run.run, run.cell, run.replicate, run.seed]
        + [run.factors[factor] for factor in factors]
        + [run.outcome, run.reason]
        + [_stored(name, run.metrics.get(name)) for name in metrics]
        for run in runs
    ]
    return pl.DataFrame(rows, schema=schema, orient="row")


def _is_whole(name: str) -> bool:
    return metric_named(name).is_whole


def _stored(name: str, value: float | None) -> float | int | None:
    return int(value) if value is not None and _is_whole(name) else value
