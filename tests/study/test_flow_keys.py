"""The keys of a flow, of cold neighbours, and of a transport that repeats nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from netwarp import wire
from netwarp.errors import StudyError
from netwarp.plan import plan_study
from netwarp.study.compare import study_from_compare
from support import job_of

FLOW: dict[str, Any] = {"kind": "flow", "interval": "20ms", "count": 50}


def flow(**keys: Any) -> wire.Flow:
    """Plan a flow with these keys; None drops one."""
    workload = {key: value for key, value in (FLOW | keys).items() if value is not None}
    planned = job_of("udp", workload=workload).only.workload
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


@pytest.mark.parametrize(
    ("model", "duplex", "reason"),
    [
        ("kernel", "half", r"path.duplex.*veth pairs with netem.*whose CSMA link is half duplex"),
        ("ns3", "half", r"path.duplex.*point-to-point links have a rate and a queue for each"),
        ("ns3default", "full", r"path.duplex.*CSMA link carries one packet at a time.*model = ns3"),
    ],
)
def test_links_are_not_what_they_cannot_be(model: str, duplex: str, reason: str) -> None:
    """What they are is accepted, and leaves the job as it is."""
    level = {"kind": "udp", "model": model, "label": "udp"}
    path = {"delay": "2us", "rate": "1gbit"}
    with pytest.raises(StudyError, match=reason):
        job_of(level, path=path | {"duplex": duplex}, workload=FLOW)
    other = {"half": "full", "full": "half"}[duplex]
    as_it_is = job_of(level, path=path | {"duplex": other}, workload=FLOW)
    assert as_it_is == job_of(level, path=path, workload=FLOW)


def test_a_flow_stays_on_its_path() -> None:
    moving = {"rtt": "10ms", "handovers": {"every": "1s", "count": 1}}
    with pytest.raises(StudyError, match="a flow does not follow a client that moves"):
        job_of("udp", path=moving, workload=FLOW)


def rr(**keys: Any) -> wire.RequestResponse:
    """Plan requests and responses with these keys."""
    given = {"kind": "rr", "interval": "20ms", "count": 50} | keys
    planned = job_of("udp", workload=given).only.workload
    assert isinstance(planned, wire.RequestResponse)
    return planned


def test_requests_have_sizes_and_arrivals() -> None:
    planned = rr(request="100B", response="2kB", arrivals="poisson")
    assert (planned.request_bytes, planned.response_bytes) == (100, 2000)
    assert planned.arrivals == wire.PoissonArrivals(kind="poisson", interval_ns=20_000_000)
    assert (planned.direction, rr(request="2kB").direction) == ("down", "up")


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ({"request": "23B"}, "a request has 24 to 65507 bytes"),
        ({"response": "65508B"}, "a response has 24 to 65507 bytes"),
        ({"interval": "1h"}, "the run is given up after"),
        ({"rate": "1mbit"}, "a flow has it, not a rr"),
    ],
)
def test_requests_that_cannot_be_are_refused(keys: dict[str, Any], reason: str) -> None:
    with pytest.raises(StudyError, match=reason):
        rr(**keys)


@pytest.mark.parametrize("options", [{"streams": 2}, {"unordered": True}])
def test_requests_go_over_one_ordered_stream_of_an_association(options: dict[str, Any]) -> None:
    level = {"kind": "sctp", "label": "sctp"} | options
    with pytest.raises(StudyError, match="goes over the one stream of an association, in order"):
        job_of(level, workload={"kind": "rr", "interval": "20ms", "count": 50})


TRACE: dict[str, Any] = {"interval": None, "count": None, "arrivals": "trace"}


def test_times_come_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "times.txt"
    file.write_text("# seconds, or with a unit\n0\n\n0.02\n25ms\n25ms\n")
    planned = flow(**TRACE, trace=str(file))
    times_ns = (0, 20_000_000, 25_000_000, 25_000_000)
    assert planned.arrivals == wire.TraceArrivals(kind="trace", at_ns=times_ns)
    assert planned == flow(**TRACE, times=["0s", "20ms", "25ms", "25ms"])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("0.1\n0.05\n", "line 2: earlier than the one before"),
        ("soon\n", "line 1: not a duration"),
        ("0\n-1\n", "line 2: the unit is missing"),
        ("# none\n", "it has no times"),
        ("0\n" * 1_000_001, "it has more than 1000000 times"),
        ("0\n1e9h\n", "line 2: unknown unit"),
        ("2d\n", "line 1: unknown unit"),
    ],
)
def test_files_that_are_no_times_are_refused(tmp_path: Path, text: str, reason: str) -> None:
    file = tmp_path / "times.txt"
    file.write_text(text)
    with pytest.raises(StudyError, match=reason):
        flow(**TRACE, trace=str(file))


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "times.txt"
    with pytest.raises(StudyError, match="no such file"):
        flow(**TRACE, trace=str(file))
    file.write_text("0\n")
    with pytest.raises(StudyError, match="of times and trace, both are given"):
        flow(**TRACE, trace=str(file), times=["0s"])
    with pytest.raises(StudyError, match="of times and trace, neither is given"):
        flow(**TRACE)


@pytest.mark.parametrize(
    ("transport", "workload", "key", "reason"),
    [
        ({"kind": "tcp", "datagrams": True}, {}, "transport.datagrams", "tcp has no such option"),
        ({"kind": "udp", "unordered": True}, {}, "transport.unordered", "udp has no such option"),
        (
            {"kind": "quic", "max_retransmissions": 1},
            {},
            "transport.max_retransmissions",
            "quic has no such option",
        ),
        (
            {"kind": "quic", "datagrams": True},
            {"payload": "1435B"},
            "workload.payload",
            "a QUIC packet has room for a datagram of 1434 bytes",
        ),
        (
            {"kind": "quic", "datagrams": True, "mss": 1300},
            {"payload": "1263B"},
            "workload.payload",
            "a QUIC packet has room for a datagram of 1262 bytes",
        ),
        (
            {"kind": "udp", "buffer": "5kB"},
            {"payload": "5001B"},
            "workload.payload",
            "a datagram has no room in a socket's buffer of 5000 bytes",
        ),
        (
            {"kind": "udp", "buffer": "5kB"},
            {"kind": "rr", "request": "20kB", "payload": None},
            "workload.request",
            "a datagram has no room in a socket's buffer of 5000 bytes",
        ),
        (
            {"kind": "sctp", "unordered": True},
            {"payload": "17kB"},
            "workload.payload",
            "the largest message of SCTP has 16384 bytes",
        ),
        (
            {"kind": "sctp", "message_lifetime": "15ms"},
            {},
            "transport.message_lifetime",
            "a guest's kernel counts it in ticks of 10ms",
        ),
        (
            {"kind": "sctp", "message_lifetime": "100ms", "max_retransmissions": 0},
            {},
            "transport.max_retransmissions",
            "a message has one policy of partial reliability",
        ),
        (
            {"kind": "sctp", "max_retransmissions": 0},
            {"kind": "bulk", "size": "1MB", "interval": None, "count": None},
            "transport.max_retransmissions",
            "it holds for the messages of a flow, and this is a bulk",
        ),
        (
            {"kind": "quic", "datagrams": True},
            {"kind": "rr"},
            "transport.datagrams",
            "it holds for the messages of a flow, and this is a rr",
        ),
    ],
)
def test_messages_that_cannot_travel_alone_are_refused(
    transport: dict[str, Any], workload: dict[str, Any], key: str, reason: str
) -> None:
    keys = {name: value for name, value in (FLOW | workload).items() if value is not None}
    kind = transport.pop("kind")
    with pytest.raises(StudyError) as refused:
        job_of(kind, workload=keys, transport=transport)
    assert refused.value.key == key
    assert reason in str(refused.value)


def test_messages_that_travel_alone_are_told_to_the_endpoint() -> None:
    quic = job_of("quic", workload=FLOW | {"payload": "1434B"}, transport={"datagrams": True})
    assert quic.only.transport.quic.datagrams
    lifetime = {"message_lifetime": "100ms", "unordered": True}
    sctp = job_of("sctp", workload=FLOW, transport=lifetime).only.transport.sctp
    assert (sctp.message_lifetime_ns, sctp.max_retransmissions) == (100_000_000, None)
    assert sctp.unordered
    often = job_of("sctp", workload=FLOW, transport={"max_retransmissions": 2}).only.transport.sctp
    assert (often.message_lifetime_ns, often.max_retransmissions) == (None, 2)


def test_flows_race_on_the_command_line() -> None:
    study = study_from_compare(
        transport=["udp", "tcp"],
        rtt=["40ms"],
        loss=["0%", "2%"],
        flow=["1mbit"],
        payload="250B",
        arrivals="poisson",
    )
    planned = plan_study(study)[0].job.only.workload
    assert isinstance(planned, wire.Flow)
    assert planned.arrivals == wire.PoissonArrivals(kind="poisson", interval_ns=2_000_000)
    assert (planned.messages, planned.duration_ns) == (None, 10_000_000_000)
    assert [figure.y for figure in study.figures] == ["message_delay_s_p95"]
    with pytest.raises(StudyError) as refused:
        study_from_compare(transport=["udp"], flow=["1mbit"], interval=["1s"])
    assert refused.value.key == "--interval"
