"""Queueing disciplines of the bottleneck, ECN, sampling: keys and refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from netwarp.errors import StudyError
from netwarp.plan import plan_study
from netwarp.study import study_from_mapping
from netwarp.wire import Job

PATH = {"rtt": "40ms", "rate": "10mbit", "queue": "100p"}


def job_of(path: dict[str, Any], transport: Any = "tcp", **more: Any) -> Job:
    study = {"title": "t", "path": path, "transport": transport, "workload": {"size": "1MB"}}
    return plan_study(study_from_mapping(study | more))[0].job


def refused(path: dict[str, Any], transport: Any = "tcp", **more: Any) -> str:
    with pytest.raises(StudyError) as caught:
        job_of(path, transport, **more)
    return str(caught.value)


def test_a_queue_is_first_in_first_out_unless_asked() -> None:
    for path in (PATH, PATH | {"discipline": "fifo"}):
        job = job_of(path)
        assert job.paths[0].down.discipline is None
        assert job.paths[0].down.shaper_queue_bytes is None
        assert job.only.transport.ecn is None


@pytest.mark.parametrize("kind", ["codel", "fq_codel", "fq", "cake", "pie", "red", "dualpi2"])
def test_a_discipline_has_the_room_of_the_queue_behind_a_delay_line_without_loss(kind: str) -> None:
    job = job_of(PATH | {"discipline": kind})
    for asked in (job.paths[0].down, job.paths[0].up):
        assert asked.discipline is not None
        assert (asked.discipline.kind, asked.discipline.limit_packets) == (kind, 100)
        assert asked.limit_packets == 1_000_000
    assert job.only.transport.ecn is False


def test_a_direction_has_its_own_discipline() -> None:
    path = job_of(PATH | {"discipline_down": "fq_codel"}).paths[0]
    assert path.down.discipline is not None
    assert path.up.discipline is None


def test_ecn_is_offered_by_the_hosts_and_marked_by_the_queue() -> None:
    job = job_of(PATH | {"discipline": "fq_codel"}, {"kind": "tcp", "ecn": True})
    assert job.only.transport.ecn is True
    assert job.paths[0].down.discipline is not None
    assert job.paths[0].down.discipline.ecn is True


@pytest.mark.parametrize(
    ("path", "transport", "reason"),
    [
        (
            {"rtt": "40ms", "discipline": "codel"},
            "tcp",
            "no queue forms where the down rate is unlimited",
        ),
        (PATH | {"discipline": "l4s"}, "tcp", "L4S's queue is dualpi2"),
        (PATH | {"discipline": "droptail"}, "tcp", "that is fifo"),
        (PATH | {"discipline": "codel", "reorder": "1%"}, "tcp", "where packets overtake"),
        (
            PATH
            | {
                "discipline": "cake",
                "timeline": [{"at": "1s", "change": "rate", "rate": "5mbit", "direction": "down"}],
            },
            "tcp",
            "cake keeps one rate by its own shaper",
        ),
        (PATH | {"discipline": "codel"}, {"kind": "tcp", "model": "ns3"}, "first in, first out"),
    ],
)
def test_what_does_not_go_together_is_refused(
    path: dict[str, Any], transport: Any, reason: str
) -> None:
    assert reason in refused(path, transport)


def test_runs_are_sampled_unless_the_study_says_otherwise() -> None:
    auto = job_of(PATH).sampling
    assert auto is not None
    assert (auto.interval_ns, auto.is_thinned) == (20_000_000, True)
    fixed = job_of(PATH, sampling="5ms").sampling
    assert fixed is not None
    assert (fixed.interval_ns, fixed.is_thinned) == (5_000_000, False)
    assert job_of(PATH, sampling="off").sampling is None
    with pytest.raises(StudyError, match="less than 10 µs"):
        job_of(PATH, sampling="1us")


@pytest.mark.parametrize("direction", ["down", "up"])
def test_a_rate_in_one_direction_has_a_discipline_there_alone(direction: str) -> None:
    path = {"rtt": "40ms", f"rate_{direction}": "10mbit"}
    other = "up" if direction == "down" else "down"
    assert f"no queue forms where the {other} rate is unlimited" in refused(
        path | {"discipline": "codel"}
    )
    job = job_of(path | {f"discipline_{direction}": "codel"})
    assert getattr(job.paths[0], direction).discipline is not None
    assert getattr(job.paths[0], other).discipline is None


def test_a_discipline_on_a_trace_is_set_up_for_its_mean_rate(tmp_path: Path) -> None:
    (tmp_path / "trace").write_text("5\n10\n")
    path = {"rtt": "40ms", "trace": {"down": "trace", "up": "trace"}, "discipline": "red"}
    study: dict[str, Any] = {
        "title": "t", "path": path, "transport": "tcp", "workload": {"size": "1MB"},
        "replicates": 1,
    }  # fmt: skip
    (run,) = plan_study(study_from_mapping(study, folder=tmp_path))
    for asked in (run.job.paths[0].down, run.job.paths[0].up):
        assert asked.rate_bit_s == 2 * 1504 * 8 * 100
        assert asked.discipline is not None
        assert asked.shaper_queue_bytes is not None
