"""Tables → Parquet files, part by part: what is in memory does not grow with the table."""

from __future__ import annotations

import io
from typing import IO, TYPE_CHECKING, Any, cast

import polars as pl
from polars.io.plugins import register_io_source

from netwarp.run_directory import replaced

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


def write_table(
    parts: Iterator[pl.DataFrame], schema: Mapping[str, Any], path: Path, group_rows: int
) -> None:
    """Write a table to a file: equal tables give equal bytes, and no reader sees half a file.

    Args:
        parts: its rows; a part is made when the ones before it are written.
        schema: types by column.
        path: of the file.
        group_rows: rows of a row group, which is compressed and written at once.

    Raises:
        OSError: the file cannot be written, or what `parts` raises.
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
    """A file that remembers why it could not be written: polars tells of it in a text alone."""

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__()
        self._file = file
        self.error: OSError | None = None

    def writable(self) -> bool:
        """Say that it is to be written to."""
        return True

    def write(self, content: Any) -> int:
        """Write all of it."""
        try:
            return self._file.write(content)
        except OSError as error:
            self.error = error
            raise
