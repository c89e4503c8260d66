"""Metrics of runs with several connections and transfers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from netwarp.metrics import MAIN_METRICS, METRICS, failure_from_records, metrics_from_records
from netwarp.wire import (
    Calibration,
    Connection,
    GaveUp,
    Job,
    OfWorkload,
    Record,
    Transfer,
    job_from_json,
    read_records,
)
from support import bulk

GOLDEN = Path(__file__).parents[1] / "golden"
MS = 1_000_000


def job(**workload: Any) -> Job:
    """Give the golden job another workload."""
    golden = job_from_json((GOLDEN / "job-bulk-quic.json").read_text())
    return golden.with_only(workload=golden.only.workload.model_copy(update=workload))


def records(transfers: int, chunks: int) -> list[Record]:
    """Write down transfers of a content in chunks, each on a connection of its own.

    Transfer t begins at 1000·t ms; connection i of it starts at 10·i ms, is connected 100 ms later
    and has its chunk after another 100 ms.
    """
    golden = read_records(GOLDEN / "records-bulk-quic.jsonl")
    size_bytes = bulk(job()).content.size_bytes
    made: list[Record] = []
    for each in golden:
        if not isinstance(each, Connection | Transfer):
            made.append(each)
            continue
        for transfer in range(transfers):
            for chunk in range(chunks):
                start_ns = (1000 * transfer + 10 * chunk) * MS
                changes: dict[str, Any] = {"connection": transfer * chunks + chunk}
                if isinstance(each, Connection):
                    changes |= {"start_ns": start_ns, "connected_ns": start_ns + 100 * MS}
                else:
                    changes |= {"chunk": chunk, "bytes": size_bytes // chunks}
                    changes |= {"first_byte_ns": start_ns + 150 * MS}
                    changes |= {"last_byte_ns": start_ns + 200 * MS}
                made.append(each.model_copy(update=changes | {"transfer": transfer}))
    return made


def test_times_are_those_of_the_last_transfer_over_all_its_connections() -> None:
    found = metrics_from_records(job(chunks=4, transfers=3), records(3, 4))
    assert found["connect_time_s"] == pytest.approx(0.130)
    assert found["first_byte_s"] == pytest.approx(0.150)
    assert found["completion_time_s"] == pytest.approx(0.230)
    assert found["goodput_bit_s"] == pytest.approx(8 * 10_000_000 / 0.230)


def test_counters_of_the_stacks_are_those_of_the_last_transfer() -> None:
    one = metrics_from_records(job(), records(1, 1))["retransmitted_packets"]
    many = metrics_from_records(job(chunks=4, transfers=3), records(3, 4))
    assert many["retransmitted_packets"] == 4 * one


def test_the_packet_volume_is_both_directions_of_the_whole_run() -> None:
    made = records(2, 1)
    counted = [each for each in made if isinstance(each, Calibration)]
    found = metrics_from_records(job(transfers=2), made)
    assert found["wire_packets_total"] == sum(each.offered_packets for each in counted)
    assert found["wire_bytes_total"] == sum(each.offered_bytes or 0 for each in counted)
    span_s = 1.2
    down_bits = sum(8 * each.delivered_bytes for each in counted if each.direction == "down")
    assert found["path_rate_down_bit_s"] == pytest.approx(down_bits / span_s)


def test_a_chunk_that_is_missing_or_not_what_was_sent_fails_the_run() -> None:
    made = records(1, 2)
    whole = job(chunks=2)
    assert failure_from_records(whole, made) is None
    received = [each for each in made if isinstance(each, Transfer) and each.side == "client"]
    missing = failure_from_records(whole, [each for each in made if each is not received[1]])
    assert missing is not None
    assert "the client recorded 5000000 of 10000000 bytes" in missing.message
    changed = received[1].model_copy(update={"sha256": "0" * 64})
    spoilt = [changed if each is received[1] else each for each in made]
    failure = failure_from_records(whole, spoilt)
    assert failure is not None
    assert "not what was sent" in failure.message


def test_goodput_after_connecting_leaves_the_handshakes_out() -> None:
    found = metrics_from_records(job(chunks=4, transfers=3), records(3, 4))
    assert found["transfer_goodput_bit_s"] == pytest.approx(8 * 10_000_000 / (0.230 - 0.130))


def test_a_metric_is_one_entry() -> None:
    """What tables, axes and documents say of a metric comes from its entry, and from there only."""
    for name, metric in METRICS.items():
        assert metric.name == name
        assert metric.title
        assert metric.source
        assert {each.removeprefix("*.") for each in metric.beside or ()} <= set(METRICS)
    assert MAIN_METRICS[0] == "completion_time_s"


@pytest.mark.parametrize(
    ("delivered", "corrupt_ratio", "failed"), [(7, 0, False), (8, 0, True), (8, 1, False)]
)
def test_giving_up_is_a_result_only_where_the_path_lost_something(
    delivered: int, corrupt_ratio: float, failed: bool
) -> None:
    """What a checksum has the receiver drop has been delivered, but not to the transport."""
    job = job_from_json((GOLDEN / "job-bulk-quic.json").read_text())
    path = job.paths[0]
    corrupting = path.up.model_copy(update={"corrupt_ratio": corrupt_ratio})
    job = job.model_copy(update={"paths": (path.model_copy(update={"up": corrupting}),)})
    records = [
        each.model_copy(update={"offered_packets": 8, "delivered_packets": delivered})
        if isinstance(each, Calibration)
        else each
        for each in read_records(GOLDEN / "records-bulk-quic.jsonl")
    ]
    gave_up = GaveUp(record="gave_up", side="client", at_ns=1, cause="dialling timed out")
    failure = failure_from_records(job, [*records[:-1], gave_up, records[-1]])
    assert (failure is not None) == failed
    assert failure is None or failure.message == (
        "dialling timed out, on a path that delivered all packets"
    )


def test_a_connection_that_a_nat_has_forgotten_is_a_result_on_a_path_that_lost_nothing() -> None:
    job = job_from_json((GOLDEN / "job-nat.json").read_text())
    records = read_records(GOLDEN / "records-bulk-quic.jsonl")
    delivered = [
        each.model_copy(update={"offered_packets": 8, "delivered_packets": 8})
        for each in records
        if isinstance(each, Calibration)
    ]
    gave_up = GaveUp(record="gave_up", side="client", at_ns=1, cause="reset by peer")
    told = [
        OfWorkload(record="of_workload", workload=each.name or "", line=gave_up)
        for each in job.workloads
    ]
    assert failure_from_records(job, [*delivered, *told, records[-1]]) is None


def test_of_an_upload_that_was_broken_off_the_server_may_not_know_all_chunks() -> None:
    """The client's time may be over before its requests have arrived, though it was connected."""
    upload = job(chunks=4, duration_ns=100 * MS)
    upload = upload.with_only(workload=bulk(upload).model_copy(update={"direction": "up"}))
    both = records(1, 4)
    known = [each for each in both if not isinstance(each, Transfer)]
    at_server = [each for each in both if isinstance(each, Transfer) and each.side == "server"]
    assert failure_from_records(upload, [*known[:-1], *at_server[:2], known[-1]]) is None
    assert failure_from_records(upload, known) is None
    assert metrics_from_records(upload, known)["goodput_bit_s"] == 0
    failure = failure_from_records(upload, [*known[:-1], *at_server[:1] * 2, known[-1]])
    assert failure is not None
    assert failure.message == "the server recorded 2 of 4 chunks"
