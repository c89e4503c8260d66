"""Figures of the flows of a `traffic`: their distribution, and their slowdown by size."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import support
from netwarp.errors import StudyError
from netwarp.figures import draw_all
from netwarp.results import Results
from netwarp.study import study_from_mapping
from netwarp.study.figures import Figure
from netwarp.wire import FlowTable, Job, Record, job_from_json
from netwarp.workloads.traffic.flows import flows_of_table

GOLDEN = Path(__file__).parents[1] / "golden"
JOB = job_from_json((GOLDEN / "job-traffic.json").read_text())
MS = 1_000_000


class KeptFlows:
    """Runs of a hundred flows: flow i of i kB takes ten times the best possible time."""

    def job(self, run: str) -> Job | None:
        """Give the job: 1 ms, 100 Mbit/s."""
        return JOB

    def records(self, run: str) -> list[Record]:
        """Give one table of flows."""
        sizes = tuple(1000 * number for number in range(1, 101))
        best_ns = [1 * MS + 80 * size for size in sizes]
        return [
            FlowTable(
                record="flow_table",
                due_ns=(0,) * 100,
                size_bytes=sizes,
                completed_ns=tuple(10 * each for each in best_ns),
            )
        ]


def drawn(kind: str, metric: str) -> list[dict[str, float]]:
    shown = support.results(replicates=2, failed_run=None)
    runs = tuple(replace(run, metrics={metric: 1.0}) for run in shown.runs)
    asked = Figure(kind=kind, y=metric, series="transport")
    (chart,) = draw_all([asked], Results(runs), KeptFlows())
    assert draw_all([asked], Results(runs)) == [], "without records there is nothing to draw"
    return [row for row in chart.spec["data"]["values"] if row["series"] == "TCP"]


def test_the_best_possible_time_is_a_round_trip_and_the_bits_at_the_rate() -> None:
    (table,) = KeptFlows().records("c000-r00")
    assert isinstance(table, FlowTable)
    flows = flows_of_table(JOB, JOB.only, table)
    assert flows[9].time_s == pytest.approx(10 * (0.001 + 80_000 / 100e6))
    assert {round(each.slowdown or 0, 6) for each in flows} == {10}


def test_the_distribution_is_of_the_flows_of_all_runs() -> None:
    rows = drawn("flow-cdf", "flow_completion_time_s_p50")
    shares = {round(row["share"], 4) for row in rows}
    assert max(shares) == 1.0
    assert min(shares) <= 0.02
    half = min(row["value"] for row in rows if row["share"] >= 0.5)
    assert half == pytest.approx(10 * (0.001 + 8 * 50_000 / 100e6), rel=0.05)


def test_slowdowns_are_of_ten_groups_by_size() -> None:
    rows = drawn("flow-slowdown", "flow_slowdown_index_p99")
    sizes = sorted({row["size"] for row in rows})
    assert len(sizes) == 10
    assert sizes[0] < 11_000
    assert sizes[-1] > 90_000
    assert {round(row["value"], 6) for row in rows} == {10}


def test_a_figure_of_flows_refuses_other_metrics() -> None:
    tables = {
        "title": "t",
        "path": {"rtt": "10ms", "rate": "10mbit"},
        "transport": {"kind": "tcp"},
        "workload": {"kind": "traffic", "load": "1mbit"},
    }
    for kind, metric in (("flow-cdf", "goodput_bit_s"), ("flow-slowdown", "completion_time_s")):
        with pytest.raises(StudyError, match="not a metric of the flows"):
            study_from_mapping(tables | {"figure": [{"kind": kind, "y": metric}]})
