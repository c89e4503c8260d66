"""Figures: data, axes, styles, files; each kind is really drawn."""

import json
import math
import xml.etree.ElementTree as ET
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import altair
import pytest

import support
from netwarp.errors import InputError, StudyError
from netwarp.figures import default_figures, draw_all, write_chart
from netwarp.figures.chart import Chart
from netwarp.figures.kinds.base import FigureKind, kind_of
from netwarp.figures.kinds.ratio import KIND as RATIO
from netwarp.figures.kinds.ratio import ratio_ticks
from netwarp.figures.layout import layout, wants_log
from netwarp.figures.rows import label_rows, mean_rows, ratio_rows, step_rows
from netwarp.figures.style import PAPER, SCREEN, TRANSPORT_STYLES, Theme, series_styles
from netwarp.results import Results
from netwarp.study import study_from_mapping
from netwarp.study.figure_kinds import FIGURE_KINDS
from netwarp.study.figures import Figure
from netwarp.wire import FlowStats, Job, Record, read_records

GOLDEN = Path(__file__).parents[1] / "golden"

CHART_KINDS = [name for name in FIGURE_KINDS if not kind_of(Figure(kind=name)).reads_records]
PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def figure(kind: str, **keys: Any) -> Figure:
    x = {"cdf": None, "scatter": "retransmitted_packets"}.get(kind, "path.loss")
    series = "path.rtt" if kind == "ratio-heatmap" else "transport"
    given = {"kind": kind, "x": x, "y": "completion_time_s", "series": series}
    return Figure.model_validate(given | keys)


def everything(spec: Any) -> list[dict[str, Any]]:
    """All objects in a specification."""
    if isinstance(spec, dict):
        return [spec] + [found for value in spec.values() for found in everything(value)]
    if isinstance(spec, list):
        return [found for value in spec for found in everything(value)]
    return []


def draw(asked: Figure, results: Results, name: str, theme: Theme = SCREEN) -> Chart:
    """Draw a figure of what is known without records."""
    chart = kind_of(asked).draw(asked, results, None, name, theme)
    assert chart is not None
    return chart


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


def test_the_rule_at_ratio_1_ends_before_the_names_of_the_lines() -> None:
    plan = layout(support.results(), "completion_time_s", "path.loss", "transport")
    rule = RATIO.chart(figure("ratio"), plan)["spec"]["layer"][0]["encoding"]
    last = max(plan.place(cell) for cell in plan.results.cells)
    assert (rule["x"]["datum"], rule["x2"]["datum"]) == (plan.x_domain[0], last)
    assert last < plan.x_domain[1]


@pytest.mark.parametrize("kind", ["line", "ratio"])
def test_lines_of_other_series_than_transports_have_their_names_at_their_ends(kind: str) -> None:
    versions = {"tcp": "2", "quic": "3"}
    runs = [
        replace(
            run,
            factors={
                "workload.http": versions[run.factors["transport"]],
                "path.loss": run.factors["path.loss"],
                "path.rtt": run.factors["path.rtt"],
            },
        )
        for run in support.results().runs
        if run.factors["transport"] in versions
    ]
    given = {"kind": kind, "x": "path.loss", "y": "completion_time_s", "series": "workload.http"}
    chart = draw(Figure.model_validate(given), Results(tuple(runs)), "one")
    labels = {row["series"] for row in chart.spec["data"]["values"] if "label_y" in row}
    assert labels == ({"HTTP/2", "HTTP/3"} if kind == "line" else {"HTTP/3"})


def test_names_at_the_ends_of_lines_do_not_overlap() -> None:
    plan = layout(support.results(), "completion_time_s", "path.loss", "transport")
    means = [row | {"mean": 5.0, "low": 5.0, "high": 5.0} for row in mean_rows(plan)]
    labels = label_rows(plan, means, "mean", apart=0.1, log=False)
    heights = sorted(row["label_y"] for row in labels if row["panel"] == "RTT 50 ms")
    assert [round(b - a, 9) for a, b in pairwise(heights)] == [0.5, 0.5, 0.5]
    assert sum(heights) / len(heights) == pytest.approx(5)


def test_a_distribution_climbs_from_nothing_to_all() -> None:
    rows = step_rows(layout(support.results(), "completion_time_s", None, "transport"))
    one = [r for r in rows if r["series"] == "QUIC" and r["panel"] == "Loss 5 %, RTT 50 ms"]
    assert [row["share"] for row in one] == pytest.approx([i / 10 for i in range(11)])
    assert [row["value"] for row in one] == sorted(row["value"] for row in one)


def test_transports_keep_their_colours_whichever_are_shown() -> None:
    results = support.results()
    some = Results(tuple(r for r in results.runs if r.factors["transport"] in ("sctp", "quic")))
    for shown in (results, some):
        spec = draw(figure("line"), shown, "one").spec
        scales = [part["scale"] for part in everything(spec) if "scale" in part]
        scales = [scale for scale in scales if "QUIC" in (scale or {}).get("domain", [])]
        colours = [dict(zip(s["domain"], s["range"], strict=True)) for s in scales]
        assert {c["QUIC"] for c in colours if str(c["QUIC"]).startswith("#")} == {
            TRANSPORT_STYLES["quic"].colour
        }


def test_the_legend_says_what_levels_are_of() -> None:
    """Transports have names of their own; 5 % of what must be said."""
    named = {"transport": {None}, "path.loss": {"Packet loss"}}
    for series, titles in named.items():
        spec = draw(figure("bar", x="path.rtt", series=series), support.results(), "one").spec
        encoded = [part for part in everything(spec) if part.get("field") == "series"]
        assert {part["title"] for part in encoded if "scale" in part and "title" in part} == titles


def test_no_two_transports_look_alike() -> None:
    styles = TRANSPORT_STYLES.values()
    assert len({style.colour for style in styles}) == len(styles)
    assert len({style.shape for style in styles}) == len(styles)


def test_variants_of_a_transport_share_its_colour_in_shades() -> None:
    old, new, sctp = series_styles("transport", ["tcp-2008", "tcp", "sctp"])
    assert new == TRANSPORT_STYLES["tcp"]
    assert sctp == TRANSPORT_STYLES["sctp"]
    blue = [int(old.colour[i : i + 2], 16) for i in (1, 3, 5)]
    assert blue[2] == max(blue) > 0
    assert (old.shape, old.dash) != (new.shape, new.dash)
    cubic, bbr = series_styles("transport.congestion", ["cubic", "bbr"], "quic")
    assert cubic == TRANSPORT_STYLES["quic"]
    assert bbr.colour != cubic.colour
    colours = {style.colour for style in TRANSPORT_STYLES.values()}
    others = series_styles("path.queue", ["1bdp", "2bdp", "4bdp"])
    assert not colours & {style.colour for style in others}


def test_transports_keep_their_colours_beside_stacks_of_their_own_names() -> None:
    tcp, quinn, stack, ngtcp2 = series_styles("transport", ["tcp", "quinn", "quic-go", "ngtcp2"])
    assert tcp == TRANSPORT_STYLES["tcp"]
    assert stack.colour == TRANSPORT_STYLES["quic"].colour
    assert len({each.colour for each in (tcp, quinn, stack, ngtcp2)}) == 4


def test_more_than_two_decades_want_a_logarithm() -> None:
    assert wants_log([1, 101])
    assert not wants_log([1, 100])
    assert not wants_log([0, 1000])
    assert not wants_log([])


@pytest.mark.parametrize(("asked", "kind"), [(None, "log"), ("linear", None), ("log", "log")])
def test_the_metrics_axis_is_logarithmic_by_need_or_wish(
    asked: str | None, kind: str | None
) -> None:
    spec = draw(figure("line", y_scale=asked), support.results(), "one").spec
    scales = {
        part["y"]["scale"].get("type")
        for part in everything(spec)
        if isinstance(part.get("y"), dict) and "scale" in part["y"]
    }
    assert scales == {kind}


def test_ticks_stand_at_the_levels() -> None:
    spec = draw(figure("line"), support.results(), "one").spec
    axes = [p["axis"] for p in everything(spec) if p.get("title") == "Packet loss (%)"]
    assert axes
    assert {axis["labelExpr"] for axis in axes} == {'["0", "1", "5"][datum.value]'}
    spec = draw(figure("line", x_scale="linear"), support.results(), "one").spec
    axes = [p["axis"] for p in everything(spec) if p.get("title") == "Packet loss (%)"]
    assert all(axis["values"] == [0, 1, 5] for axis in axes)


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


@pytest.mark.parametrize(
    ("low", "high"), [(0.8, 6.0), (0.5, 1.03), (0.97, 1.03), (0.86, 3.1), (0.2, 9.0), (0.9, 40.0)]
)
def test_each_side_of_no_difference_that_has_room_has_a_tick(low: float, high: float) -> None:
    ticks = ratio_ticks(low, high)
    assert ticks == sorted(set(ticks))
    assert 1.0 in ticks
    assert low <= ticks[0] <= ticks[-1] <= high
    width = math.log(high / low)
    assert (ticks[0] < 1) or math.log(1 / low) <= 0.08 * width
    assert (ticks[-1] > 1) or math.log(high) <= 0.08 * width


@pytest.mark.parametrize("kind", ["line", "ratio"])
def test_no_line_joins_levels_that_are_names(kind: Any) -> None:
    """Between CUBIC and BBR there is nothing; between 1 % and 5 % of loss there is."""
    for x, is_joined in (("path.loss", True), ("transport.congestion", False)):
        runs = [
            replace(
                run,
                factors={"transport": run.factors["transport"], x: level},
            )
            for run in support.results(failed_run=None).runs
            if run.factors["path.rtt"] == "50ms"
            and (level := {"1%": "cubic", "5%": "bbr"}.get(run.factors["path.loss"]))
            and (is_joined is False or (level := run.factors["path.loss"]))
        ]
        figure = Figure(kind=kind, x=x, y="completion_time_s", series="transport")
        spec = draw(figure, Results(tuple(runs)), "f").spec
        assert ('"type": "line"' in json.dumps(spec)) is is_joined
