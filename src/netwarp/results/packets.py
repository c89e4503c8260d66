"""Joins the message tables of runs (`packets.csv`) into `packets.parquet`, one row per arrival.

The columns are run, the factors, and those of the runs' `packets.csv`. One file for all runs can be
read by pandas, polars and R in one call; compressed, it takes a tenth of the tables' size.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from netwarp.errors import ResultError, one_line
from netwarp.results.results import Results, RunResult
from netwarp.results.table_file import write_table

if TYPE_CHECKING:
    from netwarp.run_directory import RunDirectory

NUMBERS = ("number", "due_ns", "sent_ns", "received_ns", "bytes")
"""Columns of a run's table: message number, three times in ns of the run's clock, size in bytes."""
GROUP_ROWS = 1 << 17
"""Rows of a row group, which is held in memory beside the rows of one run."""


def write_packets(results: Results, directory: RunDirectory) -> None:
    """Write `packets.parquet` beside the results, if any run wrote a table.

    Raises:
        OSError: a table cannot be read, or the file cannot be written.
        ResultError: a table is damaged.
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
    try:
        table = pl.read_csv(path, schema_overrides=dict.fromkeys(NUMBERS, pl.UInt64))
        return table.select(*about, *NUMBERS)
    except pl.exceptions.PolarsError as error:
        why = one_line(str(error).partition("\n")[0], 200)
        raise ResultError(
            f"{path} is damaged ({why}): remove the directory of this run, and the command that"
            " made it does the run again"
        ) from None
