"""Networks by the names of their shapes: which links they have, and what each workload crosses."""

from __future__ import annotations

from typing import Any

import pytest

from netwarp import wire
from netwarp.errors import StudyError
from netwarp.plan import plan_study
from netwarp.study import study_from_mapping

PATH: dict[str, Any] = {"rtt": "20ms", "rate": "20mbit", "queue": "1bdp"}
BULK: dict[str, Any] = {"kind": "bulk", "size": "256kB"}
MS = 1_000_000


def jobs(topology: dict[str, Any], *workloads: Any, **tables: Any) -> list[wire.Job]:
    study = study_from_mapping(
        {
            "title": "shapes",
            "replicates": 1,
            "path": PATH,
            "topology": topology,
            "transport": {"kind": "tcp"},
            "workload": [BULK | {"name": "flow"} | each for each in workloads or ({},)],
        }
        | tables
    )
    return [run.job for run in plan_study(study)]


def network(job: wire.Job) -> wire.Network:
    assert job.network is not None
    return job.network


def ends(job: wire.Job) -> list[tuple[str, str, list[str]]]:
    """Return client, server and the labels of the links between them, of each workload."""
    links = network(job).links
    return [
        (each.ends.client, each.ends.server, [links[index].label for index in each.ends.links])
        for each in job.workloads
        if each.ends is not None
    ]


def test_an_incast_has_a_flow_for_each_sender_and_one_link_that_is_the_paths() -> None:
    (job,) = jobs({"shape": "incast", "senders": 3})
    assert ends(job) == [
        ("receiver", f"sender{number}", ["receiver-port2", "receiver", f"sender{number}"])
        for number in (1, 2, 3)
    ]
    assert [each.name for each in job.workloads] == ["flow-1", "flow-2", "flow-3"]
    assert {each.group for each in job.workloads} == {"flow"}
    assert len({each.port for each in job.workloads}) == 3
    assert [path.down.rate_bit_s for path in job.paths] == [20_000_000, None, None, None, None]
    assert (job.paths[0].down.delay_ns, job.paths[0].up.delay_ns) == (10 * MS, 10 * MS)
    # The receiver's acknowledgements have the path's rate too, at a router before it.
    assert network(job).links[0] == wire.Link(first="port2", second="switch", name="receiver")
    assert job.paths[-1].up.rate_bit_s is None


def test_senders_at_several_distances_have_their_delays_in_both_directions() -> None:
    topology = {"shape": "incast", "rtts": ["20ms", "160ms"]}
    (job,) = jobs(topology, path={"rate": "20mbit", "queue": "1bdp"})
    alone = [one.paths[0] for one in job.each_alone]
    assert [(one.down.delay_ns, one.up.delay_ns) for one in alone] == [
        (10 * MS, 10 * MS),
        (80 * MS, 80 * MS),
    ]
    assert job.paths[0].down.limit_packets == -(-20_000_000 * 160 // 8000 // 1514) + 1


def test_each_link_of_a_chain_is_the_path() -> None:
    (job,) = jobs({"shape": "chain", "hops": 3})
    hops = ["client-router1", "hop1", "hop2", "hop3", "router4-server"]
    assert ends(job) == [("client", "server", hops)]
    assert [path.down.delay_ns // MS for path in job.paths] == [10, 10, 10, 0, 0]
    (alone,) = job.each_alone
    assert alone.paths[0].idle_rtt_ns == 60 * MS
    # One BDP of the way's 60 ms.
    assert job.paths[0].down.queue_packets == 100


def test_traffic_crosses_each_bottleneck_of_a_parking_lot() -> None:
    cross = {"name": "cross", "from": "left", "to": "right"}
    (job,) = jobs(
        {"shape": "parking-lot", "bottlenecks": 2}, {"from": "client", "to": "server"}, cross
    )
    assert ends(job) == [
        ("client", "server", ["client-router1", "hop1", "hop2", "router3-server"]),
        ("left1", "right1", ["left1-router1", "hop1", "router2-right1"]),
        ("left2", "right2", ["left2-router2", "hop2", "router3-right2"]),
    ]
    assert [each.group for each in job.workloads] == [None, "cross", "cross"]


def test_hosts_of_a_star_have_a_link_as_the_path_each() -> None:
    (job,) = jobs({"shape": "star", "hosts": 3}, {"from": "host1", "to": "host3"})
    assert ends(job) == [("host1", "host3", ["host1-port2", "host1", "host3", "host3-port4"])]
    assert {path.down.rate_bit_s for path in job.paths[:3]} == {20_000_000}
    (alone,) = job.each_alone
    assert alone.paths[0].idle_rtt_ns == 40 * MS


def test_what_goes_along_a_link_backwards_sizes_the_queue_of_its_own_direction() -> None:
    """Frames down the link of `host1` are data if it is the client, and acknowledgements if it is
    the server.
    """
    for client, server, of_data in (("host1", "host2", "down"), ("host2", "host1", "up")):
        (job,) = jobs({"shape": "star", "hosts": 2}, {"from": client, "to": server})
        limits = {each: getattr(job.paths[0], each).queue_packets for each in ("down", "up")}
        assert min(limits, key=lambda each: limits[each]) == of_data


def test_sizes_and_keys_of_links_are_factors() -> None:
    sizes = {"topology.senders": [1, 4], "path.discipline": ["fifo", "fq_codel"]}
    found = jobs({"shape": "incast", "senders": 2}, factors=sizes)
    assert [len(job.workloads) for job in found] == [1, 1, 4, 4]
    disciplines = [job.paths[0].down.discipline for job in found]
    assert [each and each.kind for each in disciplines] == [None, "fq_codel", None, "fq_codel"]
    # A workload that stands for one host alone keeps its own name.
    assert found[0].workloads[0].name == "flow"


def test_events_are_of_each_link_that_is_the_path() -> None:
    outage = [{"at": "1s", "change": "outage"}, {"at": "2s", "change": "restore"}]
    (job,) = jobs({"shape": "chain", "hops": 2}, path=PATH | {"timeline": outage})
    assert [(event.path, event.at_ns // (1000 * MS)) for event in job.timeline.events] == [
        (0, 1),
        (1, 1),
        (0, 2),
        (1, 2),
    ]


def test_255_senders_are_planned_with_a_port_and_a_seed_each() -> None:
    (job,) = jobs({"shape": "incast", "senders": 255})
    assert len(job.paths) == 257
    assert len({each.port for each in job.workloads}) == 255
    assert len({each.workload.to_json()["content"]["seed"] for each in job.workloads}) == 255


@pytest.mark.parametrize(
    ("topology", "workload", "said"),
    [
        ({"shape": "incast", "senders": 1_000_000}, {}, "topology.senders"),
        ({"shape": "chain", "pairs": 2}, {}, "the size of a chain is its hops"),
        ({"shape": "chain", "hops": 2, "rtts": ["1ms"]}, {}, "give path.rtt"),
        ({"shape": "star"}, {}, "give hosts, or rtts"),
        ({"shape": "star", "rtts": ["1ms"]}, {}, "topology.rtts"),
        ({"shape": "star", "hosts": 2}, {}, "choose of host1 to host2"),
        ({"shape": "star", "hosts": 2}, {"from": "host1", "to": "host1"}, "host1 and itself"),
        ({"shape": "incast", "senders": 2}, {"to": "sender3"}, "receiver, sender1 to sender2"),
        ({"shape": "incast", "senders": 2}, {"port": 80}, "2 servers would listen on one port"),
        ({"shape": "star", "hosts": 3}, {"from": "host", "to": "host"}, "host1 and itself"),
    ],
)
def test_what_a_shape_cannot_be_is_refused(
    topology: dict[str, Any], workload: dict[str, Any], said: str
) -> None:
    path = {"rate": "20mbit"} if "rtts" in topology else PATH
    with pytest.raises(StudyError) as refused:
        jobs(topology, workload, path=path)
    assert said in str(refused.value).replace("\n", " ")
