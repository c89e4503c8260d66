"""Draws the first replicate of every contender over time, by the report's own figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from netwarp.figures.over_time.figure import timeline_figure
from netwarp.figures.style import page_overlay
from netwarp.study.figures import Figure
from netwarp.wording import condition_text

if TYPE_CHECKING:
    from netwarp.evaluation import RunData

MOST_CONDITIONS = 12
"""Maximum number of conditions that can be selected, because the chart of each contains its
samples."""


def over_time(data: RunData) -> dict[str, Any]:
    """Return a chart for each condition: goodput, queueing delay, windows, and what the workload
    did, such as a page's waterfall or a player's buffer.
    """
    results = data.results
    factor = results.contender_factor
    charts = []
    for number, (condition, _) in enumerate(list(results.conditions())[:MOST_CONDITIONS]):
        figure = Figure(kind="timeline", series=factor, where=dict(condition), replicate=0)
        chart = timeline_figure(figure, results, data, f"over-time-{number}")
        if chart is None:
            continue
        spec = {key: value for key, value in chart.spec.items() if key != "title"}
        varied = {key: level for key, level in condition.items() if key in results.factors}
        charts.append(
            {
                "label": condition_text(varied) or chart.title,
                "alt": chart.alt,
                "spec": spec,
                "note": " ".join(chart.spec["title"]["subtitle"]),
            }
        )
    return {"charts": charts, "overlay": page_overlay()}
