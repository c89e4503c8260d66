"""Latencies of requests, against a list of them that is computed here by hand."""

from __future__ import annotations

from math import ceil
from typing import Any

import pytest

from netwarp import wire
from netwarp.metrics import failure_from_records, metrics_from_records
from netwarp.wire import read_records
from support import GOLDEN, job_of

RR = {"kind": "rr", "interval": "10ms", "count": 100}
JOB = job_of("udp", workload=RR)
LATENCIES_MS = [20] * 50 + [30] * 45 + list(range(40, 43))
"""Of 98 answered requests of 100, sorted: 50 quick ones, 45 slower, three slow."""


def quantile_ns(permille: int) -> int:
    """Nearest rank: the smallest latency that so many in a thousand do not exceed."""
    rank = max(1, ceil(permille * len(LATENCIES_MS) / 1000))
    return LATENCIES_MS[rank - 1] * 1_000_000


def records(**changes: Any) -> list[wire.Record]:
    """Record a client's connection, what it sent, and what came back."""
    sent = wire.FlowSent(
        record="flow_sent", side="client", messages=100, bytes=6400, first_ns=1_000,
        last_ns=990_000_000, late_ns_max=0,
    )  # fmt: skip
    fields: dict[str, Any] = {
        "record": "flow_stats", "unit": "response", "direction": "down", "sent": None,
        "received": 98, "received_bytes": 6272, "first_received_ns": 20_000_000,
        "last_received_ns": 1_010_000_000, "delay_sum_ns": sum(LATENCIES_MS) * 1_000_000,
        "jitter_sum_ns": 0, "rfc3550_jitter_ns": 0, "reordered": 0, "duplicates": 0,
        "delay_quantiles_ns": tuple(map(quantile_ns, range(1001))),
    }  # fmt: skip
    end = wire.End(record="end", virtual_ns=1_100_000_000, failure=None)
    of_golden = read_records(GOLDEN / "records-flow.jsonl")
    dialled = [each for each in of_golden if isinstance(each, wire.Connection)]
    return [*dialled, sent, wire.FlowStats(**fields | changes), end]


def test_latencies_are_those_of_the_list() -> None:
    found = metrics_from_records(JOB, records())
    assert failure_from_records(JOB, records()) is None
    assert found["rr_latency_s_mean"] == pytest.approx((1000 + 1350 + 123) / 98 / 1000)
    assert found["rr_latency_s_p50"] == pytest.approx(0.020), "the 49th of 98"
    assert found["rr_latency_s_p95"] == pytest.approx(0.030), "the 94th"
    assert found["rr_latency_s_p99"] == pytest.approx(0.042), "the 98th"
    assert found["rr_latency_s_p999"] == found["rr_latency_s_max"] == pytest.approx(0.042)
    assert found["lost_responses"] == 2
    assert found["response_loss_ratio"] == pytest.approx(0.02)


def test_no_response_at_all_is_a_result() -> None:
    nothing = {"first_received_ns": None, "last_received_ns": None, "delay_quantiles_ns": ()}
    found = metrics_from_records(JOB, records(received=0, received_bytes=0, **nothing))
    assert (found["lost_responses"], found["response_loss_ratio"]) == (100, 1)
    assert not [name for name in found if name.startswith("rr_latency")]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"received": 101}, "101 responses arrived to 100 requests"),
        ({"unit": "message"}, "1 senders and 0 receivers are on record"),
    ],
)
def test_records_that_cannot_be_fail_the_run(changes: dict[str, Any], reason: str) -> None:
    assert reason in str(failure_from_records(JOB, records(**changes)))
