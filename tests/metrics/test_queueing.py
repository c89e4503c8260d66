"""Queueing delay and RTT under load, against queues worked out by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from netwarp.measure.queueing import Delays, queue_delays, rtts_under_load
from netwarp.wire import Delay, Event, Job, QueueSamples, Rate, TimelineEvent, job_from_json

GOLDEN = Path(__file__).parents[1] / "golden"
MS = 1_000_000


@pytest.fixture
def job() -> Job:
    """50 ms each way, and 8 Mbit/s down: a byte each microsecond."""
    read = job_from_json((GOLDEN / "job-bulk-quic.json").read_text())
    down = read.paths[0].down.model_copy(update={"rate_bit_s": 8_000_000, "delay_ns": 50 * MS})
    up = read.paths[0].up.model_copy(update={"delay_ns": 50 * MS})
    return read.model_copy(
        update={"paths": (read.paths[0].model_copy(update={"down": down, "up": up}),)}
    )


def samples(at_ms: list[int], sent: list[int], backlog: list[int]) -> QueueSamples:
    nothing = (0,) * len(at_ms)
    return QueueSamples(
        record="queue_samples",
        path=0,
        direction="down",
        at_ns=tuple(each * MS for each in at_ms),
        sent_bytes=tuple(sent),
        backlog_bytes=tuple(backlog),
        backlog_packets=nothing,
        dropped_packets=nothing,
        marked_packets=nothing,
    )


def test_what_is_in_the_delay_line_does_not_queue(job: Job) -> None:
    """At the full rate, 50 ms of delay hold 50 000 bytes, and no packet waits."""
    steady = samples([0, 50, 100], [0, 50_000, 100_000], [50_000] * 3)
    assert queue_delays(job, [steady], "down").delay_ns[:2] == (0, 0)


def test_a_burst_queues_although_the_delay_line_has_room(job: Job) -> None:
    """30 000 bytes at once: the last leaves the queue after 30 ms, and nothing is out before 50."""
    burst = samples([0, 50, 80, 100], [0, 0, 30_000, 30_000], [30_000, 30_000, 0, 0])
    assert queue_delays(job, [burst], "down").delay_ns[0] == pytest.approx(30 * MS)


def test_a_full_queue_delays_by_its_bytes(job: Job) -> None:
    """50 000 bytes in the line and 100 000 before it."""
    full = samples([0, 50, 100], [0, 50_000, 100_000], [150_000] * 3)
    assert queue_delays(job, [full], "down").delay_ns == pytest.approx([100 * MS] * 3)
    assert rtts_under_load(job, [full]).delay_ns == pytest.approx([200 * MS] * 3)


def test_behind_a_shaper_all_bytes_queue_at_the_rate_of_the_moment(job: Job) -> None:
    down = job.paths[0].down.model_copy(update={"shaper_queue_bytes": 100_000})
    shaped = job.model_copy(update={"paths": (job.paths[0].model_copy(update={"down": down}),)})
    slower = Rate(kind="rate", direction="down", rate_bit_s=4_000_000)
    event = TimelineEvent(
        record="event", at_ns=60 * MS, event=Event(at_ns=60 * MS, path=0, change=slower)
    )
    seen = samples([0, 50, 100], [0, 0, 0], [10_000] * 3)
    found = queue_delays(shaped, [event, seen], "down")
    assert found.delay_ns == pytest.approx([10 * MS, 10 * MS, 20 * MS])


def test_a_delay_that_changes_counts_for_the_round_trip(job: Job) -> None:
    longer = Delay(kind="delay", down_ns=100 * MS, up_ns=100 * MS)
    event = TimelineEvent(
        record="event", at_ns=60 * MS, event=Event(at_ns=60 * MS, path=0, change=longer)
    )
    idle = samples([0, 100], [0, 0], [0, 0])
    assert rtts_under_load(job, [event, idle]).delay_ns == (100 * MS, 200 * MS)


def test_an_unlimited_rate_has_no_queue_and_no_samples_no_delay(job: Job) -> None:
    down = job.paths[0].down.model_copy(update={"rate_bit_s": None})
    free = job.model_copy(update={"paths": (job.paths[0].model_copy(update={"down": down}),)})
    assert queue_delays(free, [samples([0, 10], [0, 0], [9, 9])], "down").delay_ns == (0, 0)
    assert queue_delays(job, [], "down").quantile_ns(0.5) is None


def test_percentiles_are_of_the_time() -> None:
    """Half the time to the neighbours: 10 ms of 1, 60 ms of 2, 50 ms of 3."""
    delays = Delays((0, 20 * MS, 120 * MS), (1.0, 2.0, 3.0))
    assert [delays.quantile_ns(share) for share in (0.05, 0.5, 0.58, 0.6, 1)] == [1, 2, 2, 3, 3]
    assert delays.within((10 * MS, 60 * MS)).delay_ns == (2.0,)
