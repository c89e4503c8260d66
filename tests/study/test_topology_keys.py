"""The keys of several hosts: which links a job has, what each workload crosses, what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from netwarp import wire
from netwarp.backends.abilities import BUILT, beyond
from netwarp.errors import StudyError
from netwarp.plan import plan_study
from netwarp.study import study_from_mapping
from netwarp.wire import job_from_json
from netwarp.wire.asked import asked

GOLDEN = Path(__file__).parents[1] / "golden" / "job-dumbbell.json"
PATH: dict[str, Any] = {"rate": "20mbit", "queue": "1bdp"}
PAIRS: dict[str, Any] = {"shape": "dumbbell", "rtts": ["20ms", "160ms"]}
NEAR: dict[str, Any] = {"name": "near", "kind": "bulk", "size": "1MB"}
FAR = NEAR | {"name": "far"}
BROWSED = {
    "name": "page",
    "kind": "page",
    "page": "web-30",
    "client": "chromium",
    "transport": "tls",
}
MS = 1_000_000


def jobs(*workloads: Any, **tables: Any) -> list[wire.Job]:
    study = study_from_mapping(
        {
            "title": "hosts",
            "replicates": 1,
            "path": PATH,
            "topology": PAIRS,
            "transport": {"kind": "tcp"},
            "workload": [*workloads] or [NEAR, FAR],
        }
        | tables
    )
    return [run.job for run in plan_study(study)]


def delays_ms(path: wire.Path) -> tuple[float, float]:
    return path.down.delay_ns / MS, path.up.delay_ns / MS


def test_links_are_the_bottleneck_those_of_clients_and_those_of_servers() -> None:
    (job,) = jobs()
    assert job.network is not None
    assert job.network.hosts == ("client1", "client2", "server1", "server2")
    assert [(link.first, link.second) for link in job.network.links] == [
        ("left", "right"),
        ("client1", "left"),
        ("client2", "left"),
        ("right", "server1"),
        ("right", "server2"),
    ]
    assert [delays_ms(path) for path in job.paths] == [(0, 0), (10, 0), (80, 0), (0, 10), (0, 80)]
    assert [path.down.rate_bit_s for path in job.paths] == [20_000_000, None, None, None, None]
    # One BDP of the longer round-trip time, and no delay line before it.
    assert job.paths[0].down.limit_packets == -(-20_000_000 * 160 // 8000 // 1514) + 1


def test_a_workload_sees_the_path_between_its_hosts() -> None:
    across = NEAR | {"name": "across", "from": "client1", "to": "server2"}
    (job,) = jobs(NEAR, FAR, across)
    assert [each.ends and each.ends.links for each in job.workloads] == [
        (1, 0, 3),
        (2, 0, 4),
        (1, 0, 4),
    ]
    alone = [one.paths for one in job.each_alone]
    assert [delays_ms(path) for (path,) in alone] == [(10, 10), (80, 80), (10, 80)]
    assert {path.down.rate_bit_s for (path,) in alone} == {20_000_000}
    assert all(one.network is None for one in job.each_alone)


def test_a_link_gone_along_backwards_has_its_directions_exchanged() -> None:
    (job,) = jobs()
    assert job.network is not None
    backwards = wire.Ends(client="server2", server="client1", links=(4, 0, 1))
    one = job.workloads[0].model_copy(update={"ends": backwards})
    (alone,) = job.model_copy(update={"workloads": (one,)}).each_alone
    assert delays_ms(alone.paths[0]) == (80, 10)


def test_events_of_the_bottleneck_are_those_of_each_workloads_path() -> None:
    job = job_from_json(GOLDEN.read_text())
    assert [event.path for event in job.timeline.events] == [0]
    for alone in job.each_alone:
        assert alone.timeline.events == job.timeline.events


def test_round_trip_times_and_hosts_are_factors() -> None:
    levels = {"topology.rtts": [["20ms", "20ms"], ["20ms", "160ms"]]}
    assert [delays_ms(job.paths[2])[0] for job in jobs(factors=levels)] == [10, 80]
    hosts = {"workload.far.to": ["server1", "server2"]}
    last = [job.workloads[1].ends for job in jobs(factors=hosts)]
    assert [each and each.server for each in last] == ["server1", "server2"]


def test_pairs_without_times_of_their_own_have_the_paths() -> None:
    (job,) = jobs(path=PATH | {"rtt": "40ms"}, topology={"shape": "dumbbell", "pairs": 3})
    assert [delays_ms(path) for path in job.paths[1:]] == 3 * [(20, 0)] + 3 * [(0, 20)]


def test_backends_without_networks_refuse_and_the_golden_job_is_a_plan() -> None:
    job = job_from_json(GOLDEN.read_text())
    assert beyond(asked(job), BUILT, "the guest") is None
    refused = beyond(asked(job), BUILT - {"network"}, "ns-3")
    assert refused is not None
    assert "a network of several hosts" in refused


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ({"topology": PAIRS | {"shape": "ring"}}, "topology.shape"),
        ({"topology": {"shape": "dumbbell"}}, "give pairs, or rtts"),
        ({"topology": PAIRS | {"pairs": 3}}, "there are 3 pairs"),
        ({"topology": {"shape": "dumbbell", "pairs": 1_000_000}}, "from 1 to 500"),
        ({"topology": {"shape": "dumbbell", "rtts": ["20ms"]}}, "the hosts are client1, server1"),
        ({"path": PATH | {"rtt": "20ms"}}, "topology.rtts has the round-trip times"),
        ({"factors": {"path.rtt": ["20ms"]}}, "topology.rtts has the round-trip times"),
        ({"path": PATH | {"jitter": "1ms"}}, "path.jitter"),
        ({"path": PATH | {"neighbours": "cold"}}, "path.neighbours"),
        ({"workload": [NEAR | {"from": "server1"}]}, "between server1 and itself"),
        ({"workload": [BROWSED]}, "the programs of a page have one client and one server"),
        ({"workload": {"kind": "bulk", "size": "1MB"}}, "write [[workload]]"),
        ({"topology": {}}, "topology.shape"),
    ],
)
def test_what_cannot_be_is_refused(tables: dict[str, Any], said: str) -> None:
    with pytest.raises(StudyError) as refused:
        jobs(**tables)
    assert said in str(refused.value).replace("\n", " ")


def test_hosts_without_a_topology_are_refused() -> None:
    with pytest.raises(StudyError, match="there is one client and one server"):
        study_from_mapping(
            {
                "title": "hosts",
                "path": PATH | {"rtt": "20ms"},
                "transport": {"kind": "tcp"},
                "workload": [NEAR | {"from": "client1"}],
            }
        )
