"""Means over the second half of a run, against samples written by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from netwarp.measure.run_records import RunRecords
from netwarp.metrics import METRICS
from netwarp.metrics.second_half import mean_between
from netwarp.wire import (
    Calibration,
    Connection,
    ConnectionSamples,
    QueueSamples,
    Record,
    job_from_json,
    read_records,
)
from netwarp.workloads import workload_of

COLUMNS = (
    "at_ns", "sent_bytes", "backlog_bytes", "backlog_packets", "dropped_packets", "marked_packets",
)  # fmt: skip
GOLDEN = Path(__file__).parents[1] / "golden"


def test_a_mean_over_time_weights_samples_by_their_distance() -> None:
    # 10 for 1 s, then 30 for 9 s, with a jump between: not the mean of the samples, 20.
    times, values = (0, 10, 11, 100), (10, 10, 30, 30)
    assert mean_between(times, values, 0, 100) == pytest.approx((100 + 20 + 89 * 30) / 100)
    assert mean_between(times, values, 5, 100) == pytest.approx((50 + 20 + 89 * 30) / 95)
    assert mean_between(times, values, 50, 200) == pytest.approx(30), "known until 100"
    assert mean_between(times, values, 100, 200) is None, "nothing is known there"
    assert mean_between((7, 7), (10, 30), 0, 100) is None, "nor are two at one instant"


def test_the_window_of_the_second_half_is_in_packets_of_the_sender() -> None:
    job = job_from_json((GOLDEN / "job-bulk-quic.json").read_text())
    records = list(read_records(GOLDEN / "records-bulk-quic.jsonl"))
    mine = next(
        each for each in records if isinstance(each, ConnectionSamples) and each.side == "server"
    )
    (sending,) = (
        each for each in records if isinstance(each, Connection) and each.side == "server"
    )
    (receiving,) = (
        each for each in records if isinstance(each, Connection) and each.side == "client"
    )
    start_ns = receiving.start_ns
    end_ns = max(each.last_byte_ns for each in records if hasattr(each, "last_byte_ns"))
    mss = sending.settings.mss_bytes
    quarter = (end_ns - start_ns) // 4
    at_ns = tuple(start_ns + step * quarter for step in (0, 1, 2, 3, 4))
    windows = (900 * mss, 900 * mss, 10 * mss, 20 * mss, 10 * mss)
    changed = mine.model_copy(update={"at_ns": at_ns, "cwnd_bytes": windows})
    altered = [changed if each is mine else each for each in records]
    metric = METRICS["cwnd_packets_second_half"]
    found = metric.measure(RunRecords(job, altered, workload_of(job)))
    assert found == pytest.approx(15, rel=0.01), "900 is of the first half"
    assert metric.stored(found) == found, "a mean has decimals"


def test_the_flight_size_is_what_passes_the_bottleneck_in_a_round_trip_time() -> None:
    job = job_from_json((GOLDEN / "job-bulk-quic.json").read_text())
    path = job.paths[0]
    ways = {
        way: getattr(path, way).model_copy(update={"rate_bit_s": None, "delay_ns": 50_000_000})
        for way in ("down", "up")
    }
    job = job.model_copy(update={"paths": (path.model_copy(update=ways),)})
    records: list[Record] = []
    for each in read_records(GOLDEN / "records-bulk-quic.jsonl"):
        if isinstance(each, Calibration) and each.direction == "down":
            counts = {"delivered_packets": 100, "delivered_bytes": 120_000}
            records.append(each.model_copy(update=counts))
        elif not isinstance(each, QueueSamples):
            records.append(each)
    start_ns, end_ns = RunRecords(job, records, workload_of(job)).span_ns
    at_ns = tuple(start_ns + step * (end_ns - start_ns) // 4 for step in range(5))
    # 9 MB in the first half, then 2 MB in each quarter, of which three packets are dropped.
    seen = QueueSamples(
        record="queue_samples", path=0, direction="down", at_ns=at_ns,
        sent_bytes=(0, 4_000_000, 9_000_000, 11_000_000, 13_000_000),
        backlog_bytes=(0,) * 5, backlog_packets=(0,) * 5,
        dropped_packets=(0, 7, 7, 9, 10), marked_packets=(0,) * 5,
    )  # fmt: skip
    flight = METRICS["flight_packets_second_half"].measure
    packets = 4_000_000 / 1_200 + 3
    found = flight(RunRecords(job, [*records, seen], workload_of(job)))
    assert found == pytest.approx(packets * 0.1e9 / ((end_ns - start_ns) / 2), rel=1e-6)
    assert flight(RunRecords(job, records, workload_of(job))) is None, "nothing was sampled"
    # Without the last sample what is known ends a quarter earlier.
    cut = seen.model_copy(update={name: getattr(seen, name)[:-1] for name in COLUMNS})
    found = flight(RunRecords(job, [*records, cut], workload_of(job)))
    packets = 2_000_000 / 1_200 + 2
    assert found == pytest.approx(packets * 0.1e9 / ((end_ns - start_ns) / 4), rel=1e-6)
