"""Writes Parquet files part by part, so that memory use does not grow with the table."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, cast

import polars as pl
from polars.io.plugins import register_io_source

from netwarp.run_files import replaced


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
        sink = _Sink(file)
        try:
            table.sink_parquet(
                cast("IO[bytes]", sink),
                compression="zstd",
                statistics=False,
                row_group_size=group_rows,
            )
        except pl.exceptions.ComputeError:
            if sink.error is not None:
                raise sink.error from None
            raise


class _Sink(io.RawIOBase):
    """A file that keeps the error of a failed write, of which polars passes on only the text."""

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__()
        self._file = file
        self.error: OSError | None = None

    def writable(self) -> bool:
        """Tell polars that the file can be written to."""
        return True

    def write(self, content: Any) -> int:
        """Write all bytes, and keep an error."""
        try:
            return self._file.write(content)
        except OSError as error:
            self.error = error
            raise
