"""Programs that do what the QUIC interop runner asks of endpoints, raced and found out."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from netwarp.backends.virtual import VirtualBackend
from netwarp.execution import Outcome, run_job
from netwarp.interop.run import is_unsupported
from netwarp.metrics import metrics_from_records
from netwarp.plan import plan_study
from netwarp.run_directory import RECORDS_FILE
from netwarp.stacks import find_stack, missing_program
from netwarp.study.study import study_from_mapping
from netwarp.wire import Job, read_records

PROGRAMS = Path(__file__).with_name("interop")
SIZE_BYTES = 5_001


def job_of(program: str, **path: Any) -> Job:
    return job_of_stack({"interop": program}, **path)


def job_of_stack(stack: dict[str, Any], **path: Any) -> Job:
    tables = {
        "title": "A file by the interop runner's contract",
        "replicates": 1,
        "path": {"rtt": "20ms", "rate": "10mbit", **path},
        "transport": {"kind": "quic", "stack": stack},
        "workload": {"kind": "bulk", "size": f"{SIZE_BYTES}B"},
        "limits": {"virtual_s": 30},
    }
    (planned,) = plan_study(study_from_mapping(tables))
    return planned.job


def run(program: str, directory: Path, **path: Any) -> Outcome:
    return run_job(VirtualBackend(), job_of(program, **path), directory)


def test_a_file_is_timed_by_the_process_and_by_the_wire(tmp_path: Path) -> None:
    program = str(PROGRAMS / "right.sh")
    records = []
    for name in ("first", "second"):
        outcome = run(program, tmp_path / name)
        assert not outcome.failed, outcome.status.reason
        records.append((tmp_path / name / RECORDS_FILE).read_bytes())
    assert records[0] == records[1]
    metrics = metrics_from_records(job_of(program), read_records(tmp_path / "first" / RECORDS_FILE))
    # A request goes up and 5 001 bytes come down, at 10 Mbit/s in six packets with headers of 42.
    wire_s = 0.020 + 8 * (SIZE_BYTES + 6 * 42) / 10e6
    assert metrics["wire_time_s"] == pytest.approx(wire_s, abs=0.0005)
    assert metrics["wire_time_s"] < metrics["completion_time_s"]
    assert metrics["goodput_bit_s"] == pytest.approx(8 * SIZE_BYTES / metrics["completion_time_s"])
    assert "connect_time_s" not in metrics


def test_the_servers_certificate_is_verified_by_openssl(tmp_path: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("no openssl: `apt-get install openssl`")
    outcome = run(str(PROGRAMS / "verified.sh"), tmp_path / "run")
    assert not outcome.failed, outcome.status.reason


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("wrong-bytes", "left a file whose SHA-256 is"),
        ("unsupported", "does not support the test case"),
        ("hangs", "was not over after 30"),
        ("leaves-nothing", "left no /downloads/content"),
        ("takes-it", "No such file or directory: '/www/content'"),
    ],
)
def test_a_wrong_endpoint_is_found_out(tmp_path: Path, program: str, reason: str) -> None:
    outcome = run(str(PROGRAMS / f"{program}.sh"), tmp_path / "run")
    assert outcome.failed
    assert reason in str(outcome.status.reason)
    assert is_unsupported(tmp_path / "run") == (program == "unsupported")


@pytest.mark.parametrize("name", ["quic-go", "quiche"])
def test_a_shipped_stack_races_this_way_too(tmp_path: Path, name: str) -> None:
    stack = find_stack(name)
    missing = missing_program(stack.name, stack.program)
    if missing is not None or not stack.interop:
        pytest.skip(missing or f"the {name} that is built here is an older one")
    outcome = run(name, tmp_path / "run", loss="2%")
    assert not outcome.failed, outcome.status.reason


PAIRS = [("quic-go", "quiche"), ("quiche", "quic-go")]


@pytest.mark.parametrize("contract", ["roles", "interop"])
@pytest.mark.parametrize(("client", "server"), PAIRS)
def test_two_stacks_talk_to_each_other(
    tmp_path: Path, client: str, server: str, contract: str
) -> None:
    for name in (client, server):
        stack = find_stack(name)
        missing = missing_program(stack.name, stack.program)
        if missing is not None or not stack.interop:
            pytest.skip(missing or f"the {name} that is built here is an older one")
    ends: dict[str, Any] = {"client": client, "server": server}
    if contract == "interop":
        ends = {end: {"interop": name} for end, name in ends.items()}
    job = job_of_stack(ends, loss="2%")
    outcome = run_job(VirtualBackend(), job, tmp_path / "run")
    assert not outcome.failed, outcome.status.reason
    assert not (tmp_path / "run" / "client-end").exists()
    metrics = metrics_from_records(job, read_records(tmp_path / "run" / RECORDS_FILE))
    assert metrics["completion_time_s"] > 0.020
    assert ("connect_time_s" in metrics) == (contract == "roles")
