"""Which metrics a job's runs can have is known before they are run."""

from __future__ import annotations

from pathlib import Path

import pytest

from netwarp.metrics import metrics_from_records, metrics_until_failure, possible_metrics
from netwarp.wire import job_from_json, read_records

GOLDEN = Path(__file__).parents[1] / "golden"
PAIRS = {
    "job-bulk-quic": "records-bulk-quic",
    "job-command-file": "records-command",
    "job-competing": "records-competing",
    "job-flow-poisson": "records-flow",
    "job-rr": "records-rr",
    "job-stream-handovers": "records-stream",
}


@pytest.mark.parametrize(("job", "records"), PAIRS.items())
def test_what_a_run_has_was_possible(job: str, records: str) -> None:
    planned = job_from_json((GOLDEN / f"{job}.json").read_text())
    told = read_records(GOLDEN / f"{records}.jsonl")
    assert {*metrics_from_records(planned, told)} <= {*possible_metrics(planned)}


@pytest.mark.parametrize(
    ("job", "there", "absent"),
    [
        ("job-bulk-quic", "completion_time_s", "stall_s"),
        ("job-bulk-quic", "goodput_bit_s", "jain_index"),
        ("job-bulk-tcp-impaired", "connect_time_s", "page_load_time_s"),
        ("job-stream-tcp-bola", "stall_s", "completion_time_s"),
        ("job-stream-tcp-bola", "loading_delay_s", "handover_gap_s"),
        ("job-stream-handovers", "handover_gap_s", "transfer_goodput_bit_s"),
        ("job-page-programs", "page_load_time_s", "connect_time_s"),
        ("job-command-line", "run_time_s", "completion_time_s"),
        ("job-competing", "jain_index", "goodput_bit_s"),
    ],
)
def test_content_and_workload_decide(job: str, there: str, absent: str) -> None:
    possible = possible_metrics(job_from_json((GOLDEN / f"{job}.json").read_text()))
    assert there in possible
    assert absent not in possible


def test_a_failed_run_has_what_was_measured_until_then() -> None:
    job = job_from_json((GOLDEN / "job-command-line.json").read_text())
    counted = [
        each
        for each in read_records(GOLDEN / "records-bulk-quic.jsonl")
        if each.record == "calibration"
    ]
    whole = [*read_records(GOLDEN / "records-command.jsonl"), *counted]
    measured = metrics_until_failure(job, whole)
    assert measured["run_time_s"] > 0
    assert "wire_packets_up" in measured
    assert "throughput_bit_s" not in measured, "it was not printed"
    ran = [each for each in whole if each.record != "calibration"]
    assert {*metrics_until_failure(job, ran)} == {"run_time_s", "ready_time_s"}
    assert not metrics_until_failure(job, [each for each in whole if each.record == "start"])
