"""What the bottleneck sent after its last sample, and counters of connections that were left."""

from __future__ import annotations

import pytest

from netwarp.measure.bottleneck import Bottleneck
from netwarp.measure.run_records import RunRecords
from netwarp.metrics import METRICS
from netwarp.wire import (
    Calibration,
    Connection,
    QueueSamples,
    job_from_json,
    read_records,
)
from netwarp.workloads import workload_of
from support import GOLDEN

JOB = job_from_json((GOLDEN / "job-bulk-quic.json").read_text())
RECORDS = list(read_records(GOLDEN / "records-bulk-quic.jsonl"))


def test_what_was_sent_after_the_last_sample_is_spread_until_the_end() -> None:
    first = next(
        each for each in RECORDS if isinstance(each, QueueSamples) and each.direction == "down"
    )
    counted = next(
        each for each in RECORDS if isinstance(each, Calibration) and each.direction == "down"
    )
    begin_ns = first.at_ns[0]
    columns = ("at_ns", "sent_bytes", "backlog_bytes", "backlog_packets", "dropped_packets",
               "marked_packets")  # fmt: skip
    cut = first.model_copy(update={name: getattr(first, name)[:1] for name in columns})
    found = Bottleneck.of(JOB, [cut, counted], begin_ns + 1000)
    assert found is not None
    whole = found.busy_ns(begin_ns, begin_ns + 1000)
    assert found.busy_ns(begin_ns, begin_ns + 250) == pytest.approx(whole / 4)
    assert found.busy_ns(begin_ns + 250, begin_ns + 1000) == pytest.approx(3 * whole / 4)
    assert found.busy_ns(begin_ns + 1000, begin_ns + 2000) == 0
    assert whole > 0


def test_counters_are_missing_where_a_connection_that_was_left_has_none() -> None:
    dialled = next(
        each for each in RECORDS if isinstance(each, Connection) and each.side == "client"
    )
    left = dialled.model_copy(update={"abandoned": True})
    measure = METRICS["retransmitted_packets"].measure
    assert measure(RunRecords(JOB, RECORDS, workload_of(JOB))) is not None
    assert measure(RunRecords(JOB, [*RECORDS, left], workload_of(JOB))) is None
