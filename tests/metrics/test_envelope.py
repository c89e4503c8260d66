"""Performance envelopes and their conformance, against hulls worked out by hand."""

from __future__ import annotations

from itertools import product

import pytest

from netwarp.measure.envelope import Envelope, Point, conformance, envelope
from netwarp.metrics.envelope import envelope_points
from netwarp.results import Results, RunResult
from netwarp.results.conformance import with_conformance
from netwarp.wire import (
    Goodput,
    Job,
    OfWorkload,
    QueueSamples,
    Record,
    job_from_json,
    read_records,
)
from support import GOLDEN

MS = 1_000_000
APART = (Point(100, 100), Point(100, 100))
"""Two more than 25 points, which are left out: 95 % of 27 are 25."""
SECOND = 1_000_000_000


def square(left: float, bottom: float, side: float = 2.0, each: int = 5) -> list[Point]:
    """Points at even distances in a square, edges included."""
    steps = [side * step / (each - 1) for step in range(each)]
    return [Point(left + x, bottom + y) for x, y in product(steps, steps)]


def made(points: list[Point]) -> Envelope:
    found = envelope(points)
    assert found is not None
    return found


def test_the_hull_of_a_square_is_its_corners() -> None:
    found = made([*square(0, 0), *APART])
    assert set(found.hull) == {Point(0, 0), Point(2, 0), Point(2, 2), Point(0, 2)}
    assert found.contains(Point(1, 1))
    assert found.contains(Point(2, 1)), "the edge counts"
    assert not found.contains(Point(2.01, 1))


def test_the_twentieth_that_is_furthest_from_the_mean_is_left_out() -> None:
    found = made([*square(0, 0, each=6), *[Point(50, 50)] * 2])
    assert len(found.points) == int(38 * 0.95)
    assert Point(50, 50) not in found.points


def test_conformance_is_the_share_of_both_flows_points_in_the_others_hull() -> None:
    one, other = made([*square(0, 0), *APART]), made([*square(10, 10), *APART])
    assert conformance(one, one) == 1
    assert conformance(one, other) == 0
    # Shifted by half its side: three of five columns of each lie in the other.
    half = made([*square(1, 0), *APART])
    assert conformance(one, half) == pytest.approx(30 / 50)
    assert conformance(half, one) == conformance(one, half)


def test_points_without_an_area_conform_only_to_themselves() -> None:
    line = made([Point(1, 1)] * 20)
    assert line.hull == (Point(1, 1),)
    assert conformance(line, line) == 1
    assert envelope([]) is None


def records_of_both(job: Job, bytes_: int, backlog_bytes: int) -> list[Record]:
    """What two flows and a queue would have recorded for 100 s, evenly."""
    whole = read_records(GOLDEN / "records-competing.jsonl")
    kept: list[Record] = [
        each for each in whole
        if not isinstance(each, QueueSamples)
        and not (isinstance(each, OfWorkload) and isinstance(each.line, Goodput))
    ]  # fmt: skip
    steps = 2000
    for name in ("one", "two"):
        goodput = Goodput(record="goodput", step_ns=50 * MS, bytes=(bytes_,) * steps)
        kept.append(OfWorkload(record="of_workload", workload=name, line=goodput))
    nothing = (0,) * steps
    kept.append(
        QueueSamples(
            record="queue_samples", path=0, direction=job.direction,
            at_ns=tuple(step * 50 * MS for step in range(steps)), sent_bytes=nothing,
            backlog_bytes=(backlog_bytes,) * steps, backlog_packets=nothing,
            dropped_packets=nothing, marked_packets=nothing,
        )
    )  # fmt: skip
    return kept


def test_a_point_is_the_rate_and_the_delay_of_ten_round_trip_times() -> None:
    job = job_from_json((GOLDEN / "job-competing.json").read_text())
    records = records_of_both(job, 62_500, 0)
    points = envelope_points(job, records, "one")
    span_ns = len(points) * 10 * job.paths[0].idle_rtt_ns
    assert points
    assert span_ns <= 100 * SECOND
    # 62 500 bytes in 50 ms are 10 Mbit/s.
    assert {round(each.rate_mbit_s, 6) for each in points} == {10}
    assert {each.delay_ms for each in points} == {0}
    assert envelope_points(job, records, "three") == []


class Kept:
    def __init__(self, bytes_of: dict[str, int]) -> None:
        self.bytes_of = bytes_of

    def job(self, run: str) -> Job:
        return job_from_json((GOLDEN / "job-competing.json").read_text())

    def records(self, run: str) -> list[Record]:
        return records_of_both(self.job(run), self.bytes_of[run], 0)


def result(transport: str, replicate: int, cell: int) -> RunResult:
    factors = {"workload.one.transport": transport}
    return RunResult(f"{transport}-{replicate}", cell, replicate, 1, factors, "ok", None, {})


def test_runs_are_compared_with_the_next_replicate_of_the_first_contender() -> None:
    runs = [result(name, each, cell) for cell, name in enumerate("kq") for each in (0, 1)]
    kept = Kept({"k-0": 1000, "k-1": 2000, "q-0": 2000, "q-1": 1000})
    found = {
        run.run: run.metrics.get("one.conformance_ratio")
        for run in with_conformance(Results(tuple(runs)), kept).runs
    }
    # q-0 is as k-1 is, its next; q-1 is as k-0. The kernel's own two differ.
    assert found == {"k-0": 0, "k-1": 0, "q-0": 1, "q-1": 1}


def test_a_single_run_of_the_first_contender_has_nobody_to_conform_to() -> None:
    runs = (result("k", 0, 0), result("q", 0, 1))
    found = with_conformance(Results(runs), Kept({"k-0": 1000, "q-0": 1000})).runs
    assert [run.metrics for run in found] == [{}, {"one.conformance_ratio": 1.0}]
    other = (RunResult("a", 0, 0, 1, {"transport": "tcp"}, "ok", None, {}),)
    assert with_conformance(Results(other), Kept({})).runs == other
