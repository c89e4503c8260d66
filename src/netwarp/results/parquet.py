"""Writes `results.parquet`, one row per run, and `packets.parquet`, one row per arrived message.

The columns of the results are run, cell, replicate, seed, the factors, outcome, reason and the
metrics; they are equal in two executions of a study with the same seed. The columns of the packets
are run, the factors, and those of the runs' `packets.csv`: one file for all runs can be read by
pandas, polars and R in one call, and takes a tenth of the tables' size.

Both are written part by part, so that memory use does not grow with the table. Import this module
only to write them: importing polars takes longer than printing a table.
"""

from __future__ import annotations

import io
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

import polars as pl
from polars.io.plugins import register_io_source

from netwarp.errors import RecordError, one_line
from netwarp.metrics import metric_named
from netwarp.results.results import Results, RunResult
from netwarp.run_directory import JOB_FILE
from netwarp.run_files import read_text, replaced, require_regular
from netwarp.wire import job_from_json

if TYPE_CHECKING:
    from netwarp.run_directory import RunDirectory


_LEADING = {"run": pl.String, "cell": pl.UInt32, "replicate": pl.UInt32, "seed": pl.UInt64}
_MIDDLE = {"outcome": pl.String, "reason": pl.String}


GROUP_ROWS = 4096
"""Number of rows in a row group, which is kept in memory until it is complete."""


def to_frame(results: Results) -> pl.DataFrame:
    """Convert results to a table with the columns in the order that the module's documentation
    gives.
    """
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
    """Return the columns of the table with their types."""
    metrics = sorted({name for run in results.runs for name in run.metrics})
    return {
        **_LEADING,
        **dict.fromkeys(results.factors, pl.String),
        **_MIDDLE,
        **{name: pl.Int64 if metric_named(name).is_whole else pl.Float64 for name in metrics},
    }


def _frame(
    runs: Sequence[RunResult], factors: Iterable[str], schema: Mapping[str, Any]
) -> pl.DataFrame:
    """Return the table of some of the runs."""
    metrics = list(schema)[len(_LEADING) + len(list(factors)) + len(_MIDDLE) :]
    rows = [
        [run.run, run.cell, run.replicate, run.seed]
        + [run.factors[factor] for factor in factors]
        + [run.outcome, run.reason]
        + [metric_named(name).stored(run.metrics.get(name)) for name in metrics]
        for run in runs
    ]
    return pl.DataFrame(rows, schema=schema, orient="row")


NUMBERS = ("number", "due_ns", "sent_ns", "received_ns", "bytes")
"""Columns of a run's table: message number, three times in ns of the run's clock, size in bytes."""
GROUP_PACKETS = 1 << 17
"""Number of rows in a row group; it is kept in memory together with the rows of one run."""


def write_packets(results: Results, directory: RunDirectory) -> None:
    """Write `packets.parquet` beside the results, if any run wrote a table that its job asked for.

    A table that is damaged is left out, with a warning.

    Raises:
        OSError: the file cannot be written.
    """
    found = [
        (run, path)
        for run in results.runs
        if run.outcome == "ok"
        and (path := directory.packets_of(run.run)) is not None
        and _is_asked_for(path)
    ]
    if not found:
        return
    texts = dict.fromkeys(["run", *results.factors], pl.String)
    schema = {**texts, **dict.fromkeys(NUMBERS, pl.UInt64)}
    write_table(
        (frame for each in found if (frame := _packets_frame(*each)) is not None),
        schema, directory.packets_file, GROUP_PACKETS,
    )  # fmt: skip


def _is_asked_for(table: Path) -> bool:
    """Return whether the job of a run asks for the table in the run's directory. Programs in a run
    could also create such a file.
    """
    try:
        job = job_from_json(read_text(table.with_name(JOB_FILE)), JOB_FILE)
    except (OSError, ValueError, RecordError):
        return False
    # Only workloads that can write such a table have the field.
    return any(getattr(each.workload, "packet_table", False) for each in job.workloads)


def _packets_frame(run: RunResult, path: Path) -> pl.DataFrame | None:
    about = [pl.lit(run.run).alias("run")]
    about += [pl.lit(level).alias(factor) for factor, level in run.factors.items()]
    try:
        require_regular(path)
        table = pl.read_csv(path, schema_overrides=dict.fromkeys(NUMBERS, pl.UInt64))
        return table.select(*about, *NUMBERS)
    except (OSError, pl.exceptions.PolarsError) as error:
        why = one_line(str(error).partition("\n")[0], 200)
        logging.getLogger("netwarp").warning(
            "warning: %s is damaged (%s) and left out: remove the directory of this run, and the"
            " command that made it does the run again", one_line(str(path)), why,
        )  # fmt: skip
        return None


def write_table(
    parts: Iterator[pl.DataFrame], schema: Mapping[str, Any], path: Path, group_rows: int
) -> None:
    """Write a table to a Parquet file atomically; equal tables give equal bytes.

    Args:
        parts: the table's rows; each part is requested when those before it have been written.
        schema: types by column.
        path: the file's path.
        group_rows: number of rows in a row group, which is compressed and written as a unit.

    Raises:
        OSError: the file cannot be written, or `parts` raised it.
    """
    table = register_io_source(lambda *_: parts, schema=dict(schema))
    with replaced(path) as file:
        target = _KeepsItsError(file)
        try:
            table.sink_parquet(
                cast("IO[bytes]", target),
                compression="zstd",
                statistics=False,
                row_group_size=group_rows,
            )
        except pl.exceptions.ComputeError:
            if target.error is not None:
                raise target.error from None
            raise


class _KeepsItsError(io.RawIOBase):
    """A file that stores the exception of a failed write, because polars returns only the text of
    it.
    """

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__()
        self._file = file
        self.error: OSError | None = None

    def writable(self) -> bool:
        """Return True, which tells polars that the file is writable."""
        return True

    def write(self, content: Any) -> int:
        """Write all bytes; store the exception if that fails."""
        try:
            return self._file.write(content)
        except OSError as error:
            self.error = error
            raise
