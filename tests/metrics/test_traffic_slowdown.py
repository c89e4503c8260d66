"""The slowdown of the flows of a `traffic`, against closed forms."""

from __future__ import annotations

from typing import Any

import pytest

from netwarp import wire
from netwarp.measure.best_times import IdleWay, idle_way
from netwarp.metrics.competing import competing_metrics
from netwarp.plan import plan_study
from netwarp.study import study_from_mapping
from netwarp.wire import FlowTable, OfWorkload

SIZE_BYTES = 1_000_000
BEST_S = 0.024 + 8e6 / 50e6
"""24 ms, and the bits at 50 Mbit/s."""


def job(changed: str = "", **change: Any) -> wire.Job:
    """Return the job of flows to a client behind 100 Mbit/s down and 1 Mbit/s up, from a server
    behind 50 Mbit/s both ways: the lowest rate of their direction is 50.

    Args:
        changed: the name of a link that changes after a second.
        change: its change.
    """
    timelines = {changed: {"timeline": [{"at": "1s"} | change]}}
    study = {
        "title": "slowdown",
        "replicates": 1,
        "host": [{"name": "client"}, {"name": "server"}],
        "router": [{"name": "middle"}],
        "link": [
            {"between": ["client", "middle"], "name": "access", "rtt": "20ms"}
            | {"rate_down": "100mbit", "rate_up": "1mbit"}
            | timelines.get("access", {}),
            {"between": ["middle", "server"], "name": "far", "rtt": "4ms", "rate": "50mbit"}
            | timelines.get("far", {}),
        ],
        "transport": {"kind": "tcp"},
        "workload": [
            {"name": "web", "kind": "traffic", "load": "1mbit", "count": 1}
            | {"from": "client", "to": "server"}
        ],
    }
    (run,) = plan_study(study_from_mapping(study))
    return run.job


def slowdown(of: wire.Job) -> float | None:
    """Return the slowdown of a flow that takes three times the best possible time."""
    table = FlowTable(
        record="flow_table",
        due_ns=(0,),
        size_bytes=(SIZE_BYTES,),
        completed_ns=(round(3e9 * BEST_S),),
    )
    line = OfWorkload(record="of_workload", workload="web", line=table)
    return competing_metrics(of, [line])["web.flow_slowdown_index_p50"]


def test_the_best_time_is_at_the_lowest_rate_of_the_contents_direction() -> None:
    assert slowdown(job()) == pytest.approx(3)


@pytest.mark.parametrize("link", ["access", "far"])
@pytest.mark.parametrize(
    "change",
    [{"change": "rate", "rate": "20mbit"}, {"change": "delay", "rtt": "40ms"}],
)
def test_there_is_no_best_time_where_a_link_changes(change: dict[str, str], link: str) -> None:
    assert slowdown(job(link, **change)) is None


def test_there_is_no_best_time_over_several_paths() -> None:
    path = {"rtt": "10ms", "rate": "10mbit"}
    study = {
        "title": "slowdown",
        "path": path | {"second": path},
        "transport": {"kind": "mptcp"},
        "workload": {"kind": "traffic", "load": "1mbit", "count": 1},
    }
    two = plan_study(study_from_mapping(study))[0].job
    one = two.model_copy(update={"paths": two.paths[:1]})
    ways = [idle_way(each, each.only) for each in (two, one)]
    assert ways == [None, IdleWay(10_000_000, 10_000_000)]


def offered_load_bit_s(flows: int) -> float | None:
    """Return the offered load of three flows that were completed, of as many as were asked for."""
    table = FlowTable(
        record="flow_table",
        due_ns=(0, 250_000_000, 1_000_000_000),
        size_bytes=(1000, 4000, 9_000_000),
        completed_ns=(10, 260_000_000, 2_000_000_000),
    )
    asked = job()
    workload = asked.only.workload.model_copy(update={"flows": flows})
    only = asked.only.model_copy(update={"workload": workload})
    line = OfWorkload(record="of_workload", workload="web", line=table)
    asked = asked.model_copy(update={"workloads": (only,)})
    return competing_metrics(asked, [line])["web.offered_load_bit_s"]


def test_the_offered_load_is_all_but_the_last_flows_content_over_the_time_until_it_was_due() -> (
    None
):
    assert offered_load_bit_s(flows=3) == pytest.approx(8 * 5000)


def test_the_offered_load_is_unknown_where_flows_are_missing() -> None:
    assert offered_load_bit_s(flows=4) is None
