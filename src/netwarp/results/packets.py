"""The tables of messages that runs wrote on request → `packets.parquet`: a row per arrival.

The columns are run, the factors, and those of the runs' `packets.csv`. A file for all runs is what
pandas, polars and R read in one call; compressed, it is a tenth of the tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from netwarp.results.table_file import write_table

if TYPE_CHECKING:
    from pathlib import Path

    from netwarp.results.results import Results, RunResult
    from netwarp.run_directory import RunDirectory

NUMBERS = ("number", "due_ns", "sent_ns", "received_ns", "bytes")
"""Columns of a run's table: which message, three times of the run's clock, and its size."""
GROUP_ROWS = 1 << 17
"""Rows that are in memory as a table at a time, beside one run's."""


def write_packets(results: Results, directory: RunDirectory) -> None:
    """Write `packets.parquet` beside the results; nothing where no run wrote a table.

    Raises:
        OSError: a table cannot be read, or the file cannot be written.
    """
    found = [
        (run, path)
        for run in results.runs
        if run.outcome == "ok" and (path := directory.packets_of(run.run)) is not None
    ]
    if not found:
        return
    texts = dict.fromkeys(["run", *results.factors], pl.String)
    schema = {**texts, **dict.fromkeys(NUMBERS, pl.UInt64)}
    write_table((_frame(*each) for each in found), schema, directory.packets_file, GROUP_ROWS)


def _frame(run: RunResult, path: Path) -> pl.DataFrame:
    about = [pl.lit(run.run).alias("run")]
    about += [pl.lit(level).alias(factor) for factor, level in run.factors.items()]
    table = pl.read_csv(path, schema_overrides=dict.fromkeys(NUMBERS, pl.UInt64))
    return table.select(*about, *NUMBERS)
