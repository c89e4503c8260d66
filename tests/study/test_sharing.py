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
        ({"rtts": RTTS, "chunks": 2}, "--chunks", "last until --stop"),
        ({"rtts": RTTS, "stop": "soon"}, "--stop", "not a duration"),
        ({"rtts": ["20ms", "fast"]}, "--rtts", "not a duration"),
        ({"rtts": RTTS, "rtt": "20ms"}, "--rtt", "topology.rtts"),
        ({"stop": "10s"}, "--stop", "only flows of --rtts"),
    ],
)
def test_what_does_not_fit_is_refused_by_its_option(
    options: dict[str, Any], named: str, reason: str
) -> None:
    with pytest.raises(StudyError, match=reason) as refused:
        study_from_compare(transport="tcp", rate="20mbit", **options)
    assert named in str(refused.value)
