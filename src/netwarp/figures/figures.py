"""The figures of a study: which ones there are, and drawing each as a chart or a file."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from netwarp.errors import InputError
from netwarp.figures.chart import Chart, finished
from netwarp.figures.charts import OVER_FACTOR, distribution, scatter
from netwarp.figures.delays import delay_rows, unit_of
from netwarp.figures.drift import MEASURED, drift_chart
from netwarp.figures.layout import Layout, layout
from netwarp.figures.over_time.figure import timeline_figure
from netwarp.figures.rows import ratio_rows
from netwarp.figures.style import SCREEN
from netwarp.metrics import metric_named
from netwarp.results.comparisons import main_metric
from netwarp.run_files import write_bytes, write_text
from netwarp.study.questions import Figure
from netwarp.wording import (
    condition_text,
    factor_name,
    factor_title,
    less_is_better,
    level_text,
    mean_text,
    quantity,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from netwarp.figures.over_time.figure import Kept
    from netwarp.figures.style import Spec, Theme
    from netwarp.results import CellResult, Results
    from netwarp.wording import Quantity


def draw_all(
    figures: Sequence[Figure], results: Results, kept: Kept | None = None, theme: Theme = SCREEN
) -> list[Chart]:
    """Draw a study's figures; without any, those that `default_figures` derives.

    A figure of a metric that no run has is left out, and so is a timeline of runs that are not
    kept. For runs between two hosts the drift of their path is the last figure.
    """
    charts: list[Chart] = []
    for figure in wanted_figures(figures, results):
        name = _free_name(figure, {chart.name for chart in charts})
        if figure.kind == "timeline":
            chart = timeline_figure(figure, results, kept, name, theme) if kept else None
            charts += [chart] if chart else []
        elif figure.kind == "delay-cdf":
            chart = _delay_figure(figure, results, kept, name, theme) if kept else None
            charts += [chart] if chart else []
        elif figure.y in results.metrics:
            charts.append(draw(figure, results, name, theme))
    if kept and MEASURED in results.metrics:
        drift = drift_chart(results, kept, main_metric(results), theme)
        charts += [drift] if drift else []
    return charts


def wanted_figures(figures: Sequence[Figure], results: Results) -> list[Figure]:
    """Give a study's figures, or the default ones; each line chart is followed by one of ratios."""
    chosen = list(figures) or default_figures(results)
    asked = {(figure.kind, figure.x, figure.y) for figure in chosen}
    together: list[Figure] = []
    for figure in chosen:
        together.append(figure)
        ratios = Figure(kind="ratio", x=figure.x, y=figure.y, series=figure.series)
        is_new = ("ratio", figure.x, figure.y) not in asked
        if figure.kind == "line" and is_new and _has_ratios(ratios, results):
            together.append(ratios)
    return together


def _has_ratios(figure: Figure, results: Results) -> bool:
    is_compared = figure.series is not None and figure.series == results.contender_factor
    if not is_compared or figure.y not in results.metrics:
        return False
    return bool(ratio_rows(layout(results, figure.metric, figure.x, figure.series)))


def default_figures(results: Results) -> list[Figure]:
    """Derive figures from the factors: the main metric over each condition, and a ratio map."""
    contender = results.contender_factor
    if contender is None:
        return []
    metric = main_metric(results)
    conditions = [f for f, levels in results.factors.items() if len(levels) > 1 and f != contender]
    if not conditions:
        return [Figure(kind="bar", x=contender, y=metric, series=contender)]
    figures = [Figure(kind="line", x=factor, y=metric, series=contender) for factor in conditions]
    if len(conditions) > 1:
        first, second = conditions[:2]
        figures.append(Figure(kind="ratio-heatmap", x=first, y=metric, series=second))
    return figures


def draw(figure: Figure, results: Results, name: str, theme: Theme = SCREEN) -> Chart:
    """Draw one figure."""
    x = None if figure.kind in ("cdf", "scatter") else figure.x
    # Bars and boxes without series have the colours of their levels.
    series = figure.series or (x if figure.kind in ("bar", "box") else None)
    plan = layout(
        results, figure.metric, x, series,
        x_log=_log(figure.x_scale), y_log=_log(figure.y_scale), theme=theme,
    )  # fmt: skip
    if figure.kind == "scatter":
        if figure.x is None:
            raise ValueError("a scatter chart has a metric along x")
        chart = scatter(plan, figure.x)
    else:
        chart = OVER_FACTOR[figure.kind](plan)
    return _titled(figure, plan, chart, name, theme)


def _delay_figure(
    figure: Figure, results: Results, kept: Kept, name: str, theme: Theme
) -> Chart | None:
    """Draw the distribution of delays within runs; None where no run has any, or none is kept."""
    y_log = _log(figure.y_scale)
    plan = layout(results, figure.metric, None, figure.series, y_log=y_log, theme=theme)
    rows = delay_rows(plan, kept)
    if not rows:
        return None
    value = f"{_delay(plan.shown)} ({plan.shown.unit})"
    chart = distribution(plan, rows, value, f"Share of {unit_of(figure.metric)}s")
    return _titled(figure, plan, chart, name, theme)


def _delay(shown: Quantity) -> str:
    """Name the quantity of a quantile: of "Message delay, 95 %" it is the message delay."""
    return shown.title.partition(",")[0]


def _titled(figure: Figure, plan: Layout, chart: Spec, name: str, theme: Theme) -> Chart:
    title = figure.title or _title(figure, plan.results)
    alt = _alt_text(figure, plan, title)
    return Chart(name, title, alt, finished(chart, title, _subtitle(figure, plan), alt, theme))


def write_chart(chart: Chart, path: Path) -> None:
    """Write a chart in the format of the file's extension.

    Raises:
        InputError: there is no such format.
    """
    if path.suffix not in WRITERS:
        raise InputError(f"-o {path}: unknown ending; choose one of {', '.join(WRITERS)}")
    WRITERS[path.suffix](path, chart)


WRITERS: Mapping[str, Callable[[Path, Chart], None]] = {
    ".svg": lambda path, chart: write_text(path, chart.svg()),
    ".png": lambda path, chart: write_bytes(path, chart.png()),
    ".pdf": lambda path, chart: write_bytes(path, chart.pdf()),
    ".json": lambda path, chart: write_text(path, json.dumps(chart.spec, indent=1) + "\n"),
}
"""Writers by file extension; `.json` is Vega-Lite with data."""


def _log(scale: str | None) -> bool | None:
    return None if scale is None else scale == "log"


def _title(figure: Figure, results: Results) -> str:
    metric = quantity(figure.metric, 1).title
    contender = results.contender_factor
    if figure.kind in ("ratio", "ratio-heatmap") and contender is not None:
        first = level_text(contender, results.first)
        metric = f"{metric}, ratio to {first},"
    if figure.kind == "cdf":
        return f"Distribution of {metric.lower()}"
    if figure.kind == "delay-cdf":
        return f"Distribution of {_delay(quantity(figure.metric, 1)).lower()}"
    if figure.kind == "scatter" and figure.x is not None:
        return f"{metric} against {quantity(figure.x, 1).title.lower()}"
    if figure.x is None:
        return metric
    over = factor_title(figure.x)
    if figure.kind == "ratio-heatmap" and figure.series is not None:
        over += f" and {factor_name(figure.series)}"
    return f"{metric} over {over if over.isupper() else over[:1].lower() + over[1:]}"


_SHOWN = {
    "line": "Means with 95 % confidence intervals, dots are runs",
    "bar": "Means with 95 % confidence intervals, dots are runs",
    "heatmap": "Means",
    "box": "Median, quartiles, whiskers to 1.5 IQR, and every run",
    "cdf": "Empirical distribution",
    "delay-cdf": "Distribution within a run, mean over runs",
    "scatter": "Every run",
    "ratio": "Ratios with 95 % confidence intervals, filled where significant (Holm)",
    "ratio-heatmap": "Ratios, in brackets where not significant (Holm)",
}


def _subtitle(figure: Figure, plan: Layout) -> str:
    results = plan.results
    counts = {len(cell.runs) for cell in results.cells}
    runs = f"{counts.pop()} runs a cell" if len(counts) == 1 else "unequal numbers of runs"
    failed = len(results.failed)
    left_out = f"; {failed} failed run{'s' if failed > 1 else ''} left out" if failed else ""
    better = "lower" if less_is_better(figure.metric) else "higher"
    if figure.kind.startswith("ratio"):
        better = f"{'below' if better == 'lower' else 'above'} 1"
    verdict = f" {better.capitalize()} is better."
    if metric_named(figure.metric).better == "neither":
        verdict = ""
    # A heat map has no axis that shows the unit.
    unit = f" in {plan.shown.unit}" if figure.kind == "heatmap" and plan.shown.unit else ""
    return f"{_SHOWN[figure.kind]}{unit}, {runs}{left_out}.{verdict}{_without_value(plan)}"


def _without_value(plan: Layout) -> str:
    if plan.x is None or not plan.x_without_value:
        return ""
    levels = [condition_text({plan.x: label}) for label in plan.x_without_value]
    return f" No value at {', '.join(levels)}."


def _alt_text(figure: Figure, plan: Layout, title: str) -> str:
    """Describe the chart: its axes, and the means at the level where they differ most."""
    unit = "ratio" if figure.kind.startswith("ratio") else plan.shown.unit or "count"
    parts = [f"{figure.kind.capitalize()} chart: {title} ({unit})."]
    if plan.series is not None:
        names = ", ".join(level_text(plan.series, label) for label in plan.series_labels)
        parts.append(f"One series for each {factor_name(plan.series)}: {names}.")
    if len(plan.panels) > 1:
        parts.append(f"Panels: {'; '.join(plan.panels)}.")
    last = plan.results.cells[-1]
    shared = {f: level for f, level in last.factors.items() if f != plan.series}
    means = [_mean_of(cell, plan) for cell in plan.results.select(shared)]
    if plan.series is not None and any(means):
        where = f"With {condition_text(shared)}" if shared else "Means"
        parts.append(f"{where}: {', '.join(filter(None, means))}.")
    return " ".join(parts)


def _mean_of(cell: CellResult, plan: Layout) -> str:
    estimate = cell.estimate(plan.metric)
    if estimate is None or plan.series is None:
        return ""
    name = level_text(plan.series, cell.factors[plan.series])
    return f"{name} {mean_text(estimate, plan.shown)} {plan.shown.unit}".rstrip()


def _free_name(figure: Figure, taken: set[str]) -> str:
    """Name a figure's files after what it shows: `completion-time-over-loss`."""
    metric = re.sub(r"_(bit_)?s$", "", figure.y or figure.kind).replace("_", "-")
    over = f"-over-{figure.x.rsplit('.', 1)[-1].replace('_', '-')}" if figure.x else ""
    stem = (
        f"{metric}{over}"
        if figure.kind in ("line", "timeline")
        else f"{metric}{over}-{figure.kind}"
    )
    name, number = stem, 2
    while name in taken:
        name, number = f"{stem}-{number}", number + 1
    return name
