"""The tables of messages that runs wrote on request → `packets.parquet`: a row per arrival.

The columns are run, the factors, and those of the runs' `packets.csv`. A file for all runs is what
pandas, polars and R read in one call; compressed, it is a tenth of the tables.
"""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

import polars as pl

from netwarp.run_directory import write_bytes

if TYPE_CHECKING:
    from netwarp.results.results import Results
    from netwarp.run_directory import RunDirectory


NUMBERS = ("number", "due_ns", "sent_ns", "received_ns", "bytes")
"""Columns of a run's table: which message, three times of the run's clock, and its size."""


def write_packets(results: Results, directory: RunDirectory) -> None:
    """Write `packets.parquet` beside the results; nothing where no run wrote a table.

    Raises:
        OSError: a table cannot be read, or the file cannot be written.
    """
    tables = []
    for run in results.runs:
        path = directory.packets_of(run.run)
        if run.outcome == "ok" and path is not None:
            about = [pl.lit(run.run).alias("run")]
            about += [pl.lit(level).alias(factor) for factor, level in run.factors.items()]
            table = pl.read_csv(path, schema_overrides=dict.fromkeys(NUMBERS, pl.UInt64))
            tables.append(table.select(*about, *NUMBERS))
    if not tables:
        return
    content = BytesIO()
    pl.concat(tables).write_parquet(content, compression="zstd", statistics=False)
    write_bytes(directory.packets_file, content.getvalue())
