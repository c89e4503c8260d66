"""Jobs and records read, refused, and what is computed from them."""

import json
from pathlib import Path
from typing import Any

import pytest

from netwarp.errors import RecordError
from netwarp.metrics import METRICS, failure_from_records, metrics_from_records
from netwarp.wire import (
    Command,
    End,
    GaveUp,
    Record,
    Transfer,
    job_from_json,
    job_sha256,
    job_to_json,
    read_records,
)
from netwarp.wire.record import record_from_json
from older import in_format_1

GOLDEN = Path(__file__).parents[1] / "golden"
BULK_JOB = job_from_json((GOLDEN / "job-bulk-quic.json").read_text())
BULK_RECORDS = GOLDEN / "records-bulk-quic.jsonl"


def bulk_records() -> list[Record]:
    return read_records(BULK_RECORDS)


def test_the_hash_is_of_what_a_run_does_and_not_of_its_name() -> None:
    renamed = BULK_JOB.model_copy(update={"run": "c000-r00"})
    reseeded = BULK_JOB.model_copy(update={"seed": 7})
    assert job_sha256(renamed) == job_sha256(BULK_JOB)
    assert job_sha256(reseeded) != job_sha256(BULK_JOB)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 3}, "format: Input should be 2"),
        ({"surprise": 1}, "surprise: Extra inputs are not permitted"),
        ({"seed": -1}, "seed: Input should be greater than or equal to 0"),
        ({"paths": []}, "paths: "),
    ],
)
def test_what_is_not_a_job_is_refused_with_the_place(
    change: dict[str, object], message: str
) -> None:
    text = json.dumps(json.loads(job_to_json(BULK_JOB)) | change)
    with pytest.raises(RecordError, match=r"x\.json: not a job of format 2: ") as caught:
        job_from_json(text, "x.json")
    assert message in str(caught.value)


@pytest.mark.parametrize("key", ["start_date_s", "exact_coarse_clocks", "shared"])
def test_a_command_that_is_older_than_a_key_is_read(key: str) -> None:
    job = json.loads((GOLDEN / "job-command-line.json").read_text())
    del job["workloads"][0]["workload"][key]
    workload = job_from_json(json.dumps(job)).only.workload
    assert isinstance(workload, Command)
    assert (workload.start_date_s, workload.shared) == {
        "start_date_s": (1_767_225_600, False),
        "exact_coarse_clocks": (1_798_761_600, False),
        "shared": (1_798_761_600, True),
    }[key]


OLDER = (GOLDEN / "older-jobs.jsonl").read_text().splitlines()
"""Jobs as an older version wrote them. A key that is added to jobs changes none of these lines."""


@pytest.mark.parametrize("text", OLDER, ids=lambda text: json.loads(text)["run"])
def test_a_job_of_an_older_version_is_read_as_what_it_meant(text: str) -> None:
    written = in_format_1(json.loads(job_to_json(job_from_json(text))))
    assert kept(json.loads(text), written) == json.loads(text)


def test_a_job_of_an_older_version_has_the_hash_of_todays() -> None:
    for text in OLDER:
        job = job_from_json(text)
        assert job_sha256(job) == job_sha256(job_from_json(job_to_json(job)))


@pytest.mark.parametrize("change", [{"surprise": 1}, {"seed": -1}, {"port": "x"}])
def test_what_is_wrong_in_a_job_of_an_older_version_is_refused(change: dict[str, object]) -> None:
    text = json.dumps(json.loads(OLDER[0]) | change)
    with pytest.raises(RecordError, match=f"not a job of format 2: .*{next(iter(change))}"):
        job_from_json(text)


def kept(older: Any, newer: Any) -> Any:
    """Give what is left of a job without the keys that an older one does not have."""
    if isinstance(older, dict):
        return {key: kept(each, newer[key]) for key, each in older.items()}
    if isinstance(older, list):
        return [kept(*both) for both in zip(older, newer, strict=True)]
    return newer


def test_a_record_cut_short_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_text(BULK_RECORDS.read_text().rstrip("\n")[:-5])
    with pytest.raises(RecordError, match="cut short"):
        read_records(path)


def test_a_line_ends_at_a_line_feed_alone(tmp_path: Path) -> None:
    """JSON leaves these characters as they are, and a program may print them."""
    cause = "\u2028\u2029\u0085"
    gave_up = {"record": "gave_up", "side": "client", "at_ns": 1, "cause": cause}
    path = tmp_path / "records.jsonl"
    path.write_text(json.dumps(gave_up, ensure_ascii=False) + "\n")
    (read,) = read_records(path)
    assert isinstance(read, GaveUp)
    assert read.cause == cause


def test_a_line_without_end_is_not_held_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "records.jsonl"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(RecordError, match="a record of more than 64 MiB"):
        read_records(path)
    monkeypatch.setattr("netwarp.wire.record.MOST_BYTES", 1000)
    path.write_text(BULK_RECORDS.read_text())
    with pytest.raises(RecordError, match="more than the"):
        read_records(path)


def test_a_line_that_is_no_record_is_named(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_text(BULK_RECORDS.read_text() + '{"record": "surprise"}\n')
    line = len(BULK_RECORDS.read_text().splitlines()) + 1
    with pytest.raises(RecordError, match=f"records.jsonl:{line}: not a record"):
        read_records(path)


NOT_LIMITED = [f"limited_by_{limit}_ratio" for limit in ("application", "rwnd", "link")]


def test_metrics_come_from_the_receiver_the_sender_and_the_path() -> None:
    found = metrics_from_records(BULK_JOB, bulk_records())
    times = {name for name in found if name.startswith("time_in_")}
    assert sum(found[name] for name in times) == pytest.approx(1)
    metrics = {name: value for name, value in found.items() if name not in times}
    completion_ns = 13_200_000_000 - 1000
    assert metrics == {
        "connect_time_s": pytest.approx(0.10024036),
        "first_byte_s": pytest.approx(0.20048272),
        "completion_time_s": pytest.approx(completion_ns / 1e9),
        "longest_gap_s": pytest.approx(0.9),
        "wire_packets_total": 11_000,
        "wire_bytes_total": 11_270_000,
        "goodput_bit_s": pytest.approx(8 * 10_000_000 / (completion_ns / 1e9)),
        "transfer_goodput_bit_s": pytest.approx(
            8 * 10_000_000 / (completion_ns / 1e9 - 0.10024036)
        ),
        "retransmitted_packets": 371,
        "wire_packets_down": 7400,
        "wire_bytes_down": 11_000_000,
        "path_packets_down": 7400,
        "path_dropped_down": 370,
        "path_overflow_down": 0,
        "path_loss_down": pytest.approx(0.05),
        "path_rate_down_bit_s": pytest.approx(8 * 10_450_000 / (completion_ns / 1e9)),
        "wire_packets_up": 3600,
        "wire_bytes_up": 270_000,
        "path_packets_up": 3600,
        "path_dropped_up": 0,
        "path_overflow_up": 0,
        "path_loss_up": 0,
        "path_rate_up_bit_s": pytest.approx(8 * 270_000 / (completion_ns / 1e9)),
        "path_min_rtt_s": pytest.approx(0.10001888),
        "cpu_client_s": pytest.approx(0.6),
        "cpu_per_byte_client_ns": pytest.approx(60),
        # Fewer packets than the delay line of 50 ms holds: none queues.
        **{f"queue_delay_s_{share}": 0 for share in ("p50", "p95", "p99")},
        **{f"rtt_under_load_s_{share}": pytest.approx(0.1) for share in ("p50", "p95", "p99")},
        **{f"rtt_over_idle_s_{share}": 0 for share in ("p50", "p95", "p99")},
        "marked_packets": 34,
        # One of 25 ms the send buffer was empty; quinn paces.
        **dict.fromkeys(NOT_LIMITED, 0),
        "limited_by_sndbuf_ratio": pytest.approx(0.04),
        "limited_by_pacing_ratio": pytest.approx(0.48),
        "limited_by_cwnd_ratio": pytest.approx(0.48),
    }


def test_what_a_stack_cannot_say_is_missing_and_not_zero() -> None:
    metrics = metrics_from_records(BULK_JOB, bulk_records())
    assert "receive_window_limited_s" in METRICS
    assert "receive_window_limited_s" not in metrics


def test_a_complete_run_has_not_failed() -> None:
    assert failure_from_records(BULK_JOB, bulk_records()) is None


def test_a_recorded_failure_is_the_reason() -> None:
    records = read_records(GOLDEN / "records-failed.jsonl")
    failure = failure_from_records(BULK_JOB, records)
    assert failure is not None
    assert failure.stage == "limit"
    with pytest.raises(ValueError, match="86400 virtual seconds"):
        metrics_from_records(BULK_JOB, records)


def test_records_that_contradict_success_are_a_failure() -> None:
    complete = bulk_records()
    without_end = [record for record in complete if not isinstance(record, End)]
    short = [
        record.model_copy(update={"bytes": 9_999_999}) if isinstance(record, Transfer) else record
        for record in complete
    ]
    one_sided = [
        record
        for record in complete
        if not (isinstance(record, Transfer) and record.side == "client")
    ]
    forged = [
        record.model_copy(update={"sha256": "00"})
        if isinstance(record, Transfer) and record.side == "client"
        else record
        for record in complete
    ]
    for records, message in (
        ([], "stop before"),
        (without_end, "stop before"),
        (short, "9999999 of 10000000 bytes"),
        (one_sided, "the client recorded 0 of"),
        (forged, "SHA-256"),
    ):
        failure = failure_from_records(BULK_JOB, records)
        assert failure is not None
        assert message in failure.message


def test_a_record_of_any_length_is_refused_in_a_line() -> None:
    with pytest.raises(RecordError) as refused:
        record_from_json(json.dumps({"record": "9" * 5000 + "\x1b[2J"}))
    assert len(str(refused.value)) < 700
    assert str(refused.value).isprintable()
