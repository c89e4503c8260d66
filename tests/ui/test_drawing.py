"""Where hosts and routers of a network are drawn, and what is drawn of its links."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from netwarp.study.compare import study_from_compare
from netwarp.ui.drawing import MOST_HOSTS, Place, network_drawing, placed
from netwarp.wire import Job, QueueSamples


def _job(shape: str) -> Job:
    return study_from_compare(transport="tcp", shape=shape, rate="5mbit").cells[0].template


def _places(shape: str) -> Mapping[str, Place]:
    network = _job(shape).network
    assert network is not None
    return placed(network)


@pytest.mark.parametrize("shape", ["dumbbell:4", "incast:16", "parking-lot:3", "chain:4"])
def test_every_node_has_a_place_of_its_own_in_the_drawing(shape: str) -> None:
    places = _places(shape)
    network = _job(shape).network
    assert network is not None
    assert places.keys() == {*network.hosts, *network.routers}
    assert len(set(places.values())) == len(places)
    assert all(0 <= x <= 1 and 0 <= y <= 1 for x, y in places.values())


def test_senders_stand_on_the_other_side_than_the_receiver() -> None:
    places = _places("incast:3")
    assert places["receiver"][0] == 0
    assert {places[f"sender{number}"][0] for number in (1, 2, 3)} == {1}
    assert 0 < places["port2"][0] < places["switch"][0] < 1


def test_a_direction_of_a_link_begins_where_its_packets_do() -> None:
    job = _job("chain:2")
    at_ns = (0, 10_000_000, 20_000_000)
    samples = QueueSamples(
        record="queue_samples", path=1, direction="down", at_ns=at_ns,
        sent_bytes=(0, 1514, 3028), backlog_bytes=(0, 0, 0), backlog_packets=(0, 0, 0),
        dropped_packets=(0, 0, 1), marked_packets=(0, 0, 0),
    )  # fmt: skip
    drawn = network_drawing(job, [samples])
    assert drawn is not None
    (way,) = drawn["links"][1]["ways"]
    assert way["is_back"]
    assert way["sent_bytes"] == [0, 1514, 3028]
    assert way["at_s"] == [0, 0.01, 0.02]
    assert [len(link["ways"]) for link in drawn["links"]].count(0) == len(drawn["links"]) - 1


def test_two_hosts_and_a_crowd_are_not_drawn() -> None:
    two = study_from_compare(transport="tcp", rate="5mbit").cells[0].template
    assert network_drawing(two, []) is None
    assert network_drawing(_job(f"incast:{MOST_HOSTS}"), []) is None
