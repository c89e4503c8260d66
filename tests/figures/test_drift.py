"""The path between two hosts, the runs over it and the hosts' load by the time of day."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import altair
import pytest

import support
from netwarp.figures.drift import drift_chart
from netwarp.figures.figures import draw_all
from netwarp.results import Results
from netwarp.wire import PathMeasurement, Record, read_records

GOLDEN = Path(__file__).parents[1] / "golden" / "records-remote.jsonl"
(BEFORE, *_) = (each for each in read_records(GOLDEN) if isinstance(each, PathMeasurement))
MINUTE_NS = 60_000_000_000
DISTURBED = "c000-r01"


class Kept:
    """Runs a minute apart, each measured before and after; the path becomes slower by the run."""

    def __init__(self, names: list[str]) -> None:
        self.places = {name: place for place, name in enumerate(names)}

    def job(self, run: str) -> None:
        """Nothing that the chart needs."""

    def records(self, run: str) -> list[Record]:
        place = self.places[run]
        return [
            BEFORE.model_copy(
                update={
                    "moment": moment, "unix_ns": place * MINUTE_NS + after * MINUTE_NS // 2,
                    "median_rtt_ns": 1_000_000 * (1 + place), "client_busy": 0.25 * after,
                    "server_busy": 0.5,
                }
            )
            for after, moment in enumerate(("before", "after"))
        ]  # fmt: skip


@pytest.fixture(scope="module")
def results() -> Results:
    runs = [
        replace(
            run, metrics=dict(run.metrics)
            | {"path_median_rtt_s": 0.001, "disturbed_ratio": float(run.run == DISTURBED)},
        )
        for run in support.results(replicates=2, failed_run=None).runs
        if (run.factors["path.loss"], run.factors["path.rtt"]) == ("0%", "50ms")
    ]  # fmt: skip
    return Results(tuple(runs))


def panels(results: Results) -> list[dict[str, Any]]:
    chart = drift_chart(results, Kept([run.run for run in results.runs]), "completion_time_s")
    assert chart is not None
    altair.Chart.from_dict(chart.spec)  # raises where it is no Vega-Lite
    found: list[dict[str, Any]] = chart.spec["vconcat"]
    return found


def test_every_probe_is_drawn_at_its_time_of_day(results: Results) -> None:
    path, _, load = panels(results)
    rows = path["data"]["values"]
    assert len(rows) == 2 * len(results.runs)
    assert [row["unix_ms"] for row in rows[:4]] == [0, 30_000, 60_000, 90_000]
    assert [row["median"] for row in rows[:4]] == [1, 1, 2, 2]
    server = [row["busy"] for row in load["data"]["values"] if row["host"] == "server"]
    assert set(server) == {0.5}


def test_every_run_is_drawn_and_disturbed_ones_have_a_ring(results: Results) -> None:
    _, runs, _ = panels(results)
    rows = runs["data"]["values"]
    assert {row["run"] for row in rows} == {run.run for run in results.runs}
    assert [row["run"] for row in rows if row["disturbed"]] == [DISTURBED]
    assert "datum.disturbed" in str(runs["layer"][-1]["transform"])


def test_the_words_say_how_far_it_drifted(results: Results) -> None:
    chart = drift_chart(results, Kept([run.run for run in results.runs]), "completion_time_s")
    assert chart is not None
    assert "1 of 8." in chart.alt
    assert "between 1.00 and 8.00 ms" in chart.alt


def test_a_report_has_it_where_a_path_was_measured_and_nowhere_else(results: Results) -> None:
    kept = Kept([run.run for run in results.runs])
    assert draw_all([], results, kept)[-1].name == "drift"
    virtual = support.results(replicates=2)
    assert "drift" not in [chart.name for chart in draw_all([], virtual, kept)]
