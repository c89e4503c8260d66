"""A flow's metrics follow FlowMonitor's definitions, computed here by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from netwarp import wire
from netwarp.metrics import failure_from_records, metrics_from_records
from netwarp.wire.flow import FlowUnit
from support import GOLDEN, job_of

FLOW = {"kind": "flow", "direction": "up", "payload": "100B", "interval": "1ms", "count": 10}
JOB = job_of({"kind": "udp", "model": "ns3", "label": "udp"}, workload=FLOW)
"""A job of which nobody expects records of connections."""


def stats(unit: FlowUnit, **changes: Any) -> wire.FlowStats:
    """Sum up four of ten packets, of 128 bytes each, with delays of 5, 7, 4 and 8 ms."""
    fields: dict[str, Any] = {
        "record": "flow_stats",
        "unit": unit,
        "direction": "up",
        "sent": None,
        "received": 4,
        "received_bytes": 512,
        "first_received_ns": 5_000_000,
        "last_received_ns": 17_000_000,
        "delay_sum_ns": 24_000_000,
        "jitter_sum_ns": 2_000_000 + 3_000_000 + 4_000_000,
        "rfc3550_jitter_ns": 540_000,
        "reordered": 1,
        "duplicates": 2,
        "delay_quantiles_ns": tuple(
            [5_000_000] * 251 + [6_000_000] * 250 + [7_000_000] * 250 + [8_000_000] * 250
        ),
    }
    return wire.FlowStats(**fields | changes)


def run(*found: wire.FlowStats) -> list[wire.Record]:
    sent = wire.FlowSent(
        record="flow_sent",
        side="client",
        messages=10,
        bytes=1000,
        first_ns=0,
        last_ns=9_000_000,
        late_ns_max=700,
    )
    return [sent, *found, wire.End(record="end", virtual_ns=20_000_000, failure=None)]


def measured(records: Sequence[wire.Record]) -> dict[str, float]:
    assert failure_from_records(JOB, records) is None
    return metrics_from_records(JOB, records)


def test_packets_are_measured_as_flow_monitor_does() -> None:
    found = measured(run(stats("packet"), stats("message", received_bytes=400)))
    assert found["throughput_bit_s"] == pytest.approx(8 * 512 / 0.012)
    assert found["delay_mean_s"] == pytest.approx(0.006)
    assert found["jitter_mean_s"] == pytest.approx(0.009 / 4), "divided by packets, not differences"
    assert found["lost_packets"] == 6
    assert found["loss_ratio"] == pytest.approx(0.6)
    assert found["reordered_packets"] == 1
    assert found["reordered_packets_ratio"] == pytest.approx(0.25)
    assert found["duplicate_packets"] == 2
    assert found["jitter_rfc3550_s"] == pytest.approx(0.00054)
    assert found["delay_s_p50"] == pytest.approx(0.006)
    assert found["delay_s_p99"] == found["delay_s_max"] == pytest.approx(0.008)
    assert found["message_throughput_bit_s"] == pytest.approx(8 * 400 / 0.012)
    assert found["lateness_s_max"] == pytest.approx(7e-7)


def test_whoever_counts_what_was_sent_is_believed() -> None:
    found = measured(run(stats("packet", sent=40), stats("message")))
    assert (found["lost_packets"], found["lost_messages"]) == (36, 6)


def test_what_cannot_be_said_is_missing() -> None:
    unseen = {"rfc3550_jitter_ns": None, "reordered": None, "duplicates": None}
    found = measured(run(stats("packet", **unseen, delay_quantiles_ns=())))
    missing = {"jitter_rfc3550_s", "reordered_packets", "duplicate_packets", "delay_s_p50"}
    assert not missing & set(found)
    assert not [name for name in found if name.startswith("message_")]
    one = {"received": 1, "last_received_ns": 5_000_000}
    assert "throughput_bit_s" not in measured(run(stats("packet", **one)))


@pytest.mark.parametrize(
    ("records", "reason"),
    [
        (run(), "1 senders and 0 receivers"),
        (run(stats("message", received=11)), "11 messages arrived of 10"),
    ],
)
def test_records_that_cannot_be_fail_the_run(records: list[wire.Record], reason: str) -> None:
    failure = failure_from_records(JOB, records)
    assert failure is not None
    assert reason in failure.message


def test_no_message_at_all_is_a_result() -> None:
    nothing = {"first_received_ns": None, "last_received_ns": None, "delay_quantiles_ns": ()}
    found = measured(run(stats("packet", received=0, received_bytes=0, **nothing)))
    assert (found["lost_packets"], found["loss_ratio"]) == (10, 1)
    assert not {"mean_delay_s", "throughput_bit_s"} & set(found)


def test_a_flow_has_no_goodput_and_no_completion_time() -> None:
    found = measured(run(stats("packet"), stats("message")))
    assert not {"goodput_bit_s", "completion_time_s"} & set(found)


def between_clocks(uncertainty_ns: int | None) -> wire.PathMeasurement:
    (before, *_) = (
        each
        for each in wire.read_records(GOLDEN / "records-remote.jsonl")
        if isinstance(each, wire.PathMeasurement)
    )
    return before.model_copy(update={"clock_uncertainty_ns": uncertainty_ns})


@pytest.mark.parametrize(("uncertainty_ns", "is_given"), [(None, True), (500_000, True),
                                                          (700_000, False)])  # fmt: skip
def test_delays_between_two_clocks_are_given_where_these_are_known_to_a_tenth(
    uncertainty_ns: int | None, is_given: bool
) -> None:
    """The mean is 6 ms, the 99th percentile 8 ms: ±0.7 ms is good enough for the latter alone."""
    *records, end = run(stats("message"))
    found = metrics_from_records(JOB, [*records, between_clocks(uncertainty_ns), end])
    assert ("message_delay_mean_s" in found) == is_given
    assert "message_delay_s_p99" in found
    assert found["message_jitter_mean_s"] == pytest.approx(9e-3 / 4)
    assert found["message_throughput_bit_s"] > 0
