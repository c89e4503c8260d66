"""Figures of a study: which ones, and each as interactive chart, SVG and PNG."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from netwarp.figures.charts import OVER_FACTOR, Chart, scatter, titled
from netwarp.figures.data import Layout, layout
from netwarp.figures.over_time.figure import timeline_figure
from netwarp.results.comparisons import main_metric
from netwarp.run_directory import write_bytes, write_text
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
    from collections.abc import Sequence
    from pathlib import Path

    from netwarp.figures.over_time.figure import Kept
    from netwarp.results import CellResult, Results


def draw_all(figures: Sequence[Figure], results: Results, kept: Kept | None = None) -> list[Chart]:
    """Draw a study's figures; without any, those that `default_figures` derives.

    A figure of a metric that no run has is left out: the report says that nothing succeeded. So is
    a timeline of runs that are not kept.
    """
    wanted = list(figures) or default_figures(results)
    charts: list[Chart] = []
    for figure in wanted:
        name = _free_name(figure, {chart.name for chart in charts})
        if figure.kind == "timeline":
            chart = timeline_figure(figure, results, kept, name) if kept else None
            charts += [chart] if chart else []
        elif figure.y in results.metrics:
            charts.append(draw(figure, results, name))
    return charts


def default_figures(results: Results) -> list[Figure]:
    """Derive figures from the factors: the metrics of interest over each numeric condition."""
    contender = results.contender_factor
    if contender is None:
        return []
    metric = main_metric(results)
    conditions = [f for f, levels in results.factors.items() if len(levels) > 1 and f != contender]
    if not conditions:
        return [Figure(kind="bar", x=contender, y=metric, series=contender)]
    return [Figure(kind="line", x=factor, y=metric, series=contender) for factor in conditions]


def draw(figure: Figure, results: Results, name: str) -> Chart:
    """Draw one figure."""
    x = None if figure.kind in ("cdf", "scatter") else figure.x
    # Bars and boxes without series take the colours of what they stand for.
    series = figure.series or (x if figure.kind in ("bar", "box") else None)
    plan = layout(
        results, figure.metric, x, series,
        x_log=_log(figure.x_scale), y_log=_log(figure.y_scale),
    )  # fmt: skip
    if figure.kind == "scatter":
        if figure.x is None:
            raise ValueError("a scatter chart has a metric along x")
        chart = scatter(plan, figure.x)
    else:
        chart = OVER_FACTOR[figure.kind](plan)
    title = figure.title or _title(figure)
    alt = _alt_text(figure, plan, title)
    return Chart(name, title, alt, titled(chart, title, _subtitle(figure, plan), alt))


def write_charts(charts: Sequence[Chart], folder: Path) -> None:
    """Write NAME.svg, NAME.png and NAME.json (Vega-Lite with data) for each figure."""
    folder.mkdir(exist_ok=True)
    for chart in charts:
        write_text(folder / f"{chart.name}.json", json.dumps(chart.spec, indent=1) + "\n")
        write_text(folder / f"{chart.name}.svg", chart.svg())
        write_bytes(folder / f"{chart.name}.png", chart.png())


def _log(scale: str | None) -> bool | None:
    return None if scale is None else scale == "log"


def _title(figure: Figure) -> str:
    metric = quantity(figure.metric, 1).title
    if figure.kind == "cdf":
        return f"Distribution of {metric.lower()}"
    if figure.kind == "scatter" and figure.x is not None:
        return f"{metric} against {quantity(figure.x, 1).title.lower()}"
    if figure.x is None:
        return metric
    over = factor_title(figure.x)
    return f"{metric} over {over if over.isupper() else over[:1].lower() + over[1:]}"


_SHOWN = {
    "line": "Means with 95 % confidence intervals (Student’s t)",
    "bar": "Means with 95 % confidence intervals (Student’s t)",
    "heatmap": "Means",
    "box": "Median, quartiles, whiskers to 1.5 IQR, and every run",
    "cdf": "Empirical distribution",
    "scatter": "Every run",
}


def _subtitle(figure: Figure, plan: Layout) -> str:
    results = plan.results
    counts = {len(cell.runs) for cell in results.cells}
    runs = f"{counts.pop()} runs a cell" if len(counts) == 1 else "unequal numbers of runs"
    failed = len(results.failed)
    left_out = f"; {failed} failed run{'s' if failed > 1 else ''} left out" if failed else ""
    better = "lower" if less_is_better(figure.metric) else "higher"
    # A heat map has no axis to say the unit.
    unit = f" in {plan.shown.unit}" if figure.kind == "heatmap" and plan.shown.unit else ""
    return (
        f"{_SHOWN[figure.kind]}{unit}, {runs}{left_out}. {better.capitalize()} is better."
        f"{_without_value(plan)}"
    )


def _without_value(plan: Layout) -> str:
    if plan.x is None or not plan.x_without_value:
        return ""
    levels = [condition_text({plan.x: label}) for label in plan.x_without_value]
    return f" No value at {', '.join(levels)}."


def _alt_text(figure: Figure, plan: Layout, title: str) -> str:
    """Describe the chart: what is drawn over what, and the means where they are most apart."""
    parts = [f"{figure.kind.capitalize()} chart: {title} ({plan.shown.unit or 'count'})."]
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
