"""Results → `results.parquet`: one row per run.

The columns are run, cell, replicate, seed, the factors, outcome, reason, the metrics. The file
holds nothing that differs between two executions of one study with one seed. Only what
writes it imports this module: polars takes longer to import than a table to print.
"""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

import polars as pl

from netwarp.metrics import metric_named
from netwarp.run_directory import write_bytes

if TYPE_CHECKING:
    from pathlib import Path

    from netwarp.results.results import Results

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
    return metric_named(name).is_whole


def _stored(name: str, value: float | None) -> float | int | None:
    return int(value) if value is not None and _is_whole(name) else value


def write_results(results: Results, path: Path) -> None:
    """Write `results.parquet`: equal results give equal bytes, and no reader sees half a file.

    Raises:
        OSError: the file cannot be written.
    """
    content = BytesIO()
    to_frame(results).write_parquet(content, compression="zstd", statistics=False)
    write_bytes(path, content.getvalue())
