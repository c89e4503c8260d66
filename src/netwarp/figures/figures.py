"""The figures of a study: which ones there are, and drawing each as a chart or a file."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from netwarp.errors import InputError
from netwarp.figures.chart import Chart
from netwarp.figures.drift import MEASURED, drift_chart
from netwarp.figures.kinds.base import kind_of
from netwarp.figures.style import SCREEN, Theme
from netwarp.results import Results
from netwarp.results.comparisons import main_metric
from netwarp.run_files import write_bytes, write_text
from netwarp.study.figures import Figure

if TYPE_CHECKING:
    from netwarp.kept_runs import Kept


def draw_all(
    figures: Sequence[Figure], results: Results, kept: Kept | None = None, theme: Theme = SCREEN
) -> list[Chart]:
    """Draw a study's figures; if it has none, those that `default_figures` returns.

    A figure of a metric that no run has is left out, and so is a timeline of runs whose records are
    not kept. For runs between two hosts, the last figure shows their path by the time of day.
    """
    charts: list[Chart] = []
    for figure in wanted_figures(figures, results):
        name = _free_name(figure, {chart.name for chart in charts})
        chart = kind_of(figure).draw(figure, results, kept, name, theme)
        charts += [chart] if chart else []
    if kept and MEASURED in results.metrics:
        drift = drift_chart(results, kept, main_metric(results), theme)
        charts += [drift] if drift else []
    return charts


def wanted_figures(figures: Sequence[Figure], results: Results) -> list[Figure]:
    """Return the figures of a study, or the default ones if it has none, each followed by the
    figure that belongs to its kind, if there is one.
    """
    chosen = list(figures) or default_figures(results)
    asked = {(figure.kind, figure.x, figure.y) for figure in chosen}
    together: list[Figure] = []
    for figure in chosen:
        together.append(figure)
        companion = kind_of(figure).companion(figure, results)
        if companion and (companion.kind, companion.x, companion.y) not in asked:
            together.append(companion)
    return together


def default_figures(results: Results) -> list[Figure]:
    """Return default figures, which follow from the factors: the main metric over each condition,
    and a heatmap of ratios.
    """
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


def write_chart(chart: Chart, path: Path) -> None:
    """Write a chart to a file, in the format of its extension.

    Raises:
        InputError: no format has this extension.
    """
    require_ending(path)
    WRITERS[path.suffix](path, chart)


def require_ending(path: Path) -> None:
    """Check that the file's extension names a format.

    Raises:
        InputError: no format has this extension.
    """
    if path.suffix not in WRITERS:
        raise InputError(f"-o {path}: unknown ending; choose one of {', '.join(WRITERS)}")


WRITERS: Mapping[str, Callable[[Path, Chart], None]] = {
    ".svg": lambda path, chart: write_text(path, chart.svg()),
    ".png": lambda path, chart: write_bytes(path, chart.png()),
    ".pdf": lambda path, chart: write_bytes(path, chart.pdf()),
    ".json": lambda path, chart: write_text(path, json.dumps(chart.spec, indent=1) + "\n"),
}
"""Functions that write a chart, by file extension; `.json` is Vega-Lite with data."""


def _free_name(figure: Figure, taken: set[str]) -> str:
    """Return a file name for a figure, which says what it shows (`completion-time-over-loss`), and
    which no other figure has.
    """
    metric = re.sub(r"_(bit_)?s$", "", figure.y or figure.kind).replace("_", "-")
    over = f"-over-{figure.x.rsplit('.', 1)[-1].replace('_', '-')}" if figure.x else ""
    stem = f"{metric}{over}" if kind_of(figure).is_usual else f"{metric}{over}-{figure.kind}"
    name, number = stem, 2
    while name in taken:
        name, number = f"{stem}-{number}", number + 1
    return name
