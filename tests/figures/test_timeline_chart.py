"""The chart of runs over time: in studies, in the report, and of one run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import vl_convert

from netwarp.errors import InputError, StudyError
from netwarp.evaluation import load
from netwarp.figures import draw_all
from netwarp.figures.lines import Line
from netwarp.figures.over_time.figure import run_chart
from netwarp.figures.over_time.panels import timeline_chart
from netwarp.figures.over_time.plots import ShownRun
from netwarp.figures.over_time.run_timeline import RunTimeline
from netwarp.figures.over_time.sent import Sent
from netwarp.figures.style import SCREEN, TRANSPORT_STYLES
from netwarp.pipeline import write_outputs
from netwarp.plan import plan_study
from netwarp.report.pictures import draw_run
from netwarp.results import Results, RunResult
from netwarp.run_directory import RunDirectory
from netwarp.study import study_from_mapping
from netwarp.wire import ConnectionSamples, Job, Record, job_from_json, read_records
from recorded import STUDY, TRANSPORTS, Kept, write_directory
from sessions import GOLDEN


def results() -> Results:
    study = study_from_mapping(STUDY)
    return Results(
        tuple(
            RunResult(
                each.run, each.cell.index, each.replicate, 1, each.cell.levels, "ok", None,
                {"loading_delay_s": each.replicate + 1.0},
            )
            for each in plan_study(study)
        )
    )  # fmt: skip


def marks(spec: Any) -> list[dict[str, Any]]:
    """Find all marks of a specification."""
    if isinstance(spec, list):
        return [mark for each in spec for mark in marks(each)]
    if not isinstance(spec, dict):
        return []
    own = [spec] if "mark" in spec else []
    return own + [mark for each in spec.values() for mark in marks(each)]


def test_a_timeline_has_a_row_for_each_level_of_its_series_in_its_colour() -> None:
    figures = study_from_mapping(STUDY).figures
    (chart,) = draw_all(figures, results(), Kept())
    assert chart.name == "timeline"
    areas = [each["mark"]["color"] for each in marks(chart.spec) if each["mark"]["type"] == "area"]
    # Goodput, then the buffer.
    assert areas == 2 * [TRANSPORT_STYLES[kind].colour for kind in TRANSPORTS]
    assert "Loss 1 %: runs c001-r00, c003-r00" in chart.spec["title"]["subtitle"][0]
    assert "TCP: 5.40 s, 1 handover, 1 stall (0.500 s together), 1 seek." in chart.alt
    svg = chart.svg()
    for text in ("TCP", "QUIC", "stalled", "fhd", "path 2", "Time (s)", "Goodput (Mbit/s)"):
        assert f">{text}<" in svg


def test_time_moves_in_all_rows_together_and_a_picture_has_nothing_hidden() -> None:
    (chart,) = draw_all(study_from_mapping(STUDY).figures, results(), Kept())
    assert "params" not in chart.still
    compiled = vl_convert.vegalite_to_vega(chart.spec)
    scales = [scale for scale in _scales(compiled) if scale["name"].endswith("_x")]
    # One row for the path, which was the same, and two for each of goodput, player and buffer.
    assert len(scales) == 7
    assert {json.dumps(scale["domainRaw"]) for scale in scales} == {'{"signal": "zoom[\\"t\\"]"}'}


def _scales(spec: Any) -> list[dict[str, Any]]:
    if isinstance(spec, list):
        return [scale for each in spec for scale in _scales(each)]
    if not isinstance(spec, dict):
        return []
    own = spec.get("scales", []) if "marks" in spec else []
    return [*own, *(scale for each in spec.values() for scale in _scales(each))]


def test_bars_beyond_the_axis_are_said_and_marked_where_they_are() -> None:
    goodput = Line([(0.0, 90.0), (1.0, 130.0), (2.0, 180.0), (3.0, 0.0), (4.0, 0.0)])
    rate = Line([(0.0, 100.0), (4.0, 100.0)])
    shown = ShownRun("", "#123456", RunTimeline(4.0, rate_mbit_s=[rate], goodput_mbit_s=goodput))
    spec = timeline_chart([shown], SCREEN, interactive=False)
    area, tips = (
        next(each for each in marks(spec) if each["mark"]["type"] == kind)
        for kind in ("area", "point")
    )
    assert area["encoding"]["y"]["scale"]["domain"] == [0, 120]
    assert tips["data"]["values"] == [{"t": 2.0, "mbit": 180.0}]
    assert "triangles at the top: bars beyond the axis" in json.dumps(spec)
    low = RunTimeline(4.0, rate_mbit_s=[rate], goodput_mbit_s=Line([(0.0, 20.0), (4.0, 0.0)]))
    spec = timeline_chart([ShownRun("", "#123456", low)], SCREEN, interactive=False)
    assert not [each for each in marks(spec) if each["mark"]["type"] == "point"]
    assert "dotted" not in json.dumps(spec)  # the rate is beyond the axis as well


def test_what_was_sent_again_is_marked_on_what_was_acknowledged() -> None:
    sent = (Sent(0.0, 0.0, 1.0, 0), Sent(1.0, 1.0, 3.0, 2), Sent(2.0, 3.0, 3.0, 0))
    run = ShownRun("", "#123456", RunTimeline(2.0, sent=sent))
    drawn = marks(timeline_chart([run], SCREEN, interactive=False))
    band, crosses = (
        next(each for each in drawn if each["mark"]["type"] == kind) for kind in ("area", "point")
    )
    assert [(row["acked"], row["sent"]) for row in band["data"]["values"]] == [
        (0, 1),
        (1, 3),
        (3, 3),
    ]
    assert [row["t"] for row in crosses["data"]["values"]] == [1.0]


def test_without_kept_runs_there_is_no_timeline() -> None:
    assert draw_all(study_from_mapping(STUDY).figures, results()) == []


@pytest.mark.parametrize(
    ("figure", "message"),
    [
        ({"series": "transport"}, "path.loss has 2 levels"),
        ({"where": {"path.loss": "1%"}}, "transport has 2 levels"),
        ({"series": "transport", "where": {"path.loss": "3%"}}, "not a level of factors"),
        ({"series": "path.rtt", "where": {"path.loss": "1%"}}, "not a factor of this study"),
        (
            {"series": "transport", "where": {"path.loss": "1%", "transport": "tcp"}},
            "stands in series as well",
        ),
        (
            {"series": "transport", "where": {"path.loss": "1%"}, "y": "completion_time_s"},
            "a timeline has no y",
        ),
        ({"kind": "line", "x": "path.loss"}, "figure.0.y: missing"),
        (
            {"kind": "line", "x": "path.loss", "y": "stall_s", "replicate": 1},
            "only a timeline has replicate",
        ),
    ],
)
def test_a_timeline_that_names_no_single_runs_is_refused(
    figure: dict[str, Any], message: str
) -> None:
    with pytest.raises(StudyError, match=message):
        study_from_mapping(STUDY | {"figure": [{"kind": "timeline"} | figure]})


def test_the_report_lets_choose_among_the_median_runs(tmp_path: Path) -> None:
    directory = write_directory(tmp_path / "out")
    finished = load(directory)
    write_outputs(finished)
    assert finished.results.failed == ()
    text = (directory / "report.html").read_text()
    assert "What happened in a run" in text
    assert text.count('<option value="spec-run-') == 4
    assert "Of each cell the run with the median loading delay." in text
    # The path's delay was drawn anew, and the client moved: nothing to hold the numbers against.
    assert "configured a delay that changes over time" in text
    assert "not compared" in text
    for head in ("Loading delay", "Start-up delay", "Time stalled", "Bit rate played"):
        assert head in text


def test_one_run_is_drawn_in_the_format_of_its_files_ending(tmp_path: Path) -> None:
    directory = RunDirectory(write_directory(tmp_path / "out"))
    path = draw_run(directory, "c003-r01")
    assert path == tmp_path / "out" / "figures" / "c003-r01.svg"
    assert "QUIC, loss 1 %" in path.read_text()
    png = draw_run(directory, "c003-r01", tmp_path / "run.png").read_bytes()
    assert png.startswith(b"\x89PNG")
    spec = json.loads(draw_run(directory, "c003-r01", tmp_path / "run.json").read_text())
    assert spec["$schema"].startswith("https://vega.github.io/schema/vega-lite")
    with pytest.raises(InputError, match=r"unknown ending; choose one of \.svg"):
        draw_run(directory, "c003-r01", tmp_path / "run.jpg")
    with pytest.raises(InputError, match="no run c003-r11: did you mean"):
        draw_run(directory, "c003-r11")


class KeptOfAStack:
    """A run over a QUIC of others: the queue was sampled, and no connection was."""

    def job(self, run: str) -> Job:
        return job_from_json((GOLDEN / "job-bulk-quic-stack.json").read_text())

    def records(self, run: str) -> list[Record]:
        records = read_records(GOLDEN / "records-bulk-quic.jsonl")
        return [each for each in records if not isinstance(each, ConnectionSamples)]


def test_a_run_over_a_stack_of_others_says_why_it_has_no_window() -> None:
    kept = KeptOfAStack()
    stack = kept.job("c000-r00").only.transport.stack
    assert stack is not None
    run = RunResult("c000-r00", 0, 0, 1, {"transport": stack.name}, "ok", None, {})
    chart = run_chart(run, kept)
    assert chart is not None
    why = f"No congestion window and no RTT of {stack.name}: the stack's process alone knows them."
    assert chart.spec["title"]["subtitle"][-1] == why
    assert why in chart.alt
    of_quinn = run_chart(run, Kept())
    assert of_quinn is not None
    assert "No congestion window" not in str(of_quinn.spec["title"])
