"""The keys of a flow, of cold neighbours, and of a transport that repeats nothing."""

from __future__ import annotations

from typing import Any

import pytest

from netwarp import wire
from netwarp.errors import StudyError
from support import job_of

FLOW: dict[str, Any] = {"kind": "flow", "interval": "20ms", "count": 50}


def flow(**keys: Any) -> wire.Flow:
    """Plan a flow with these keys; None drops one."""
    workload = {key: value for key, value in (FLOW | keys).items() if value is not None}
    planned = job_of("udp", workload=workload).workload
    assert isinstance(planned, wire.Flow)
    return planned


def test_an_interval_or_a_rate_says_when_messages_are_due() -> None:
    assert flow().arrivals == wire.ConstantArrivals(kind="constant", interval_ns=20_000_000)
    by_rate = flow(interval=None, rate="1mbit", payload="1250B", arrivals="poisson")
    assert by_rate.arrivals == wire.PoissonArrivals(kind="poisson", interval_ns=10_000_000)
    bursts = flow(arrivals="onoff", on="400ms", off="600ms").arrivals
    assert bursts == wire.OnOffArrivals(
        kind="onoff", interval_ns=20_000_000, on_ns=400_000_000, off_ns=600_000_000
    )


def test_times_say_all_by_themselves() -> None:
    given = flow(interval=None, count=None, arrivals="trace", times=["0s", "20ms", "20ms"])
    assert given.arrivals == wire.TraceArrivals(kind="trace", at_ns=(0, 20_000_000, 20_000_000))
    assert given.messages is None


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ({"interval": None}, "of interval and rate, neither is given"),
        ({"rate": "1mbit"}, "of interval and rate, both are given"),
        ({"count": None}, "of count and duration, neither is given"),
        ({"duration": "1s"}, "of count and duration, both are given"),
        ({"payload": "23B"}, "a message has 24 to 65507 bytes"),
        ({"payload": "65508B"}, "a message has 24 to 65507 bytes"),
        ({"on": "1s"}, "constant arrivals do not use it"),
        ({"arrivals": "onoff", "on": "1s"}, "onoff arrivals need it"),
        ({"arrivals": "trace", "times": ["0s"]}, "times say when each message is due"),
        (
            {"arrivals": "trace", "interval": None, "count": None, "times": ["2s", "1s"]},
            "empty, or not in order",
        ),
        ({"interval": "1h"}, "the run is given up after"),
        ({"interval": "1ns", "count": None, "duration": "1s"}, "more than a flow can have"),
    ],
)
def test_flows_that_cannot_be_are_refused(keys: dict[str, Any], reason: str) -> None:
    with pytest.raises(StudyError, match=reason):
        flow(**keys)


@pytest.mark.parametrize("workload", [{"size": "1MB"}, {"kind": "stream"}])
def test_udp_carries_nothing_that_has_to_arrive_whole(workload: dict[str, Any]) -> None:
    with pytest.raises(StudyError, match="UDP repeats nothing that is lost"):
        job_of("udp", workload=workload)


def test_udp_has_no_segments_and_no_window() -> None:
    with pytest.raises(StudyError, match="UDP sends each message as it is"):
        job_of("udp", workload=FLOW, transport={"mss": 1000})
    with pytest.raises(StudyError, match="UDP has no window"):
        job_of("udp", workload=FLOW, transport={"initial_window": 3})


def test_neighbours_are_known_unless_they_are_cold() -> None:
    assert job_of("tcp").paths[0].neighbours == "warm"
    cold = {"rtt": "10ms", "neighbours": "cold"}
    assert job_of("tcp", path=cold).paths[0].neighbours == "cold"
    with pytest.raises(StudyError, match="a client that moves is told of its new neighbours"):
        job_of("tcp", path=cold | {"handovers": {"every": "1s", "count": 1}})


def test_a_flow_stays_on_its_path() -> None:
    moving = {"rtt": "10ms", "handovers": {"every": "1s", "count": 1}}
    with pytest.raises(StudyError, match="a flow does not follow a client that moves"):
        job_of("udp", path=moving, workload=FLOW)
