"""The keys of a `traffic`: which flows its load makes, and what is refused where it stands."""

from __future__ import annotations

from typing import Any

import pytest

from netwarp import wire
from netwarp.errors import StudyError
from netwarp.plan import plan_study
from netwarp.plan.randomness import randomness
from netwarp.study import study_from_mapping
from netwarp.workloads import workload_of
from netwarp.workloads.traffic.distributions import POINTS, mean_bytes, size_points

PATH = {"rtt": "1ms", "rate": "100mbit", "queue": "1bdp"}


def jobs(replicates: int = 1, **keys: Any) -> list[wire.Job]:
    tables = {
        "title": "t",
        "replicates": replicates,
        "path": PATH,
        "transport": {"kind": "tcp"},
        "workload": {"kind": "traffic", "load": "40mbit"} | keys,
    }
    return [run.job for run in plan_study(study_from_mapping(tables))]


def test_distributions_are_those_of_the_literature() -> None:
    """As pFabric tells (SIGCOMM 2013), of web search flows 30 % are larger than 1 MB,
    with 95 % of all bytes; of data mining more than 80 % are smaller than 10 kB, and 95 % of all
    bytes are in the 4 % that are larger than 35 MB.
    """
    web, mining = (size_points(name, 1.0) for name in ("web-search", "data-mining"))
    assert mean_bytes(web) == pytest.approx(1.67e6, rel=0.01)
    assert mean_bytes(mining) == pytest.approx(7.47e6, rel=0.01)
    assert next(point.ratio for point in web if point.size_bytes > 900_000) == 0.7
    assert next(point.ratio for point in mining if point.size_bytes > 10_000) == 0.8
    for points in POINTS.values():
        assert [ratio for _, ratio in points] == sorted(ratio for _, ratio in points)


def test_flows_begin_as_often_as_makes_up_the_load() -> None:
    (job,) = jobs(scale="10%", count=50)
    traffic = job.only.workload
    assert isinstance(traffic, wire.Traffic)
    assert isinstance(traffic.arrivals, wire.PoissonArrivals)
    bits = 8 * mean_bytes(traffic.sizes)
    assert bits / (traffic.arrivals.interval_ns / 1e9) == pytest.approx(40e6, rel=1e-6)
    assert traffic.flows == 50


def test_replicates_have_flows_of_their_own() -> None:
    first, second = jobs(replicates=2)
    assert first.only.workload != second.only.workload
    assert randomness(first) == ("arrivals", "flow sizes")


def test_sizes_are_drawn_at_equal_intervals_too() -> None:
    first, second = jobs(replicates=2, arrivals="constant")
    assert first.only.workload != second.only.workload
    assert randomness(first) == ("flow sizes",)
    (equal,) = jobs(arrivals="constant", scale="0.000001%", load="1kbit")
    assert randomness(equal) == (), "all have one byte"


def test_the_most_content_is_of_flows_of_the_largest_size() -> None:
    (job,) = jobs(count=50)
    assert workload_of(job).most_content_bytes(job) == 50 * 20_000 * 1460


@pytest.mark.parametrize(
    ("keys", "key", "part"),
    [
        ({"load": "unlimited"}, "load", "flows begin by the load"),
        ({"scale": "0%"}, "scale", "flows have a size"),
        ({"count": 20_001}, "count", "from 1 to 20000"),
        ({"load": "1kbit", "count": 20_000}, "count", "have fewer, or a larger load"),
        ({"sizes": "web"}, "sizes", "web-search"),
    ],
)
def test_flows_that_cannot_be_are_refused(keys: dict[str, Any], key: str, part: str) -> None:
    with pytest.raises(StudyError) as refused:
        jobs(**keys)
    assert refused.value.key == f"workload.{key}"
    assert part in str(refused.value)
