"""`path.ip`: what a study says of the version of IP, and what a job and its sizes make of it."""

from __future__ import annotations

from typing import Any

import pytest

from netwarp.backends.abilities import AT_THE_ENDS, BUILT, IMPOSED, beyond
from netwarp.backends.ns3.request import CAN as IN_NS3
from netwarp.errors import StudyError
from netwarp.plan import plan_study
from netwarp.plan.treatment import equal_treatment
from netwarp.study import study_from_mapping
from netwarp.study.compare import study_from_compare
from netwarp.wire import job_from_json, job_to_json
from netwarp.wire.asked import asked
from support import job_of


def study(**tables: Any) -> Any:
    return study_from_mapping(
        {"title": "ipv6", "path": {"rtt": "20ms"}, "workload": {"size": "1MB"}} | tables
    )


def test_a_job_says_that_it_is_of_ipv6_and_nothing_of_ipv4() -> None:
    four, six = (job_of("tcp", path={"ip": ip, "rtt": "20ms"}) for ip in (4, 6))
    assert four == job_of("tcp", path={"rtt": "20ms"})
    assert "ipv6" not in job_to_json(four)
    assert job_from_json(job_to_json(six), "job").paths[0].ipv6


def test_both_versions_are_ipv6_with_ipv4_beside_it() -> None:
    (path,) = job_of("tcp", path={"ip": "dual", "rtt": "20ms"}).paths
    assert (path.ipv6, path.dual) == (True, True)
    for ip in (4, 6):
        assert "dual" not in job_to_json(job_of("tcp", path={"ip": ip, "rtt": "20ms"}))
    compared = study_from_compare(transport="tcp", rtt="10ms", size="1kB", ip=["4", "dual"])
    planned = [run for run in plan_study(compared) if run.replicate == 0]
    assert [run.cell.levels["path.ip"] for run in planned] == ["4", "dual"]


def test_the_version_is_a_factor_and_an_option() -> None:
    compared = study_from_compare(transport="tcp", rtt="10ms", size="1kB", ip=["4", "6"])
    planned = [run for run in plan_study(compared) if run.replicate == 0]
    assert [run.cell.levels["path.ip"] for run in planned] == ["4", "6"]
    assert [run.job.paths[0].ipv6 for run in planned] == [False, True]


def test_all_links_of_a_network_and_both_paths_are_of_one_version() -> None:
    pairs = {"shape": "dumbbell", "pairs": 2}
    workloads = [
        {"name": name, "kind": "bulk", "size": "1MB", "transport": "tcp"}
        for name in ("one", "other")
    ]
    path = {"ip": 6, "rtt": "20ms", "rate": "20mbit"}
    (run, *_) = plan_study(study(path=path, topology=pairs, workload=workloads))
    assert [each.ipv6 for each in run.job.paths] == [True] * 5
    second = {"ip": 6, "rtt": "20ms", "second": {"rtt": "40ms"}}
    assert [each.ipv6 for each in job_of("mptcp", path=second).paths] == [True, True]


@pytest.mark.parametrize(
    "topology",
    [
        {"shape": "incast", "senders": 3},
        {"shape": "star", "hosts": 3},
        {"shape": "chain", "hops": 3},
        {"shape": "parking-lot", "bottlenecks": 2},
    ],
    ids=lambda topology: topology["shape"],
)
def test_every_link_of_a_shape_has_the_version_of_the_path(topology: dict[str, Any]) -> None:
    ends = {"star": ("host1", "host2"), "parking-lot": ("client", "server")}
    one = {"name": "one", "kind": "bulk", "size": "1MB", "transport": "tcp"}
    if topology["shape"] in ends:
        one["from"], one["to"] = ends[topology["shape"]]
    path = {"ip": 6, "rate": "20mbit", "rtt": "20ms"}
    (run, *_) = plan_study(study(path=path, topology=topology, workload=[one]))
    assert {each.ipv6 for each in run.job.paths} == {True}


def test_links_that_a_study_writes_are_all_of_one_version() -> None:
    tables: dict[str, Any] = {
        "host": [{"name": "client"}, {"name": "server"}],
        "router": [{"name": "middle"}],
        "link": [
            {"between": ["client", "middle"], "ip": 6},
            {"between": ["middle", "server"], "ip": 6, "rate": "20mbit"},
        ],
        "workload": [{"name": "one", "kind": "bulk", "size": "1MB", "transport": "tcp"}],
    }
    tables["workload"][0] |= {"from": "client", "to": "server"}
    written = {"title": "ipv6", "transport": {"kind": "tcp"}}
    (run, *_) = plan_study(study_from_mapping(written | tables))
    assert {each.ipv6 for each in run.job.paths} == {True}
    del tables["link"][1]["ip"]
    (run, *_) = plan_study(study_from_mapping(written | tables))
    assert {each.ipv6 for each in run.job.paths} == {True}, "that of the first link that says it"
    tables["link"][1]["ip"] = 4
    with pytest.raises(StudyError, match="another version of IP"):
        study_from_mapping(written | tables)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ({"ip": 5}, "versions 4 and 6"),
        ({"ip": True}, "versions 4 and 6"),
        ({"ip": "6"}, "write 4, 6 or"),
        ({"ip": 6, "mtu": 1279}, "packets of 1280 bytes"),
        ({"ip": 6, "neighbours": "cold"}, "it is said of ARP"),
        ({"ip": 6, "handovers": {"every": "1s", "count": 1}}, "CONFIG_IPV6_MULTIPLE_TABLES"),
        ({"ip": "dual", "handovers": {"every": "1s", "count": 1}}, "CONFIG_IPV6_MULTIPLE_TABLES"),
        ({"ip": "dual", "second": {"ip": 6}}, "the same versions of IP on both paths"),
        ({"ip": "dual", "mtu": 1279}, "packets of 1280 bytes"),
        ({"ip": 6, "second": {"ip": 4}}, "the same versions of IP on both paths"),
    ],
)
def test_what_cannot_be_is_refused(path: dict[str, Any], said: str) -> None:
    with pytest.raises(StudyError, match=said):
        study(path=path, transport={"kind": "mptcp" if "second" in path else "tcp"})


def test_a_smallest_mtu_is_taken() -> None:
    (path,) = job_of("quic", path={"ip": 6, "mtu": 1280}).paths
    assert (path.mtu_bytes, path.ipv6) == (1280, True)


def test_an_mss_has_twenty_bytes_less_room() -> None:
    job_of("tcp", transport={"mss": 1460}, path={"ip": 4})
    with pytest.raises(StudyError, match="more than 1440 bytes of tcp do not fit"):
        job_of("tcp", transport={"mss": 1460}, path={"ip": 6})


def test_headers_are_among_what_transports_are_treated_alike_in() -> None:
    found = equal_treatment(study(path={"ip": 6}, factors={"transport": ["tcp", "quic"]}))
    assert {"60 bytes", "48 bytes"} <= set(str(found).replace("'", "\n").split("\n"))


def test_backends_that_build_paths_have_ipv6_and_others_refuse_it() -> None:
    features = asked(job_of("tcp", path={"ip": 6, "rtt": "20ms"}))
    assert beyond(features, BUILT, "the guest") is None
    for can in (IMPOSED | AT_THE_ENDS, IN_NS3):
        assert "it asks for IPv6" in (beyond(features, can, "this backend") or "")
