"""The table of lifts: each changes what it says, and nothing where a job lacks the limit."""

from __future__ import annotations

from typing import Any

import pytest

from netwarp.plan import plan_study
from netwarp.study import study_from_mapping
from netwarp.why.lifts import LIFTS, applicable
from netwarp.wire import Job

BY_NAME = {lift.name: lift for lift in LIFTS}


# What is None leaves out what a job has otherwise.
POLICED = {"policer": "30kB", "queue": None}


def job(kind: str = "tcp", **tables: Any) -> Job:
    asked = {"rtt": "80ms", "rate": "40mbit", "queue": "1bdp"} | tables.pop("path", {})
    path = {key: value for key, value in asked.items() if value is not None}
    workload = {"size": "2MB"} | tables.pop("workload", {})
    transport = {"kind": kind} | tables.pop("transport", {})
    study = {"title": "t", "path": path, "workload": workload, "transport": transport, **tables}
    return plan_study(study_from_mapping(study))[0].job


CASES: list[tuple[str, Job, Job]] = [
    ("window", job(transport={"buffer": "64kB"}), job(transport={"buffer": "64MiB"})),
    ("loss", job(path={"loss": "2%"}), job()),
    (
        "outages",
        job(path={"outages": {"every": "9s", "length": "1s", "count": 1}}),
        job(),
    ),
    ("order", job(path={"reorder": "5%"}), job()),
    ("link-loss", job(path={"link_loss": "10%"}), job()),
    ("policer", job(path=POLICED), job(path=POLICED | {"policer": "1GiB"})),
    ("rto-min", job("sctp"), job("sctp", transport={"sctp": {"rto_min": "10ms"}})),
    ("tcp-rto-min", job(), job(transport={"tcp_rto_min": "10ms"})),
    ("hystart", job(), job(transport={"hystart": False})),
    ("tcp-options", job(transport={"tcp": {"timestamps": False}}), job()),
    ("nodelay", job(transport={"nodelay": False}), job()),
    (
        "dial",
        job(workload={"chunks": 4}),
        job(workload={"chunks": 4, "dial": "parallel"}),
    ),
    ("parts", job(workload={"chunks": 4}), job()),
    (
        "first-flight",
        job(transport={"initial_window": 2}),
        job(transport={"initial_window": 10}),
    ),
    ("larger-first-flight", job(), job(transport={"initial_window": 100})),
    ("reno", job(), job(transport={"congestion": "reno"})),
    ("bbr", job(), job(transport={"congestion": "bbr"})),
]


@pytest.mark.parametrize(("name", "before", "after"), CASES, ids=[name for name, *_ in CASES])
def test_a_lift_makes_the_job_that_a_study_with_its_keys_makes(
    name: str, before: Job, after: Job
) -> None:
    lifted = BY_NAME[name].change(before)
    assert lifted is not None
    ours, studys = (_without_sizes(each) for each in (lifted, after))
    assert ours == studys
    assert BY_NAME[name].change(lifted) is None, "it is lifted already"


def _without_sizes(of: Job) -> dict[str, Any]:
    """Leave out what a study derives from other keys: lengths of queues and of buffers."""
    found = of.to_json()
    for path in found["paths"]:
        for way in ("down", "up"):
            del path[way]["limit_packets"]
            path[way].pop("queue_packets", None)
    del found["workloads"][0]["transport"]["send_buffer_bytes"]
    return found


def test_seeds_stay_so_that_runs_are_pairs() -> None:
    lossy = job("sctp", path={"loss": "2%"}, workload={"chunks": 3})
    for lift in LIFTS:
        lifted = lift.change(lossy)
        if lifted is not None:
            assert lifted.seed == lossy.seed
            assert [path.down.seed for path in lifted.paths] == [
                path.down.seed for path in lossy.paths
            ]


def test_limits_of_others_are_left_alone() -> None:
    of_quic = {lift.name for lift, _ in applicable(job("quic", workload={"chunks": 3}), None)}
    assert not of_quic & {"dial", "rto-min", "tcp-options", "loss", "outages", "nodelay"}
    assert {"parts", "window", "queue", "bbr", "rate", "rtt"} <= of_quic


def test_a_lift_whose_causes_have_no_time_is_not_tried() -> None:
    every = {cause: 0.0 for lift in LIFTS for cause in lift.causes}
    of_link = {lift.name for lift, _ in applicable(job(), every | {"link": 1.0})}
    assert "rate" in of_link
    assert not of_link & {"window", "larger-first-flight", "rtt"}


def test_names_are_unique() -> None:
    assert len(BY_NAME) == len(LIFTS)
    assert all(lift.causes for lift in LIFTS)
