"""Times that replicates draw: when the client begins, when it moves, when paths are out."""

from __future__ import annotations

import re
from typing import Any

import pytest

from netwarp.errors import StudyError
from netwarp.plan import plan_study
from netwarp.plan.seeds import evenly_below
from netwarp.study import study_from_mapping
from netwarp.wire import Job, job_sha256, job_to_json
from support import tables

S = 1_000_000_000
PATH = {"rtt": "100ms", "rate": "50mbit"}
MOVES = {"every": "5s", "count": 3, "jitter": "5s"}
OUTAGES = {"every": "3s", "length": "1s", "count": 4, "jitter": "1s"}


def jobs(replicates: int = 20, **sections: Any) -> list[Job]:
    """Plan replicates of TCP and QUIC."""
    factors = {"transport": ["tcp", "quic"]}
    study = study_from_mapping(tables("tcp", factors=factors, replicates=replicates, **sections))
    return [run.job for run in plan_study(study)]


def starts(job: Job, kind: str) -> list[int]:
    """Give when events of a kind happen, on any path."""
    return [event.at_ns for event in job.timeline.events if event.change.kind == kind]


def test_each_replicate_moves_at_times_of_its_own_within_its_periods() -> None:
    planned = jobs(path={**PATH, "handovers": MOVES})
    drawn = {tuple(starts(job, "attach")) for job in planned}
    assert len(drawn) == 20  # both transports of a replicate move at the same times
    for first, second, third in drawn:
        assert 5 * S <= first < 10 * S <= second < 15 * S <= third < 20 * S
    assert all(starts(job, "attach") == starts(job, "detach") for job in planned)


def test_moves_that_overlap_or_leave_a_gap_are_over_before_the_next() -> None:
    for key in ("overlap", "gap"):
        moves = {**MOVES, key: "2s", "jitter": "3s"}
        for job in jobs(path={**PATH, "handovers": moves}):
            attached, detached = starts(job, "attach"), starts(job, "detach")
            begun, over = (attached, detached) if key == "overlap" else (detached, attached)
            assert all(late - early == 2 * S for early, late in zip(begun, over, strict=True))
            assert all(early >= late for early, late in zip(begun[1:], over, strict=False))


def test_outages_are_drawn_apart_from_moves() -> None:
    (job, *_) = jobs(path={**PATH, "handovers": MOVES, "outages": OUTAGES})
    out = sorted(set(starts(job, "outage")))
    assert [at // (3 * S) for at in out] == [1, 2, 3, 4]
    offsets = [at % (3 * S) / S for at in out]
    assert len(set(offsets)) == 4
    assert max(offsets) < 1
    assert offsets[0] != pytest.approx(starts(job, "attach")[0] % (5 * S) / (5 * S), abs=1e-6)


def test_clients_begin_at_times_of_their_own() -> None:
    planned = jobs(workload={"size": "1MB", "start_jitter": "10ms"})
    begun = [job.only.start_ns for job in planned]
    assert begun[::2] == begun[1::2]
    assert len(set(begun)) == 20
    assert max(begun) < 10_000_000
    assert {job.only.start_ns for job in jobs()} == {0}


def test_draws_change_with_the_seed_and_stay_when_replicates_are_added() -> None:
    path = {**PATH, "handovers": MOVES}
    few, many = jobs(2, path=path), jobs(3, path=path)
    assert [job_sha256(job) for job in many[:4]] == [job_sha256(job) for job in few]
    other = jobs(2, path=path, seed=2)
    assert starts(other[0], "attach") != starts(few[0], "attach")


def test_what_is_written_and_hashed_is_the_job() -> None:
    workload = {"size": "1MB", "start_jitter": "10ms"}
    sections = {"path": {**PATH, "handovers": MOVES, "outages": OUTAGES}, "workload": workload}
    for run in plan_study(study_from_mapping(tables("tcp", replicates=3, **sections))):
        assert job_to_json(run.job) == run.job_json
        assert job_sha256(run.job) == run.job_sha256


def test_draws_are_even() -> None:
    drawn = [evenly_below(10, 1, replicate, 6) for replicate in range(10_000)]
    counts = [drawn.count(number) for number in range(10)]
    # Pearson's chi-squared with 9 degrees of freedom: 27.9 at 1 in 1000.
    assert sum((count - 1000) ** 2 / 1000 for count in counts) < 27.9


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        ({"path": {**PATH, "handovers": {**MOVES, "jitter": "6s"}}}, "path.handovers.jitter"),
        (
            {"path": {**PATH, "handovers": {**MOVES, "overlap": "1s"}}},
            "choose at most 4s, or a longer every",
        ),
        ({"path": {**PATH, "outages": {**OUTAGES, "jitter": "2s"}}}, "path.outages.jitter"),
        (
            {
                "path": {
                    **PATH,
                    "handovers": MOVES,
                    "timeline": [{"at": "1s", "change": "handover"}],
                }
            },
            "a random time could meet an entry of the timeline (handover)",
        ),
        (
            {
                "path": {
                    **PATH,
                    "outages": OUTAGES,
                    "timeline": [
                        {"at": "1s", "change": "outage"},
                        {"at": "2s", "change": "restore"},
                    ],
                }
            },
            "a random time could meet an entry of the timeline (outage)",
        ),
        (
            {"workload": {"size": "1MB", "start_jitter": "1s"}, "limits": {"virtual_s": 1}},
            "workload.start_jitter",
        ),
    ],
)
def test_draws_that_could_not_be_are_refused(sections: dict[str, Any], message: str) -> None:
    with pytest.raises(StudyError, match=re.escape(message)):
        study_from_mapping(tables("tcp", **sections))
