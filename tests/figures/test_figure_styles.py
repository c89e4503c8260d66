"""Colours, shapes, names and axes of figures."""

import json
import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

import support
from figures.drawn import draw, everything, figure
from netwarp.figures.kinds.ratio import KIND as RATIO
from netwarp.figures.kinds.ratio import ratio_ticks
from netwarp.figures.layout import layout, wants_log
from netwarp.figures.rows import label_rows, mean_rows, step_rows
from netwarp.figures.style import TRANSPORT_STYLES, series_styles
from netwarp.results import Results
from netwarp.study.figures import Figure


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
