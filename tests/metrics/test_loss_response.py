"""The answer to losses as the bottleneck sees it, against samples written by hand."""

from __future__ import annotations

import pytest

from netwarp.measure.run_records import RunRecords
from netwarp.metrics import METRICS
from netwarp.wire import (
    Calibration,
    Job,
    NoLoss,
    QueueSamples,
    RandomLoss,
    Record,
    job_from_json,
    read_records,
)
from netwarp.workloads import workload_of
from support import GOLDEN

MS = 1_000_000
RTT_MS = 100
STEP_MS = 10


@pytest.fixture
def job() -> Job:
    """50 ms each way, without a limit of rate or a loss."""
    read = job_from_json((GOLDEN / "job-bulk-quic.json").read_text())
    down, up = (
        getattr(read.paths[0], way).model_copy(
            update={"rate_bit_s": None, "delay_ns": 50 * MS, "loss": NoLoss(kind="none")}
        )
        for way in ("down", "up")
    )
    path = read.paths[0].model_copy(update={"down": down, "up": up})
    return read.model_copy(update={"paths": (path,)})


def measured(name: str, job: Job, samples: QueueSamples, lost_packets: int = 0) -> float | None:
    """Measure a metric of the golden run, two seconds long, with these samples."""
    records: list[Record] = []
    for each in read_records(GOLDEN / "records-bulk-quic.jsonl"):
        if isinstance(each, QueueSamples):
            continue
        if isinstance(each, Calibration):
            each = each.model_copy(update={"lost_packets": lost_packets})  # noqa: PLW2901
        if hasattr(each, "last_byte_ns"):
            each = each.model_copy(update={"last_byte_ns": 2000 * MS})  # noqa: PLW2901
        records.append(each)
    return METRICS[name].measure(RunRecords(job, [*records, samples], workload_of(job)))


def samples(rates: list[tuple[int, int]], dropped: dict[int, int]) -> QueueSamples:
    """Sample every 10 ms what is sent at rates, in bytes a step until a time in ms."""
    at_ms = range(0, rates[-1][0] + 1, STEP_MS)
    sent, counts, now = [0], [0], 0
    for each in at_ms[1:]:
        sent.append(sent[-1] + next(rate for until, rate in rates if each <= until))
        now += dropped.get(each, 0)
        counts.append(now)
    nothing = (0,) * len(at_ms)
    return QueueSamples(
        record="queue_samples", path=0, direction="down", at_ns=tuple(each * MS for each in at_ms),
        sent_bytes=tuple(sent), backlog_bytes=nothing, backlog_packets=nothing,
        dropped_packets=tuple(counts), marked_packets=nothing,
    )  # fmt: skip


def test_the_rate_after_a_loss_is_that_of_one_round_trip_over_another(job: Job) -> None:
    # Lost at 1000 ms: full until 1150 ms, less in recovery, 0.7 of it from 1250 ms on.
    seen = samples([(1150, 1000), (1250, 300), (2000, 700)], {1000: 1})
    assert measured("loss_response_ratio", job, seen, 1) == pytest.approx(0.7)


def test_losses_that_are_not_alone_say_nothing_of_one(job: Job) -> None:
    rates = [(2000, 1000)]
    assert measured("loss_response_ratio", job, samples(rates, {1000: 1}), 1) == pytest.approx(1)
    for dropped in ({1000: 2}, {700: 1, 1000: 1}, {}, {1700: 1}):
        assert measured("loss_response_ratio", job, samples(rates, dropped), 1) is None, dropped


def test_the_overshoot_ends_with_a_round_trip_without_a_drop(job: Job) -> None:
    seen = samples([(2000, 1000)], {500: 3, 560: 4, 660: 5, 800: 90})
    assert measured("slow_start_overshoot_packets", job, seen) == 12
    assert measured("slow_start_overshoot_packets", job, seen, lost_packets=1) is None
    assert measured("slow_start_overshoot_packets", job, samples([(2000, 1)], {})) == 0


def test_samples_that_are_far_apart_say_nothing_of_one_round_trip(job: Job) -> None:
    seen = samples([(1150, 1000), (1250, 300), (2000, 700)], {1000: 1})
    thinned = seen.model_copy(
        update={
            name: tuple(
                value
                for at_ns, value in zip(seen.at_ns, getattr(seen, name), strict=True)
                if at_ns % (500 * MS) == 0
            )
            for name in (
                "at_ns",
                "sent_bytes",
                "backlog_bytes",
                "backlog_packets",
                "dropped_packets",
            )
        }
    )
    assert measured("loss_response_ratio", job, thinned, 1) is None


def test_what_overflows_is_not_told_where_losses_are_asked_for(job: Job) -> None:
    seen = samples([(2000, 1000)], {300: 5})
    assert measured("slow_start_overshoot_packets", job, seen) == 5
    loss = RandomLoss(kind="random", ratio=0.01, correlation=0)
    lossy = job.paths[0].down.model_copy(update={"loss": loss})
    asked = job.model_copy(update={"paths": (job.paths[0].model_copy(update={"down": lossy}),)})
    assert measured("slow_start_overshoot_packets", asked, seen) is None
