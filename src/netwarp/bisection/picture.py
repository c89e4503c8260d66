"""Draws what was measured before and after the first bad commit, side by side."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from netwarp.evaluation import RunData
from netwarp.figures.chart import Chart
from netwarp.figures.figures import write_chart
from netwarp.figures.kinds.base import kind_of
from netwarp.figures.style import SCREEN
from netwarp.results import Results
from netwarp.results.comparisons import main_metrics
from netwarp.study.figures import Figure
from netwarp.wording import quantity

FACTOR = "commit"
SHORT = 12
"""Number of digits of a commit's hash that are shown."""


def pictures(
    place: Path, before: tuple[str, RunData], after: tuple[str, RunData], *, differs: bool
) -> list[Path]:
    """Draw each metric by which the commits were judged, and write each to a separate file.

    Args:
        place: the directory for the files.
        before: the newest good commit, and its runs.
        after: the first bad commit, and its runs.
        differs: whether the commits were judged by the study's main metrics, and not by its
            expectations.

    Returns:
        The files. There is none for a metric that no run has.
    """
    (commit, earlier), (bad, later) = before, after
    metrics = main_metrics(later.results)
    if not differs:
        metrics = list(dict.fromkeys(each.expectation.metric for each in later.expectations))
    both = side_by_side(
        (f"before: {commit[:SHORT]}", earlier.results), (f"after: {bad[:SHORT]}", later.results)
    )
    drawn = []
    for chart in charts(both, metrics):
        drawn.append(place / f"{chart.name}.svg")
        write_chart(chart, drawn[-1])
    return drawn


def side_by_side(before: tuple[str, Results], after: tuple[str, Results]) -> Results:
    """Return two results of the same study as one, with a further factor whose levels are the names
    of the two.
    """
    runs = []
    for index, (name, results) in enumerate((before, after)):
        for run in results.runs:
            factors = {**run.factors, FACTOR: name}
            runs.append(replace(run, cell=2 * run.cell + index, factors=factors))
    return Results(tuple(runs), after[1].criteria, after[1].compared_by)


def charts(both: Results, metrics: Sequence[str]) -> list[Chart]:
    """Return charts of metrics of two commits as bars, over the first factor that the study
    varies.
    """
    varied = [each for each, levels in both.factors.items() if len(levels) > 1 and each != FACTOR]
    drawn = []
    for metric in metrics:
        title = f"{quantity(metric, 1).title} before and after the first bad commit"
        figure = Figure(
            kind="bar", x=next(iter(varied), FACTOR), y=metric, series=FACTOR, title=title
        )
        name = f"before-and-after-{metric.replace('_', '-')}"
        chart = kind_of(figure).draw(figure, both, None, name, SCREEN)
        drawn += [chart] if chart else []
    return drawn
