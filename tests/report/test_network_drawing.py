"""Tests the drawing of networks: places, groups of hosts, texts of links, and flows."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from netwarp.report.network_drawing import LINE_CHARACTERS, Drawing, drawing_of
from netwarp.report.network_places import groups_of, places_of
from netwarp.study import study_from_mapping
from netwarp.wire import Job, Link, Network

ONE = {"title": "One", "transport": {"kind": "tcp"}, "workload": {"size": "1MB"}}
PAIR = {"kind": "bulk", "stop": "5s"}


def dumbbell(pairs: int, **topology: Any) -> list[Job]:
    """Return a job of each cell of a study of pairs of hosts around one bottleneck."""
    study: dict[str, Any] = {
        "title": "Pairs",
        "path": {"rate": "20mbit", "rtt": "20ms"},
        "topology": {"shape": "dumbbell", "pairs": pairs} | topology,
        "transport": {"kind": "tcp"},
        "workload": [
            PAIR | {"name": f"w{n}", "from": f"client{n}", "to": f"server{n}"}
            for n in range(1, pairs + 1)
        ],
    }
    if "rtts" in topology:
        del study["path"]["rtt"], study["topology"]["pairs"]
    return [cell.template for cell in study_from_mapping(study).cells]


def drawn(jobs: list[Job]) -> Drawing:
    """Return the drawing of jobs that have a network."""
    drawing = drawing_of(jobs)
    assert drawing is not None
    return drawing


def test_a_path_of_one_client_and_one_server_is_not_drawn() -> None:
    study = study_from_mapping(ONE)
    assert drawing_of([study.cells[0].template]) is None


def test_each_flow_is_drawn_along_its_links_from_client_to_server() -> None:
    drawing = drawn(dumbbell(2, rtts=["20ms", "160ms"]))
    assert [flow.text for flow in drawing.flows] == [
        "w1: client1 ← server1",
        "w2: client2 ← server2",
    ]
    for flow in drawing.flows:
        xs = [float(point.split(",")[0]) for point in flow.points.split()]
        assert len(xs) == 4
        assert all(left < right for left, right in pairwise(xs))


def test_a_link_says_what_it_does_each_way() -> None:
    drawing = drawn(dumbbell(2, rtts=["20ms", "160ms"]))
    (bottleneck,) = [link for link in drawing.links if link.notes]
    assert bottleneck.has_rate
    said = " ".join(bottleneck.notes)
    assert said.count("20.0 Mbit/s") == said.count("fifo") == sum(map(said.count, "→←")) == 2
    assert max(map(len, bottleneck.notes)) <= LINE_CHARACTERS, "lines end before the routers"
    assert drawing.top <= bottleneck.notes_top, "the first line is inside the drawing"
    notes = {node.name: node.notes for node in drawing.nodes if node.kind == "host"}
    assert notes["client2"] == ["to it: 80 ms"]
    assert notes["server1"] == ["to it: 10 ms"]


def test_cells_that_differ_share_one_drawing() -> None:
    jobs = dumbbell(2, rtts=["20ms", "40ms"]) + dumbbell(2, rtts=["20ms", "160ms"])
    notes = {node.name: node.notes for node in drawn(jobs).nodes}
    assert notes["client2"] == ["to it: 20 or 80 ms"], "the unit once"
    assert drawn(jobs).note is None
    assert "2 and 4 hosts" in (drawn(jobs + dumbbell(1)).note or "")


def test_hosts_that_are_alike_are_one_node() -> None:
    drawing = drawn(dumbbell(40))
    names = sorted(node.name for node in drawing.nodes if node.kind == "hosts")
    assert names == ["client1 – client40 (40 hosts)", "server1 – server40 (40 hosts)"]
    assert [flow.text for flow in drawing.flows] == [
        "40 × bulk: client1 – client40 (40 hosts) ← server1 – server40 (40 hosts)"
    ]
    assert drawing.width < 1_200
    assert drawing.height < 400


@pytest.mark.parametrize(
    "links",
    [
        [("a", "r1"), ("b", "r1"), ("c", "r1")],
        [("r1", "r2"), ("r2", "r3"), ("a", "r1"), ("b", "r3"), ("c", "r2"), ("d", "r2")],
        [("r1", "r2"), ("r1", "r3"), ("r1", "r4"), ("a", "r2"), ("b", "r3"), ("c", "r4")],
        [("r2", "r1"), ("r4", "r2"), ("r5", "r2"), ("r2", "r3"), ("a", "r1"), ("b", "r5")],
    ],
)
def test_no_two_nodes_have_the_same_place(links: list[tuple[str, str]]) -> None:
    names = dict.fromkeys(name for link in links for name in link)
    network = Network(
        hosts=tuple(name for name in names if not name.startswith("r")),
        routers=tuple(name for name in names if name.startswith("r")),
        links=tuple(Link(first=first, second=second) for first, second in links),
    )
    texts: dict[str, tuple[str, ...]] = dict.fromkeys(network.hosts, ())
    groups = groups_of(network, texts, frozenset({"a", "c"}))
    routers, hosts = places_of(network, groups)
    places = [*routers.values(), *hosts]
    apart = [
        max(abs(one.x - other.x), abs(one.y - other.y))
        for index, one in enumerate(places)
        for other in places[:index]
    ]
    assert min(apart) >= 50


def test_programs_on_several_hosts_have_no_way_of_their_own() -> None:
    """Each of them may speak with any other, and here none speaks with the server."""
    hosts = ("client", "proxy", "server")
    web = {"name": "web", "kind": "command", "from": "client", "to": "server"}
    proxy = {"host": "proxy", "command": "relay", "ready": "port:80"}
    programs = {"server": "serve", "client": "ask proxy", "program": [proxy]}
    study = {
        "title": "Proxy",
        "host": [{"name": name} for name in hosts],
        "router": [{"name": "middle"}],
        "link": [{"between": [name, "middle"]} for name in hosts],
        "workload": [web | programs],
    }
    (flow,) = drawn([study_from_mapping(study).cells[0].template]).flows
    assert (flow.points, flow.text) == (
        "",
        "web: programs on client, server, proxy, of which each may speak with any",
    )


def test_a_queue_in_bytes_is_told_in_bytes() -> None:
    calls = {"name": "calls", "kind": "flow", "payload": "160B", "interval": "20ms", "count": 10}
    study = {
        "title": "calls beside a file", "replicates": 1, "transport": {"kind": "tcp"},
        "path": {"rate": "20mbit", "rtt": "20ms", "queue": "64kB"},
        "topology": {"shape": "dumbbell", "pairs": 2},
        "workload": [{"name": "file", "kind": "bulk", "size": "1MB"}, calls],
    }  # fmt: skip
    drawing = drawn([cell.template for cell in study_from_mapping(study).cells])
    (bottleneck,) = [link for link in drawing.links if link.notes]
    assert "room for 64kB, fifo" in " ".join(bottleneck.notes)
