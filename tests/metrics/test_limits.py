"""What limited a sender, against samples of a connection written by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from netwarp.measure.limits import LIMITS, Limit, limited_shares
from netwarp.wire import (
    Connection,
    ConnectionSamples,
    Job,
    QueueSamples,
    Record,
    job_from_json,
    read_records,
)

GOLDEN = Path(__file__).parents[1] / "golden"
MS = 1_000_000
END_NS = 10**18
"""Later than all samples."""
JOB: Job = job_from_json((GOLDEN / "job-bulk-quic.json").read_text())
SAMPLES = [
    each
    for each in read_records(GOLDEN / "records-bulk-quic.jsonl")
    if isinstance(each, ConnectionSamples | QueueSamples)
]


def seen(
    busy_ms: int = 0,
    rwnd_ms: int = 0,
    sndbuf_ms: int = 0,
    backlog: int = 0,
    sent_all: bool = False,
    room: int = 0,
) -> list[Record]:
    """Give two samples 100 ms apart, of a connection and of the queue before it.

    Args:
        busy_ms: how long it had something to send.
        rwnd_ms: how long of that its peer's window held it back.
        sndbuf_ms: how long its send buffer did.
        backlog: bytes in the queue.
        sent_all: whether it had sent all that it was given.
        room: bytes that its congestion window still has room for.
    """
    records: list[Record] = []
    for each in SAMPLES:
        nothing = (0, 0)
        if isinstance(each, QueueSamples):
            delay_ns = JOB.paths[0].down.delay_ns
            rate_bytes = (JOB.paths[0].down.rate_bit_s or 0) * delay_ns // 8_000_000_000
            full = {"backlog_bytes": (0, rate_bytes + backlog), "sent_bytes": nothing}
            records.append(each.model_copy(update={"at_ns": (0, 100 * MS), **full}))
        else:
            times = {"busy_ns": busy_ms, "rwnd_limited_ns": rwnd_ms, "sndbuf_limited_ns": sndbuf_ms}
            changed: dict[str, object] = {name: (0, value * MS) for name, value in times.items()}
            changed |= {"cwnd_bytes": (40_000 + room,) * 2, "unacked_bytes": (40_000,) * 2}
            changed["has_sent_all"] = (False, sent_all)
            records.append(each.model_copy(update={"at_ns": (0, 100 * MS), **changed}))
    return records


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        (seen(), {"application": 1.0}),
        (seen(busy_ms=60), {"application": 0.4, "cwnd": 0.6}),
        (seen(busy_ms=100, rwnd_ms=70), {"rwnd": 0.7, "cwnd": 0.3}),
        (
            seen(busy_ms=100, sndbuf_ms=20, backlog=50_000),
            {"sndbuf": 0.2, "link": 0.4, "cwnd": 0.4},
        ),
        (
            seen(busy_ms=100, rwnd_ms=10, sent_all=True),
            {"rwnd": 0.1, "application": 0.45, "cwnd": 0.45},
        ),
    ],
)
def test_each_share_is_of_its_limit(records: list[Record], expected: dict[str, float]) -> None:
    found = limited_shares(JOB, records, END_NS)
    assert found == pytest.approx(dict.fromkeys(LIMITS, 0.0) | expected)


@pytest.mark.parametrize(("room", "limit"), [(1500, "pacing"), (1499, "cwnd")])
def test_who_paces_is_limited_by_it_while_the_window_has_room(room: int, limit: Limit) -> None:
    records = read_records(GOLDEN / "records-bulk-quic.jsonl")
    paced = [each for each in records if isinstance(each, Connection)]
    found = limited_shares(JOB, [*paced, *seen(busy_ms=100, room=room)], END_NS)
    assert found == pytest.approx(dict.fromkeys(LIMITS, 0.0) | {limit: 1.0})


def test_a_run_without_connections_says_nothing() -> None:
    assert limited_shares(JOB, [], END_NS) is None


def test_of_an_interval_that_goes_beyond_the_last_byte_the_time_until_then_counts() -> None:
    records = seen(busy_ms=40, rwnd_ms=30)
    begin_ns = min(each.at_ns[0] for each in records if isinstance(each, ConnectionSamples))
    whole = limited_shares(JOB, records, END_NS)
    assert limited_shares(JOB, records, begin_ns + 50 * MS) == pytest.approx(whole)
    assert limited_shares(JOB, records, begin_ns) is None, "all of it is after the end"
