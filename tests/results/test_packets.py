"""The tables of messages that runs wrote, as one file."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from netwarp.results import Results
from netwarp.results.parquet import write_packets
from netwarp.run_directory import RunDirectory
from support import results

HEADER = "number,due_ns,sent_ns,received_ns,bytes\n"


def with_tables(place: Path, tables: dict[str, str]) -> tuple[Results, RunDirectory]:
    """Lay out tables of some runs of the shared example."""
    directory = RunDirectory(place)
    for run, text in tables.items():
        path = directory.run_path(run)
        path.mkdir(parents=True)
        (path / "packets.csv").write_text(HEADER + text)
    return results(failed_run="c000-r01"), directory


def test_all_arrivals_of_all_runs_are_in_one_table(tmp_path: Path) -> None:
    tables = {
        "c000-r00": "0,0,5,20000005,100\n2,40,40,30000040,100\n",
        "c000-r01": "0,0,0,1,100\n",
        "c006-r02": "1,7,18446744073709551615,9,24\n",
    }
    found, directory = with_tables(tmp_path, tables)
    write_packets(found, directory)
    table = pl.read_parquet(directory.packets_file)
    assert table.columns == [
        "run", "transport", "path.loss", "path.rtt",
        "number", "due_ns", "sent_ns", "received_ns", "bytes",
    ]  # fmt: skip
    assert table.rows() == [
        ("c000-r00", "tcp", "0%", "50ms", 0, 0, 5, 20000005, 100),
        ("c000-r00", "tcp", "0%", "50ms", 2, 40, 40, 30000040, 100),
        ("c006-r02", "tls", "0%", "50ms", 1, 7, 2**64 - 1, 9, 24),
    ], "a failed run's table is left out"


def test_without_tables_there_is_no_file_and_a_link_is_none(tmp_path: Path) -> None:
    found, directory = with_tables(tmp_path, {})
    path = directory.run_path("c000-r00")
    path.mkdir(parents=True)
    (tmp_path / "elsewhere").write_text(HEADER)
    (path / "packets.csv").symlink_to(tmp_path / "elsewhere")
    write_packets(found, directory)
    assert not directory.packets_file.exists()
