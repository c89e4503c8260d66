"""What is played is what was counted."""

from __future__ import annotations

from typing import Any

from netwarp.ui.play import MOST_SAMPLES, played_run
from netwarp.wire import Calibration, ConnectionSamples, QueueSamples, Record, Transfer
from support import job_of

MS = 1_000_000
PATH = {"rtt": "80ms", "rate": "8mbit", "queue": "1bdp"}


def _queue(count: int = 4) -> QueueSamples:
    zeros = (0,) * count
    return QueueSamples(
        record="queue_samples", path=0, direction="down",
        at_ns=tuple((40 + place * 10) * MS for place in range(count)),
        sent_bytes=tuple(place * 10_000 for place in range(count)),
        backlog_bytes=zeros, backlog_packets=zeros,
        dropped_packets=tuple(range(count)), marked_packets=zeros,
    )  # fmt: skip


def _connection(at_ms: list[int], windows: list[int], **changed: Any) -> ConnectionSamples:
    zeros = (0,) * len(at_ms)
    given: dict[str, Any] = {
        "record": "connection_samples", "side": "server", "server_port": 4433,
        "at_ns": tuple(at * MS for at in at_ms), "cwnd_bytes": tuple(windows),
        "ssthresh_bytes": zeros, "rtt_ns": zeros, "unacked_bytes": zeros, "acked_bytes": zeros,
        "retrans_packets": zeros, "pacing_rate_bit_s": zeros, "busy_ns": zeros,
        "rwnd_limited_ns": zeros, "sndbuf_limited_ns": zeros,
        "has_sent_all": (False,) * len(at_ms),
    } | changed  # fmt: skip
    return ConnectionSamples(**given)


def test_columns_are_those_of_the_samples() -> None:
    """Samples are of the queue behind a delay line of 40 ms, and are drawn before it."""
    job = job_of("tcp", path=PATH)
    records: list[Record] = [
        _queue(),
        _connection([0, 20], [10_000, 30_000]),
        _connection([10], [5_000], server_port=4434),
        _connection([0], [99_000], side="client"),
    ]
    played = played_run(job, records)
    assert played is not None
    assert played["at_s"] == [0, 0.01, 0.02, 0.03]
    assert played["sent_bytes"] == [0, 10_000, 20_000, 30_000]
    assert played["dropped"] == [0, 1, 2, 3]
    assert played["window"] == {"at_s": [0, 0.01, 0.02], "bytes": [10_000, 15_000, 35_000]}
    assert (played["delay_s"], played["back_s"], played["rate_bit_s"]) == (0.04, 0.04, 8e6)


def test_a_run_without_samples_is_not_played() -> None:
    job = job_of("tcp", path=PATH)
    assert played_run(job, []) is None
    assert played_run(job, [_queue(1)]) is None


def test_long_runs_are_thinned_and_keep_their_end() -> None:
    played = played_run(job_of("tcp", path=PATH), [_queue(MOST_SAMPLES * 3)])
    assert played is not None
    assert len(played["at_s"]) == MOST_SAMPLES
    assert played["dropped"][-1] == MOST_SAMPLES * 3 - 1


def test_a_run_is_played_to_the_end_of_its_transfer() -> None:
    # The last sample is at 70 ms; the last byte arrives at 90 ms, over a delay of 40 ms.
    job = job_of("tcp", path=PATH)
    counted = Calibration(
        record="calibration", path=0, direction="down", interval_ns=100 * MS,
        offered_packets=60, offered_bytes=70_000, delivered_packets=55, delivered_bytes=64_000,
        dropped_packets=5, lost_packets=0, left_packets=0, arp_packets=0, unresolved_packets=0,
    )  # fmt: skip
    arrived = Transfer(
        record="transfer", side="client", connection=0, stream=0, transfer=0, chunk=0,
        direction="down", bytes=60_000, resumed_at_bytes=0, first_byte_ns=50 * MS,
        last_byte_ns=90 * MS, sha256=None, longest_gap_ns=None, longest_gap_at_ns=None,
    )  # fmt: skip
    acknowledged = arrived.model_copy(update={"side": "server", "last_byte_ns": 130 * MS})
    records: list[Record] = [_queue(), acknowledged, arrived, counted]
    played = played_run(job, records)
    assert played is not None
    assert played["end_s"] == 0.09
    assert played["left_s"] == [0, 0.01, 0.02, 0.03, 0.05]
    assert played["sent_bytes"] == [0, 10_000, 20_000, 30_000, 64_000]
    assert (played["at_s"][-1], played["dropped"][-1], played["queue_s"][-1]) == (0.05, 5, 0)
