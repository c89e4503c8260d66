"""Results ↔ `results.parquet`: one row per run.

The columns are run, cell, replicate, seed, the factors, outcome, reason, the metrics. The file
holds nothing that differs between two executions of one study with one seed. Only what reads or
writes it imports this module: polars takes longer to import than a table to print.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import polars as pl

from netwarp.errors import ResultError, RunDirectoryError
from netwarp.metrics import METRICS
from netwarp.results.results import Results, RunResult

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

RESULTS_FILE = "results.parquet"

_LEADING = {"run": pl.String, "cell": pl.UInt32, "replicate": pl.UInt32, "seed": pl.UInt64}
_MIDDLE = {"outcome": pl.String, "reason": pl.String}


def to_frame(results: Results) -> pl.DataFrame:
    """Write results as a table; the columns are in the order of the module's description."""
    factors = list(results.factors)
    metrics = sorted({name for run in results.runs for name in run.metrics})
    schema = {
        **_LEADING,
        **dict.fromkeys(factors, pl.String),
        **_MIDDLE,
        **{name: pl.Int64 if _is_whole(name) else pl.Float64 for name in metrics},
    }
    rows = [
        [run.run, run.cell, run.replicate, run.seed]
        + [run.factors[factor] for factor in factors]
        + [run.outcome, run.reason]
        + [_stored(name, run.metrics.get(name)) for name in metrics]
        for run in results.runs
    ]
    return pl.DataFrame(rows, schema=schema, orient="row")


def _is_whole(name: str) -> bool:
    metric = METRICS.get(name)
    return metric is not None and metric.is_whole


def _stored(name: str, value: float | None) -> float | int | None:
    return int(value) if value is not None and _is_whole(name) else value


def from_frame(frame: pl.DataFrame, source: str = "table") -> Results:
    """Read a table back.

    Raises:
        ResultError: a column is missing; the message names `source`.
    """
    missing = [name for name in (*_LEADING, *_MIDDLE) if name not in frame.columns]
    if missing:
        raise ResultError(f"{source} is no table of results: it has no column {missing[0]!r}")
    columns = frame.columns
    factors = columns[len(_LEADING) : columns.index("outcome")]
    metrics = columns[columns.index("reason") + 1 :]
    return Results(tuple(_row(row, factors, metrics) for row in frame.iter_rows(named=True)))


def _row(row: dict[str, Any], factors: Sequence[str], metrics: Sequence[str]) -> RunResult:
    return RunResult(
        run=row["run"],
        cell=row["cell"],
        replicate=row["replicate"],
        seed=row["seed"],
        factors={factor: row[factor] for factor in factors},
        outcome=row["outcome"],
        reason=row["reason"],
        metrics={metric: row[metric] for metric in metrics},
    )


def write_results(results: Results, path: Path) -> None:
    """Write `results.parquet`: equal results give equal bytes, and no reader sees half a file.

    Raises:
        ResultError: the file cannot be written.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        to_frame(results).write_parquet(temporary, compression="zstd", statistics=False)
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise ResultError(f"cannot write {path}: {error}") from None


def read_results(path: Path) -> Results:
    """Read `results.parquet`.

    Raises:
        RunDirectoryError: there is none.
        ResultError: unreadable, or not a table of results.
    """
    try:
        frame = pl.read_parquet(path)
    except FileNotFoundError:
        raise RunDirectoryError(
            f"{path.parent} has no results (no {path.name}): name a directory that `netwarp run`"
            " made; `netwarp report DIR` makes the results of an interrupted one"
        ) from None
    except (OSError, pl.exceptions.PolarsError) as error:
        raise ResultError(f"cannot read {path}: {error}") from None
    return from_frame(frame, str(path))
