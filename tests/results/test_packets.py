"""The tables of messages that runs wrote, as one file."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from netwarp.results import Results
from netwarp.results.parquet import write_packets
from netwarp.run_directory import RunDirectory
from netwarp.wire import Job, job_from_json, job_to_json
from support import GOLDEN, results

HEADER = "number,due_ns,sent_ns,received_ns,bytes\n"


def flow_job(*, packet_table: bool) -> Job:
    """Give the job of a flow that does or does not ask for its table."""
    job = job_from_json((GOLDEN / "job-flow-constant.json").read_text())
    flow = job.only.workload.model_copy(update={"packet_table": packet_table})
    return job.model_copy(update={"workloads": (job.only.model_copy(update={"workload": flow}),)})


def with_tables(place: Path, tables: dict[str, str]) -> tuple[Results, RunDirectory]:
    """Lay out tables of some runs of the shared example."""
    directory = RunDirectory(place)
    for run, text in tables.items():
        path = directory.run_path(run)
        path.mkdir(parents=True)
        (path / "packets.csv").write_text(HEADER + text)
        (path / "job.json").write_text(job_to_json(flow_job(packet_table=True)))
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


def test_a_damaged_table_is_left_out_and_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    found, directory = with_tables(
        tmp_path, {"c000-r00": "0,0,5,20000005,100\n", "c006-r02": "not,a,number,at,all\n"}
    )
    write_packets(found, directory)
    assert pl.read_parquet(directory.packets_file)["run"].to_list() == ["c000-r00"]
    assert "c006-r02/packets.csv is damaged" in caplog.text


def test_a_table_that_no_job_asked_for_is_not_taken(tmp_path: Path) -> None:
    found, directory = with_tables(tmp_path, {"c000-r00": "planted by a program\n"})
    job = directory.run_path("c000-r00") / "job.json"
    job.write_text(job_to_json(flow_job(packet_table=False)))
    write_packets(found, directory)
    assert not directory.packets_file.exists()
