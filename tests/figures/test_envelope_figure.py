"""The figure of performance envelopes, of runs whose records are made by hand."""

from __future__ import annotations

import altair
import pytest

from metrics.test_envelope import Kept, result
from netwarp.errors import StudyError
from netwarp.figures import draw_all
from netwarp.results import Results
from netwarp.results.conformance import with_conformance
from netwarp.study import study_from_mapping
from netwarp.study.figures import Figure

FIGURE = {"kind": "envelope", "y": "one.conformance_ratio", "series": "workload.one.transport"}


def test_each_contender_has_the_closed_hull_of_its_first_replicate() -> None:
    runs = [result(name, each, cell) for cell, name in enumerate("kq") for each in (0, 1)]
    kept = Kept({"k-0": 1000, "k-1": 2000, "q-0": 2000, "q-1": 1000})
    results = with_conformance(Results(tuple(runs)), kept)
    (chart,) = draw_all([Figure.model_validate(FIGURE)], results, kept)
    rows = chart.spec["data"]["values"]
    assert {row["series"] for row in rows} == {"k", "q"}
    for name in "kq":
        corners = [(row["delay"], row["rate"]) for row in rows if row["series"] == name]
        assert corners[0] == corners[-1]
    assert "Throughput (Mbit/s)" in chart.svg()
    altair.Chart.from_dict(chart.spec)  # raises where it is no Vega-Lite


def test_without_records_there_is_no_hull() -> None:
    results = Results((result("k", 0, 0),))
    assert draw_all([Figure.model_validate(FIGURE)], results) == []


def test_an_envelope_of_another_metric_is_refused() -> None:
    tables = {
        "title": "t",
        "workload": [{"name": name, "kind": "bulk", "size": "1MB"} for name in ("one", "two")],
        "factors": {"transport": ["tcp", "quic"]},
    }
    for metric in ("one.share_ratio", "jain_index"):
        figure = {"kind": "envelope", "y": metric, "series": "transport"}
        with pytest.raises(StudyError, match="an envelope is of a workload's conformance"):
            study_from_mapping(tables | {"figure": [figure]})
