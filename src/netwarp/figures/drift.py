"""The chart of the path between two hosts, the hosts' load and the runs, by the time of day."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from netwarp.figures.chart import Chart, finished
from netwarp.figures.style import SCREEN, STALL, Spec, Theme, series_styles
from netwarp.measure.select import network_alone
from netwarp.results import Results, RunResult
from netwarp.units import NS_PER_S
from netwarp.wire import PathMeasurement
from netwarp.wording import cell_text, level_text, number, quantity

if TYPE_CHECKING:
    from netwarp.kept_runs import Kept

MEASURED = "path_median_rtt_s"
"""Name of a metric that exactly the runs whose path was measured have."""
NAME = "drift"
TITLE = "The path, the runs and the hosts by the time of day"
ASIDE = 90
"""Width in pixels of the axis at the left of a panel, and of the legend."""
PANEL_HEIGHT = 110
OF_EACH_PANEL = ("color", "shape", "strokeDash")
"""Scales that are not shared among panels."""
TIME: Spec = {
    "field": "unix_ms", "type": "temporal", "title": "time of day (UTC)",
    "scale": {"type": "utc"}, "axis": {"format": "%H:%M:%S", "tickCount": 8},
}  # fmt: skip

AT: Spec = {
    "field": "unix_ms", "type": "temporal", "timeUnit": "utchoursminutesseconds",
    "title": "time (UTC)",
}  # fmt: skip


@dataclass(frozen=True)
class MeasuredRun:
    """A run, with the measurements of its path before and after it."""

    run: RunResult
    measured: tuple[PathMeasurement, ...]


def drift_chart(results: Results, kept: Kept, metric: str, theme: Theme = SCREEN) -> Chart | None:
    """Draw round-trip times, the runs and the load of both hosts by the time of day.

    Args:
        results: the results of a study.
        kept: access to the runs' records.
        metric: the metric of the runs that the chart shows.
        theme: size and lettering.

    Returns:
        None if no path was measured.
    """
    runs = [
        MeasuredRun(run, tuple(r for r in kept.records(run.run) if isinstance(r, PathMeasurement)))
        for run in results.runs
    ]
    measured = [each for run in runs for each in run.measured]
    if not measured:
        return None
    disturbed = sum(run.run.is_disturbed for run in runs)
    subtitle = [
        "Round-trip time of the probes around each run: the median, and from the smallest to what"
        " nine of ten did not exceed.",
        f"A red ring is around runs whose path had changed after them: {disturbed or 'none'} of"
        f" {len(runs)}.",
    ]
    network = network_alone(measured)
    panels = [_path_panel(network), _runs_panel(results, runs, metric), _load_panel(measured)]
    width = theme.width - ASIDE - round(8 * theme.font_size)
    height = round(PANEL_HEIGHT * theme.font_size / 12)
    chart: Spec = {
        "vconcat": [panel | {"width": width, "height": height} for panel in panels],
        "resolve": {"scale": {"x": "shared"} | dict.fromkeys(OF_EACH_PANEL, "independent")},
    }
    alt = f"{TITLE}. {' '.join(subtitle)} {_range_text(network)}"
    return Chart(NAME, TITLE, alt, finished(chart, TITLE, subtitle, alt, theme))


def _range_text(measured: Sequence[PathMeasurement]) -> str:
    medians_ns = [each.median_rtt_ns for each in measured if each.median_rtt_ns is not None]
    if not medians_ns:
        return "No probe came back."
    low, high = (number(each / 1e6) for each in (min(medians_ns), max(medians_ns)))
    return f"The median round-trip time was between {low} and {high} ms."


def _path_panel(measured: Sequence[PathMeasurement]) -> Spec:
    rows = [
        {
            "unix_ms": _unix_ms(each), "low": _ms(each.min_rtt_ns),
            "median": _ms(each.median_rtt_ns), "high": _ms(each.p90_rtt_ns),
            "lost": 1 - each.received / each.sent if each.sent else 1.0,
        }
        for each in measured
    ]  # fmt: skip
    scale = {"zero": False}
    y = {"field": "median", "type": "quantitative", "title": "RTT (ms)", "scale": scale}
    tips = [
        AT,
        *(_tip(field, f"RTT, {name} (ms)") for field, name in
          (("low", "smallest"), ("median", "median"), ("high", "90 %"))),
        {"field": "lost", "type": "quantitative", "title": "probes lost", "format": ".1%"},
    ]  # fmt: skip
    between = {"y": {**y, "field": "low"}, "y2": {"field": "high"}, "x": TIME}
    return {
        "data": {"values": rows},
        "layer": [
            {"mark": {"type": "rule", "opacity": 0.35}, "encoding": between},
            {"mark": {"type": "line", "strokeWidth": 1}, "encoding": {"x": TIME, "y": y}},
            {
                "mark": {"type": "point", "filled": True, "size": 25},
                "encoding": {"x": TIME, "y": y, "tooltip": tips},
            },
        ],
    }


def _runs_panel(results: Results, runs: Sequence[MeasuredRun], metric: str) -> Spec:
    factor = results.contender_factor
    labels = list(results.factors.get(factor, ())) if factor else []
    names = [level_text(factor, label) for label in labels] if factor else ["all runs"]
    styles = series_styles(factor, labels or [""])
    values = [run.run.value(metric) for run in runs]
    shown = quantity(metric, max((v for v in values if v is not None), default=1.0))
    rows = [
        {
            "unix_ms": _unix_ms(run.measured[0]), "value": value * shown.scale,
            "series": level_text(factor, run.run.factors[factor]) if factor else names[0],
            "run": run.run.run, "cell": cell_text(run.run.factors),
            "disturbed": run.run.is_disturbed,
        }
        for run, value in zip(runs, values, strict=True)
        if value is not None and run.measured
    ]  # fmt: skip
    y = {"field": "value", "type": "quantitative", "title": shown.axis_title,
         "scale": {"zero": False}}  # fmt: skip
    key = {"field": "series", "type": "nominal", "title": None}
    tips = [
        {"field": "run", "title": "run"}, {"field": "cell", "title": "cell"},
        _tip("value", shown.axis_title), AT,
    ]  # fmt: skip
    ring = {"type": "point", "shape": "circle", "size": 160, "color": STALL, "strokeWidth": 2}
    return {
        "data": {"values": rows},
        "layer": [
            {
                "mark": {"type": "point", "filled": True, "size": 40},
                "encoding": {
                    "x": TIME, "y": y, "tooltip": tips,
                    "color": {**key, "scale": {"domain": names,
                                               "range": [each.colour for each in styles]}},
                    "shape": {**key, "scale": {"domain": names,
                                               "range": [each.shape for each in styles]}},
                },
            },
            {
                "transform": [{"filter": "datum.disturbed"}],
                "mark": ring, "encoding": {"x": TIME, "y": y},
            },
        ],
    }  # fmt: skip


def _load_panel(measured: Sequence[PathMeasurement]) -> Spec:
    rows = [
        {"unix_ms": _unix_ms(each), "busy": busy, "host": host}
        for each in measured
        for host, busy in (("client", each.client_busy), ("server", each.server_busy))
        if busy is not None
    ]
    y = {"field": "busy", "type": "quantitative", "title": "CPUs in use",
         "axis": {"format": ".0%"}, "scale": {"domain": [0, 1]}}  # fmt: skip
    key = {"field": "host", "type": "nominal", "title": None}
    return {
        "data": {"values": rows},
        "mark": {"type": "line", "strokeWidth": 1.2, "point": {"size": 15}},
        "encoding": {"x": TIME, "y": y, "color": key, "strokeDash": key},
    }


def _tip(field: str, title: str) -> dict[str, Any]:
    return {"field": field, "type": "quantitative", "title": title, "format": ".4~g"}


def _unix_ms(measured: PathMeasurement) -> int:
    return measured.unix_ns * 1000 // NS_PER_S


def _ms(ns: int | None) -> float | None:
    return None if ns is None else round(ns / 1e6, 4)
