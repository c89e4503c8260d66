"""Tests comparisons of flows that share a bottleneck: ``netwarp compare --rtts``."""

from __future__ import annotations

from typing import Any

import pytest

from netwarp.errors import StudyError
from netwarp.results.fixed_conditions import fixed_conditions
from netwarp.study.compare import study_from_compare

RTTS = ["20ms", "160ms"]


def test_each_flow_has_a_round_trip_time_and_hosts_of_its_own() -> None:
    study = study_from_compare(
        transport="tcp", congestion=["reno", "cubic"], rtts=RTTS, rate="20mbit", stop="10s"
    )
    reno, cubic = (cell.template for cell in study.cells)
    assert [each.workloads[0].transport.congestion for each in (reno, cubic)] == ["reno", "cubic"]
    job = reno
    assert [each.paths[0].idle_rtt_ns / 1e6 for each in job.each_alone] == [20, 160]
    assert [each.name for each in job.workloads] == ["flow1", "flow2"]
    assert study.metrics == ("flow1.share_ratio", "flow2.share_ratio", "jain_index")


def test_the_bottleneck_itself_has_no_round_trip_time_to_show() -> None:
    study = study_from_compare(transport="tcp", rtts=RTTS, rate="20mbit")
    conditions = fixed_conditions(study.raw, study.cells[0].template)
    assert conditions["topology.rtts"] == "20ms / 160ms"
    assert conditions["path.queue"] == "1bdp"
    assert "path.rtt" not in conditions


@pytest.mark.parametrize(
    ("options", "named", "reason"),
    [
        ({"rtts": ["20ms"]}, "--rtts", "one flow shares nothing"),
        ({"rtts": RTTS, "size": "1MB"}, "--size", "last until --stop"),
        ({"rtts": RTTS, "chunks": 2}, "--chunks", "several hosts"),
        ({"rtts": RTTS, "stop": "soon"}, "--stop", "not a duration"),
        ({"rtts": ["20ms", "fast"]}, "--rtts", "not a duration"),
        ({"rtts": RTTS, "rtt": "20ms"}, "--rtt", "topology.rtts"),
        ({"stop": "10s"}, "--stop", "only flows of --rtts"),
        ({"shape": "ring:4"}, "--shape", "not a shape"),
        ({"shape": "incast:4:5"}, "--shape", "not a shape"),
        ({"shape": ["incast:4", "chain:3"]}, "--shape", "different shapes"),
        ({"shape": "incast:0"}, "--set topology.senders", "from 1 to 999"),
        ({"shape": "incast:4", "stop": "5s"}, "--stop", "when it has arrived"),
        ({"shape": "dumbbell:4", "size": "1MB"}, "--size", "last until --stop"),
        ({"shape": "chain:2", "page": "web-30"}, "--page", "several hosts"),
        ({"shape": "parking-lot:2", "rtts": RTTS}, "--rtts", "path.rtt"),
        ({"shape": "dumbbell"}, "topology.pairs", "how many"),
    ],
)
def test_what_does_not_fit_is_refused_by_its_option(
    options: dict[str, Any], named: str, reason: str
) -> None:
    with pytest.raises(StudyError, match=reason) as refused:
        study_from_compare(transport="tcp", rate="20mbit", **options)
    assert named in str(refused.value)


def test_senders_of_an_incast_are_a_factor() -> None:
    study = study_from_compare(
        transport="tcp", shape=["incast:7", "incast:31"], size=["64kB", "256kB"], rate="1gbit"
    )
    assert study.raw["factors"]["topology.senders"] == [7, 31]
    assert study.raw["factors"]["workload.flow.size"] == ["64kB", "256kB"]
    assert {len(cell.template.workloads) for cell in study.cells} == {7, 31}
    assert study.metrics[0] == "flow.completion_time_s_p99"


def test_flows_of_a_parking_lot_cross_all_links_or_one() -> None:
    study = study_from_compare(transport="tcp", shape="parking-lot:3", rate="20mbit", stop="5s")
    names = [each.name for each in study.cells[0].template.workloads]
    assert len(names) == 4
    assert study.metrics == ("long.goodput_bit_s", "cross.goodput_bit_s")


def test_a_chain_takes_every_size() -> None:
    study = study_from_compare(transport="tcp", shape="chain:3", size="1MB", direction="up")
    (workload,) = study.cells[0].template.workloads
    assert (workload.workload.kind, workload.workload.direction) == ("bulk", "up")
