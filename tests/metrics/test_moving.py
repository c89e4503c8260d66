"""Where the time went of a run whose client moved: closed forms by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from netwarp.measure.run_records import RunRecords
from netwarp.metrics.causes import Attribution, attribution
from netwarp.wire import (
    Attach,
    Calibration,
    Connection,
    ConnectionSamples,
    Detach,
    Event,
    Handover,
    Job,
    QueueSamples,
    Record,
    Timeline,
    Transfer,
    job_from_json,
    read_records,
)
from netwarp.workloads import workload_of

GOLDEN = Path(__file__).parents[1] / "golden"
MS = 1_000_000
MOVED_MS = 1300
END_MS = 2500
LATER_MS = (1500, 2000)
"""Samples of the second connection's sender; the first one's are at 150, 650 and 1150 ms too."""


def job() -> Job:
    """50 ms each way, 8 Mbit/s down (a byte each microsecond), and a second path after 1.3 s."""
    read = job_from_json((GOLDEN / "job-bulk-quic.json").read_text())
    down = read.paths[0].down.model_copy(update={"rate_bit_s": 8_000_000, "delay_ns": 50 * MS})
    up = read.paths[0].up.model_copy(update={"delay_ns": 50 * MS})
    path = read.paths[0].model_copy(update={"down": down, "up": up})
    moved = [
        Event(at_ns=MOVED_MS * MS, path=1, change=Attach(kind="attach")),
        Event(at_ns=MOVED_MS * MS, path=0, change=Detach(kind="detach")),
    ]
    transport = read.only.transport.model_copy(update={"kind": "tcp", "nodelay": True})
    return read.with_only(transport=transport).model_copy(
        update={
            "paths": (path, path),
            "timeline": Timeline(events=tuple(moved), redraws=(), traces=()),
        }
    )


def records(sent_ms: tuple[int, int] = (1100, 1000)) -> list[Record]:
    """Return the records of a transfer that begins to arrive at 0.2 s, moves at 1.3 s, when the
    client dials anew for 100 ms, and goes on to arrive from 1.5 s to 2.5 s. The server tells of
    the transfer's second part only, and goes on sending on the first connection.

    Args:
        sent_ms: how long the bottleneck of each path sent.
    """
    made: list[Record] = []
    for each in read_records(GOLDEN / "records-bulk-quic.jsonl"):
        if isinstance(each, ConnectionSamples) and each.side == "server":
            made += [samples(each, (150, 650, 1150, *LATER_MS)), samples(each, LATER_MS)]
        elif isinstance(each, QueueSamples) and each.direction == "down":
            made += [
                queue(each, 0, (0, sent_ms[0] * 1000, sent_ms[0] * 1000)),
                queue(each, 1, (0, 0, sent_ms[1] * 1000)),
            ]
        elif isinstance(each, Calibration) and each.direction == "down":
            made += [
                each.model_copy(update={"path": path, "delivered_bytes": sent_ms[path] * 1000})
                for path in (0, 1)
            ]
        elif isinstance(each, Transfer):
            first_ms = 1450 if each.side == "server" else 200
            ends = {"first_byte_ns": first_ms * MS, "last_byte_ns": END_MS * MS}
            made.append(each.model_copy(update=ends))
        elif isinstance(each, Connection):
            made += [connection(each, 0, 0), connection(each, 1, MOVED_MS)]
    moved = Handover(
        record="handover", at_ns=MOVED_MS * MS, path=1, longest_gap_ns=None, longest_gap_at_ns=None
    )
    return [*made, moved]


def samples(of: ConnectionSamples, times_ms: tuple[int, ...]) -> ConnectionSamples:
    """Return samples in congestion avoidance; a long one waits for a timer after the handover."""
    count, waits = len(times_ms), max(0, len(times_ms) - 3)
    return of.model_copy(update={
        "at_ns": tuple(each * MS for each in times_ms), "cwnd_bytes": (14_000,) * count,
        "ssthresh_bytes": (7000,) * count, "unacked_bytes": (14_000,) * count,
        "acked_bytes": tuple(1000 * min(each, MOVED_MS) for each in times_ms),
        "busy_ns": tuple((each - times_ms[0]) * MS for each in times_ms),
        "rwnd_limited_ns": (0,) * count, "sndbuf_limited_ns": (0,) * count,
        "has_sent_all": (False,) * count, "retrans_packets": (0,) * count,
        "rtt_ns": (100 * MS,) * count, "pacing_rate_bit_s": (0,) * count,
        "timeout_ns": tuple(max(0, each - 1200) * MS * bool(waits) for each in times_ms),
        "timeout_recoveries": tuple(int(each > 1200 and bool(waits)) for each in times_ms),
    })  # fmt: skip


def queue(of: QueueSamples, path: int, sent: tuple[int, int, int]) -> QueueSamples:
    times = (200 * MS, MOVED_MS * MS, END_MS * MS)
    return of.model_copy(update={
        "path": path, "at_ns": times, "sent_bytes": sent, "backlog_bytes": (0,) * 3,
        "backlog_packets": (0,) * 3, "dropped_packets": (0,) * 3, "marked_packets": (0,) * 3,
    })  # fmt: skip


def connection(of: Connection, number: int, start_ms: int) -> Connection:
    stats = of.stats.model_copy(update={"retransmitted_packets": 0})
    settings = of.settings.model_copy(update={"paced": False})
    times = {"start_ns": start_ms * MS, "connected_ns": (start_ms + 100) * MS}
    own = {"connection": number, "abandoned": number == 0, "stats": stats, "settings": settings}
    return of.model_copy(update={**times, **own})


def found(of: list[Record]) -> Attribution:
    made = attribution(RunRecords(job(), of, workload_of(job())))
    assert made is not None
    return made


def told_ms(of: list[Record]) -> dict[str, float]:
    """Return the time of each cause that has any, in ms."""
    return {cause: ns / MS for cause, ns in found(of).spent_ns.items() if ns}


def test_the_links_have_the_time_in_which_they_sent_before_and_after_a_handover() -> None:
    """And to set up two connections and to ask twice takes two round trips each."""
    made = told_ms(records())
    assert made == pytest.approx({"connecting": 200, "propagation": 200, "link": 2100})


def test_a_connection_that_was_replaced_waits_for_no_timer_of_the_transfer() -> None:
    made = told_ms(records((500, 400)))
    whole = {"connecting": 200, "propagation": 200, "link": 900, "avoidance": 1200}
    assert made == pytest.approx(whole)


def test_paths_of_a_client_that_moves_send_one_after_another() -> None:
    """As a sample that is after the handover by far has the bytes of both."""
    sampled = [
        queue(each, each.path, (0, each.sent_bytes[-1], each.sent_bytes[-1])).model_copy(
            update={"at_ns": (200 * MS, END_MS * MS - 1, END_MS * MS)}
        )
        if isinstance(each, QueueSamples)
        else each
        for each in records()
    ]
    assert told_ms(sampled)["link"] == pytest.approx(2100, abs=1)
