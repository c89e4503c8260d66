"""Figures: data, axes, styles, files; each kind is really drawn."""

import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import altair
import pytest

import support
from figures.drawn import draw, everything, figure
from netwarp.errors import InputError, StudyError
from netwarp.figures import default_figures, draw_all, write_chart
from netwarp.figures.kinds.base import FigureKind, kind_of
from netwarp.figures.layout import layout
from netwarp.figures.rows import mean_rows, ratio_rows
from netwarp.figures.style import PAPER, TRANSPORT_STYLES
from netwarp.results import Results
from netwarp.study import study_from_mapping
from netwarp.study.figure_kinds import FIGURE_KINDS
from netwarp.study.figures import Figure
from netwarp.wire import FlowStats, Job, Record, read_records

GOLDEN = Path(__file__).parents[1] / "golden"


#: Those that are drawn from results alone: the others read the records of runs.
OF_RECORDS = ("delay-cdf", "envelope", "flow-cdf", "flow-slowdown", "timeline")
CHART_KINDS = [name for name in FIGURE_KINDS if name not in OF_RECORDS]


PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def test_studies_can_ask_for_every_kind_that_has_a_file() -> None:
    assert set(get_args(Figure.model_fields["kind"].annotation)) == set(FIGURE_KINDS)
    for name in FIGURE_KINDS:
        kind = kind_of(Figure(kind=name))
        assert isinstance(kind, FigureKind)
        assert kind.name == name
        assert kind.__doc__ not in (None, FigureKind.__doc__)


@pytest.mark.parametrize("kind", CHART_KINDS)
def test_each_kind_is_drawn(kind: str) -> None:
    chart = draw(figure(kind), support.results(), "one")
    root = ET.fromstring(chart.svg())  # noqa: S314 - our own
    text = " ".join(root.itertext())
    for wanted in ("TCP", "QUIC", "SCTP", "TLS", "200 ms"):
        assert wanted in text
    assert "failed run left out" in chart.spec["title"]["subtitle"]
    if kind == "heatmap":
        assert chart.spec["title"]["subtitle"].startswith("Means in s,")
    elif kind.startswith("ratio"):
        assert "ratio to TCP" in text
    else:
        assert "Completion time (s)" in text
    altair.Chart.from_dict(chart.spec)  # raises where it is no Vega-Lite


def test_ratios_with_the_transport_as_series_have_a_row_for_each() -> None:
    chart = draw(figure("ratio-heatmap", series="transport"), support.results(), "one")
    rows = chart.spec["data"]["values"]
    assert {row["series"] for row in rows} == {"TLS", "SCTP", "QUIC"}
    assert not {row["panel"] for row in rows} & {"TLS", "SCTP", "QUIC"}
    titles = {row["panel"] for row in rows}
    others = draw(figure("ratio-heatmap"), support.results(), "two").spec["data"]["values"]
    assert len(titles) < len({row["panel"] for row in others})


@pytest.mark.parametrize("kind", ["line", "bar", "box", "scatter"])
def test_every_run_is_a_dot(kind: str) -> None:
    results = support.results()
    x = "first_byte_s" if kind == "scatter" else "path.loss"
    chart = draw(figure(kind, x=x), results, "one")
    runs = [row["run"] for row in chart.spec["data"]["values"] if row.get("run")]
    assert sorted(runs) == sorted(run.run for run in results.runs if run.outcome == "ok")
    marks = [part["mark"] for part in everything(chart.spec) if isinstance(part.get("mark"), dict)]
    assert any(mark["type"] in ("circle", "point") for mark in marks)


def test_a_figure_is_written_in_the_format_of_its_files_ending(tmp_path: Path) -> None:
    chart = draw(figure("line"), support.results(), "one")
    begins = {".svg": b"<svg", ".png": PNG_SIGNATURE, ".pdf": b"%PDF", ".json": b"{"}
    for ending, signature in begins.items():
        write_chart(chart, tmp_path / f"one{ending}")
        assert (tmp_path / f"one{ending}").read_bytes().startswith(signature)
    assert json.loads((tmp_path / "one.json").read_text()) == chart.spec
    with pytest.raises(InputError, match=r"one of \.svg, \.png, \.pdf, \.json"):
        write_chart(chart, tmp_path / "one.jpg")


def test_a_figure_for_a_paper_is_one_column_wide_and_has_no_title() -> None:
    chart = draw(figure("line"), support.results(), "one", PAPER)
    svg = chart.svg()
    width = float(ET.fromstring(svg).attrib["width"])  # noqa: S314 - our own
    assert width == pytest.approx(PAPER.width, abs=16)
    assert "title" not in chart.spec
    assert "over packet loss" not in svg


@pytest.mark.parametrize("kind", CHART_KINDS)
def test_the_same_results_give_the_same_specification(kind: str) -> None:
    first, second = (
        json.dumps(draw(figure(kind), support.results(), "one").spec) for _ in range(2)
    )
    assert first == second
    assert "http" not in first.replace("https://vega.github.io/schema/", "")


@pytest.mark.parametrize("kind", ["line", "bar", "box"])
def test_a_figure_may_have_no_series(kind: str) -> None:
    one = Results(tuple(r for r in support.results().runs if r.cell in (0, 6, 12, 18)))
    chart = draw(figure(kind, x="transport", series=None), one, "one")
    assert all(name in chart.svg() for name in ("TCP", "TLS", "SCTP", "QUIC"))
    coloured = TRANSPORT_STYLES["sctp"].colour in json.dumps(chart.spec)
    assert coloured == (kind != "line")


def test_no_cell_is_lost_and_none_averaged() -> None:
    results = support.results()
    rows = mean_rows(layout(results, "completion_time_s", "path.loss", "transport"))
    assert len(rows) == len(results.cells)
    assert {row["panel"] for row in rows} == {"RTT 50 ms", "RTT 200 ms"}
    tcp = next(row for row in rows if row["series"] == "TCP" and row["x_text"] == "5 %")
    estimate = results.cells[4].estimate("completion_time_s")
    assert estimate is not None
    assert estimate.ci95 == (tcp["low"], tcp["high"])


def test_few_levels_stand_at_even_distances_and_every_point_at_its_level() -> None:
    rows = mean_rows(layout(support.results(), "completion_time_s", "path.loss", "transport"))
    places = {(row["x_text"], row["x"]) for row in rows}
    assert places == {("0 %", 0), ("1 %", 1), ("5 %", 2)}


@pytest.mark.parametrize("log", [False, True])
def test_on_an_axis_of_numbers_every_point_stands_at_its_number(*, log: bool) -> None:
    plan = layout(support.results(), "completion_time_s", "path.rtt", "transport", x_log=log)
    assert {row["x"] for row in mean_rows(plan)} == {50, 200}
    assert plan.x_domain == [50, 200]


def test_points_at_one_place_are_seen_through_and_outlined() -> None:
    spec = draw(figure("line"), support.results(), "one").spec
    (points,) = (layer for layer in spec["spec"]["layer"] if layer["mark"]["type"] == "point")
    assert points["encoding"]["fillOpacity"]["value"] < 1
    assert points["encoding"]["stroke"] == points["encoding"]["fill"]


def test_series_stand_beside_each_other_where_levels_are_names() -> None:
    plan = layout(support.results(), "completion_time_s", "transport", "path.loss")
    rows = [row for row in mean_rows(plan) if row["panel"] == "RTT 50 ms"]
    for place, level in enumerate(plan.x_texts):
        places = [row["x"] for row in rows if row["x_text"] == level]
        assert sum(places) / len(places) == pytest.approx(place)
        assert len(set(places)) == 3
        assert max(places) - min(places) < 0.5


def test_ratios_are_those_of_the_comparisons() -> None:
    plan = layout(support.results(), "completion_time_s", "path.loss", "transport")
    rows = ratio_rows(plan)
    assert {row["series"] for row in rows} == {"TLS", "SCTP", "QUIC"}
    sctp = next(r for r in rows if r["series"] == "SCTP" and r["text"].startswith("1."))
    assert sctp["decided"]
    assert sctp["low"] <= sctp["ratio"] <= sctp["high"]
    assert sctp["ratio"] > 1


def test_a_figure_is_described_for_those_who_do_not_see_it() -> None:
    chart = draw(figure("line"), support.results(), "one")
    assert chart.spec["description"] == chart.alt
    for wanted in ("Line chart", "TCP, TLS, SCTP, QUIC", "RTT 50 ms; RTT 200 ms", "TCP 266 ± 26 s"):
        assert wanted in chart.alt


def test_without_figures_the_factors_say_what_to_draw() -> None:
    results = support.results()
    assert [(f.kind, f.x, f.series) for f in default_figures(results)] == [
        ("line", "path.loss", "transport"),
        ("line", "path.rtt", "transport"),
        ("ratio-heatmap", "path.loss", "path.rtt"),
    ]
    bare = Results(tuple(r for r in results.runs if r.cell in (0, 6, 12, 18)))
    assert [(f.kind, f.x) for f in default_figures(bare)] == [("bar", "transport")]
    assert default_figures(Results(())) == []
    names = ["line", "ratio", "line", "ratio", "ratio-heatmap"]
    assert [chart.alt.split()[0].lower() for chart in draw_all([], results)] == names


def test_names_of_files_differ() -> None:
    charts = draw_all([figure("bar"), figure("box"), figure("bar")], support.results())
    stem = "completion-time-over-loss"
    assert [chart.name for chart in charts] == [f"{stem}-bar", f"{stem}-box", f"{stem}-bar-2"]


def test_a_metric_that_no_run_has_is_not_drawn() -> None:
    failed = Results(tuple(r for r in support.results().runs if r.run == support.FAILED_RUN))
    assert draw_all([figure("line")], failed) == []


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"kind": "heatmap", "x": "path.loss"}, "second factor"),
        ({"kind": "scatter", "x": "path.loss"}, "not a metric"),
        ({"kind": "line", "x": "connect_time_s"}, "not a factor"),
    ],
)
def test_figures_that_cannot_be_drawn_are_refused(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(StudyError, match=message):
        study_from_mapping(support.STUDY | {"figure": [{"y": "completion_time_s", **keys}]})


def test_a_level_at_which_the_metric_means_nothing_keeps_its_place_and_is_named() -> None:
    runs = support.results().runs
    without = Results(
        tuple(replace(run, metrics={}) if run.factors["path.loss"] == "0%" else run for run in runs)
    )
    asked = figure("line")
    chart = draw(asked, without, "some")
    assert chart.spec["title"]["subtitle"].endswith("Lower is better. No value at loss 0 %.")
    plan = layout(without, "completion_time_s", "path.loss", "transport")
    first, last = plan.x_domain
    assert first < 0
    assert last > 2
    assert {row["x_text"] for row in mean_rows(plan)} == {"1 %", "5 %"}
    whole = draw(asked, support.results(), "whole").spec["title"]["subtitle"]
    assert whole.endswith("Lower is better.")


class KeptFlows:
    """Records of flows whose delays are known: of replicate n, n + 1 ms for each thousandth."""

    def job(self, run: str) -> Job | None:
        """Give nothing: the distribution needs no job."""
        del run
        return None

    def records(self, run: str) -> list[Record]:
        """Give a flow's packets and messages."""
        (golden, *_) = (
            each
            for each in read_records(GOLDEN / "records-flow.jsonl")
            if isinstance(each, FlowStats)
        )
        step_ns = 1_000_000 * (int(run[-2:]) + 1)
        delays = tuple(step_ns * permille for permille in range(1001))
        message = golden.model_copy(update={"unit": "message", "delay_quantiles_ns": delays})
        packet = golden.model_copy(update={"unit": "packet", "delay_quantiles_ns": (7,) * 1001})
        return [packet, message]


def test_delays_within_runs_are_drawn_by_their_mean_quantiles() -> None:
    shown = support.results(replicates=3, failed_run=None)
    runs = tuple(replace(run, metrics={"message_delay_s_p50": 1.0}) for run in shown.runs)
    asked = Figure(kind="delay-cdf", y="message_delay_s_p50", series="transport")
    (chart,) = draw_all([asked], Results(runs), KeptFlows())
    rows = chart.spec["data"]["values"]
    found = {row["share"]: row["value"] for row in rows}
    # The replicates' steps are 1, 2 and 3 ms: 2 on average.
    assert found[0.5] == pytest.approx(1.0)
    assert found[0.999] == pytest.approx(1.998)
    assert found[1.0] == pytest.approx(2.0)
    assert chart.title == "Distribution of message delay"
    assert draw_all([asked], Results(runs)) == [], "without records there is nothing to draw"
