"""Tables are written part by part: memory does not grow with them."""

from __future__ import annotations

import errno
import resource
import tracemalloc
import weakref
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import support
from netwarp.results import Results, parquet
from netwarp.results.parquet import to_frame, write_results, write_table

SCHEMA = {"run": pl.String, "value": pl.Float64}
PARTS = 60
ROWS = 500


class Parts:
    """Counts the parts of a table that are alive while it is written."""

    def __init__(self) -> None:
        self.alive: set[int] = set()
        self.most = 0

    def __iter__(self) -> Iterator[pl.DataFrame]:
        for number in range(PARTS):
            values = [number + row / ROWS for row in range(ROWS)]
            part = pl.DataFrame({"run": [f"r{number}"] * ROWS, "value": values}, schema=SCHEMA)
            self.alive.add(number)
            weakref.finalize(part, self.alive.discard, number)
            self.most = max(self.most, len(self.alive))
            yield part
            del part


def test_a_part_is_gone_before_the_next_ones_are_made(tmp_path: Path) -> None:
    parts = Parts()
    write_table(iter(parts), SCHEMA, tmp_path / "table.parquet", group_rows=ROWS)
    assert parts.most <= 3
    table = pl.read_parquet(tmp_path / "table.parquet")
    assert table.equals(pl.concat(iter(Parts())))


def peak_of_writing(results: Results, path: Path) -> int:
    """Measure the most memory of Python's objects that writing results takes, in bytes."""
    assert results.cells, "grouped once, and kept with the results"
    tracemalloc.start()
    write_results(results, path)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak_bytes


def test_ten_times_as_many_runs_take_no_more_memory_to_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "GROUP_ROWS", 100)
    few, many = support.results(replicates=20), support.results(replicates=200)
    write_results(few, tmp_path / "few")  # what is imported and cached at the first time
    few_bytes = peak_of_writing(few, tmp_path / "few")
    assert peak_of_writing(many, tmp_path / "many") < 1.5 * few_bytes
    assert pl.read_parquet(tmp_path / "many").equals(to_frame(many))


def test_a_full_disk_is_said_as_such_and_leaves_nothing(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(OSError, match="File too large") as raised:
            write_table(iter(Parts()), SCHEMA, tmp_path / "table.parquet", group_rows=ROWS)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert raised.value.errno == errno.EFBIG
    assert raised.value.filename == str(tmp_path / "table.parquet")
    assert list(tmp_path.iterdir()) == []
