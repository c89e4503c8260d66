"""When a sender waited for its timer: closed forms of samples that are finer than the waits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from netwarp.metrics.timer_waits import (
    joined,
    overlap_ns,
    stood_at_end,
    timer_waits,
    waits_at_end,
)
from netwarp.wire import ConnectionSamples, read_records

GOLDEN = Path(__file__).parents[1] / "golden"
MS = 1_000_000
STEP_MS = 20


def samples(count: int, **columns: tuple[int, ...]) -> ConnectionSamples:
    """Return samples every 20 ms of a connection with a round-trip time of 40 ms."""
    of_run = read_records(GOLDEN / "records-bulk-quic.jsonl")
    model = next(each for each in of_run if isinstance(each, ConnectionSamples))
    whole: dict[str, Any] = {
        "at_ns": tuple(STEP_MS * MS * n for n in range(count)), "rtt_ns": (40 * MS,) * count,
        "cwnd_bytes": (14_000,) * count, "unacked_bytes": (1400,) * count,
        "acked_bytes": (0,) * count, "retrans_packets": (0,) * count,
    }  # fmt: skip
    return model.model_copy(update=whole | columns)


def test_the_wait_before_a_counted_recovery_spans_the_samples_before_it() -> None:
    """A timer expires at 310 ms, 240 ms after it was set, and what was lost arrives at 400 ms."""
    counted = tuple(max(0, min(20 * n, 400) - 310) * MS for n in range(26))
    begun = tuple(int(20 * n > 310) for n in range(26))
    found = timer_waits(
        samples(26, timeout_ns=counted, timeout_recoveries=begun, unacked_bytes=(0,) * 26),
        acks_packets=False,
    )
    assert found == [(70 * MS, 400 * MS)]


def test_a_sender_that_stands_still_until_it_repeats_waited_after_a_round_trip() -> None:
    """Sent at 20 ms, and repeated between 280 and 300 ms."""
    moved = tuple(int(n >= 1) * 1400 for n in range(20))
    repeated = tuple(int(n >= 15) for n in range(20))
    still = samples(20, acked_bytes=moved, retrans_packets=repeated)
    assert timer_waits(still, acks_packets=False) == [(60 * MS, 280 * MS)]


def test_a_late_acknowledgement_is_no_timer() -> None:
    moved = tuple(1400 * (int(n >= 1) + int(n >= 15)) for n in range(20))
    assert timer_waits(samples(20, acked_bytes=moved), acks_packets=False) == []


def test_probes_that_nobody_answers_are_no_progress() -> None:
    under_way = tuple(1400 + 60 * (n // 5) for n in range(20))
    repeated = tuple(int(n >= 15) for n in range(20))
    probed = samples(20, unacked_bytes=under_way, retrans_packets=repeated)
    assert timer_waits(probed, acks_packets=True) == [(40 * MS, 280 * MS)]
    whole = [(40 * MS, 280 * MS)]
    assert timer_waits(probed, acks_packets=False) != whole


def test_a_recovery_that_goes_on_at_the_last_sample_is_told() -> None:
    going = samples(3, timeout_ns=(0, 15 * MS, 35 * MS), timeout_recoveries=(0, 1, 1))
    assert waits_at_end(going)
    ended = samples(3, timeout_ns=(0, 15 * MS, 15 * MS), timeout_recoveries=(0, 1, 1))
    assert not waits_at_end(ended)


def test_spans_that_touch_are_one() -> None:
    spans = joined([(5, 9), (0, 5), (20, 30)])
    assert spans == [(0, 9), (20, 30)]
    assert overlap_ns(spans, 8, 25) == 6


def test_a_sender_that_stands_still_to_its_last_sample_is_told() -> None:
    """It sent the last of its content at 20 ms, and no sample sees that it was repeated."""
    moved = tuple(int(n >= 1) * 1400 for n in range(10))
    still = samples(10, acked_bytes=moved, has_sent_all=(True,) * 10)
    assert stood_at_end(still, acks_packets=False) == (60 * MS, 180 * MS)
    for other in (
        {"has_sent_all": (False,) * 10},  # it may send something new
        {"unacked_bytes": (0,) * 10},  # all has arrived
        {"acked_bytes": tuple(range(10))},  # it makes progress
    ):
        assert stood_at_end(still.model_copy(update=other), acks_packets=False) is None
