"""The kind of figure that shows the distribution of completion times or slowdowns of flows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netwarp.fields import KeyValueError
from netwarp.figures.chart import Chart
from netwarp.figures.flows_of_cells import (
    SLOWDOWN,
    TIME,
    flows_of_cell,
    refuse_other_metrics,
    workload_and_metric,
)
from netwarp.figures.kinds.cdf import Cdf
from netwarp.figures.layout import Layout
from netwarp.figures.marks import distribution
from netwarp.figures.rows import Row, base_row
from netwarp.figures.style import Theme
from netwarp.results import Results
from netwarp.study.figures import Figure

if TYPE_CHECKING:
    from netwarp.kept_runs import Kept

MOST_STEPS = 400
"""Maximum number of steps of a line; if there are more flows, quantiles are drawn."""


class FlowCdf(Cdf):
    """The distribution of the completion times, or of the slowdowns, of a `traffic`'s flows: those
    of all runs of a cell together.
    """

    name = "flow-cdf"
    caption = "Distribution over the flows of all runs"

    def refuse_metric(self, metric: str, key: str) -> None:
        """Refuse a metric that is not a metric of flows."""
        try:
            refuse_other_metrics(metric, key, beginning=TIME)
        except KeyValueError:
            refuse_other_metrics(metric, key, beginning=SLOWDOWN)

    def draw(
        self, figure: Figure, results: Results, kept: Kept | None, name: str, theme: Theme
    ) -> Chart | None:
        """Draw the distribution; None if no run has flows, or no records are kept."""
        if figure.y not in results.metrics or kept is None:
            return None
        plan = self.plan(figure, results, theme)
        rows = flow_rows(plan, kept)
        if not rows:
            return None
        title = self.shown_text(figure, results)
        value = f"{title} ({plan.shown.unit})" if plan.shown.unit else title
        return self.titled(figure, plan, distribution(plan, rows, value, "Share of flows"), name)

    def shown_text(self, figure: Figure, results: Results) -> str:
        """Return the name of the quantity of which the metric is a statistic."""
        return super().shown_text(figure, results).partition(",")[0]


def flow_rows(plan: Layout, kept: Kept) -> list[Row]:
    """Return a row for each step of each cell's distribution."""
    _, own = workload_and_metric(plan.metric)
    rows: list[Row] = []
    for cell in plan.results.cells:
        flows = flows_of_cell(cell, kept, plan.metric)
        if own.startswith(TIME):
            values = sorted(each.time_s for each in flows)
        else:
            values = sorted(each.slowdown for each in flows if each.slowdown is not None)
        base = base_row(plan, cell)
        steps = min(len(values), MOST_STEPS)
        for step in range(1, steps + 1):
            place = -(-step * len(values) // steps)
            value = values[place - 1] * plan.shown.scale
            rows.append(base | {"value": value, "share": place / len(values)})
    return rows


KIND = FlowCdf()
