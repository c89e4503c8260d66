"""Real transfers on the host's kernel: whole, counted, their CPU time known, gone afterwards."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from native.conftest import AS_NOBODY
from netwarp.backends.native import HostCapabilities, NativeBackend, probe_host
from netwarp.backends.process_tree import descendants, is_alive
from netwarp.execution import run_job
from netwarp.metrics import metrics_from_records
from netwarp.plan import PlannedRun, plan_study
from netwarp.run_directory import JOB_FILE, RECORDS_FILE
from netwarp.study import study_from_mapping
from netwarp.wire import Calibration, Record, Start, Transfer, Usage, read_records

SIZE_BYTES = 5_000_000
TRANSPORTS = ("tcp", "tls", "quic")


@pytest.fixture(scope="module")
def backend() -> NativeBackend:
    backend = NativeBackend()
    if backend.capabilities.missing_path is not None:
        pytest.skip(f"this host allows no namespaces: {backend.capabilities.missing_path}")
    return backend


def planned(transport: str, size_bytes: int = SIZE_BYTES, **path: Any) -> PlannedRun:
    study = {
        "title": "native test",
        "replicates": 1,
        "path": {"mtu": 1500} | path,
        "transport": {"buffer": "200KiB"},
        "workload": {"kind": "bulk", "size": f"{size_bytes}B"},
        "factors": {"transport": [transport]},
    }
    return plan_study(study_from_mapping(study))[0]


def run_study(backend: NativeBackend, run: PlannedRun, directory: Path) -> list[Record]:
    outcome = run_job(backend, run.job, directory)
    assert not outcome.failed, outcome.status.reason
    return read_records(directory / RECORDS_FILE)


def expect_a_whole_transfer(run: PlannedRun, records: list[Record]) -> None:
    (start,) = (record for record in records if isinstance(record, Start))
    assert start.clock == "real"
    transfers = [record for record in records if isinstance(record, Transfer)]
    assert {record.bytes for record in transfers} == {SIZE_BYTES}
    hashes = {record.sha256 for record in transfers}
    assert len(hashes) == 1
    assert None not in hashes
    usages = {record.side: record for record in records if isinstance(record, Usage)}
    assert usages.keys() == {"client", "server"}
    for usage in usages.values():
        # Hashing alone takes more than a tenth of a nanosecond a byte on any CPU.
        assert usage.user_ns + usage.system_ns > SIZE_BYTES / 10
    metrics = metrics_from_records(run.job, records)
    assert metrics["cpu_per_byte_client_ns"] * SIZE_BYTES == pytest.approx(
        metrics["cpu_client_s"] * 1e9
    )


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_content_arrives_whole_and_cpu_time_is_counted(
    backend: NativeBackend, transport: str, tmp_path: Path
) -> None:
    run = planned(transport)
    assert backend.refuse(run.job, run.job_sha256) is None
    expect_a_whole_transfer(run, run_study(backend, run, tmp_path))


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_nobody_needs_to_be_root(transport: str, nobodys: Path) -> None:
    run = planned(transport)
    (nobodys / JOB_FILE).write_text(run.job_json)
    command = [*AS_NOBODY, str(nobodys / "endpoint"), "native", str(nobodys)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={})
    assert done.returncode == 0, done.stderr
    expect_a_whole_transfer(run, read_records(nobodys / RECORDS_FILE))


def test_packets_on_the_cable_are_single_and_all_counted(
    backend: NativeBackend, tmp_path: Path
) -> None:
    records = run_study(backend, planned("tcp"), tmp_path)
    counted = [record for record in records if isinstance(record, Calibration)]
    assert {record.direction for record in counted} == {"down", "up"}
    for record in counted:
        assert record.offered_packets == record.delivered_packets + record.dropped_packets
        assert record.offered_bytes is not None
        assert record.offered_bytes / record.offered_packets <= 1514


def test_what_the_host_cannot_do_is_refused_and_what_it_can_is_done(
    backend: NativeBackend, tmp_path: Path
) -> None:
    run = planned("tcp", rtt="10ms")
    reason = backend.refuse(run.job, run.job_sha256)
    if backend.capabilities.missing_netem is None:
        assert reason is None
        metrics = metrics_from_records(run.job, run_study(backend, run, tmp_path))
        assert metrics["path_min_rtt_s"] >= 0.010
    else:
        assert reason is not None
        assert "a delay" in reason
        assert "modprobe sch_netem" in reason


def test_the_program_runs_a_study_natively_and_says_medians(
    backend: NativeBackend, tmp_path: Path
) -> None:
    program = Path(sys.prefix) / "bin" / "netwarp"
    command = [str(program), "compare", "--backend", "native", "--transport", "tcp,tls",
               "--size", "1MB", "--replicates", "3", "--out", str(tmp_path / "out")]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "real time: medians" in " ".join(done.stdout.split())
    assert "±" not in done.stdout
    provenance = json.loads((tmp_path / "out" / "provenance.json").read_text())
    assert (provenance["backend"], provenance["clock"], provenance["jobs"]) == ("native", "real", 1)
    report = (tmp_path / "out" / "report.html").read_text()
    assert "Time is real" in report
    assert "Time is virtual" not in report


def test_killed_with_its_starter_nothing_is_left(backend: NativeBackend, tmp_path: Path) -> None:
    """`kill -9` of whoever started a run ends the orchestrator and both roles."""
    # Larger than any machine carries within the test.
    run = planned("tcp", size_bytes=10**12)
    (tmp_path / JOB_FILE).write_text(run.job_json)
    script = (
        "import sys; from pathlib import Path; from netwarp.backends.native import NativeBackend;"
        "from netwarp.wire.job import job_from_json;"
        "d = Path(sys.argv[1]); job = job_from_json((d / 'job.json').read_text(), 'job');"
        "NativeBackend().run(job, d, slot=0, on_progress=lambda s: print(s, flush=True))"
    )
    starter = subprocess.Popen(
        [sys.executable, "-c", script, tmp_path], stdout=subprocess.PIPE, text=True
    )
    assert starter.stdout is not None
    starter.stdout.readline()  # a second of the transfer is over: everybody is there
    family = list(descendants(starter.pid))
    assert len(family) == 3, family
    starter.send_signal(signal.SIGKILL)
    starter.wait()
    starter.stdout.close()
    deadline = time.monotonic() + 10
    while any(is_alive(pid) for pid in family):
        assert time.monotonic() < deadline, "a process of the run outlived its starter"
        os.sched_yield()


def test_abilities_are_found_by_anybody(nobodys: Path) -> None:
    endpoint = nobodys / "endpoint"
    answer = subprocess.run(
        [*AS_NOBODY, endpoint, "capabilities", "--json"], capture_output=True, text=True, check=True
    )
    found = HostCapabilities.from_json(json.loads(answer.stdout))
    assert found.rootless
    mine = probe_host(endpoint)
    assert not mine.rootless
    assert (found.kernel, found.missing_sctp) == (mine.kernel, mine.missing_sctp)
