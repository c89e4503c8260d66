"""The kind of figure that shows the slowdown of flows over their size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING

from netwarp.figures.chart import Chart
from netwarp.figures.encodings import colour, dash, faded, field, highlight, panels, value_scale
from netwarp.figures.flows_of_cells import (
    SLOWDOWN,
    flows_of_cell,
    refuse_other_metrics,
    workload_and_metric,
)
from netwarp.figures.kinds.base import MetricKind
from netwarp.figures.layout import Layout
from netwarp.figures.rows import Row, base_row
from netwarp.figures.style import Spec, Theme
from netwarp.measure.ranks import nearest_rank
from netwarp.results import Results
from netwarp.study.figures import Figure
from netwarp.workloads.traffic.flows import CompletedFlow
from netwarp.workloads.traffic.metrics import Statistic

if TYPE_CHECKING:
    from netwarp.kept_runs import Kept

GROUPS = 10
"""Number of groups of flows by size, each with the same number of flows: deciles, as in Homa
(SIGCOMM 2018, section 5).
"""
STATISTICS: dict[str, Statistic] = {
    "mean": fmean,
    "p50": partial(nearest_rank, 0.5),
    "p99": partial(nearest_rank, 0.99),
}


class FlowSlowdown(MetricKind):
    """The slowdown of a `traffic`'s flows over their size: ten groups with equally many flows, of
    all runs of a cell together. `y` names the metric whose statistic is drawn for each group, such
    as `flow_slowdown_index_p99`.
    """

    name = "flow-slowdown"
    caption = "Ten groups of flows by size, all runs together"
    along_x = None

    def refuse_metric(self, metric: str, key: str) -> None:
        """Refuse a metric that is not the slowdown of flows."""
        refuse_other_metrics(metric, key, beginning=SLOWDOWN)

    def chart(self, figure: Figure, plan: Layout) -> Spec:
        """Return an empty chart: this kind is drawn from records, not from results."""
        return panels(plan, [], [])

    def draw(
        self, figure: Figure, results: Results, kept: Kept | None, name: str, theme: Theme
    ) -> Chart | None:
        """Draw a line for each series; None if no run has flows, or no records are kept."""
        if figure.y not in results.metrics or kept is None:
            return None
        plan = self.plan(figure, results, theme)
        rows = slowdown_rows(plan, kept)
        if not rows:
            return None
        return self.titled(figure, plan, _lines(plan, rows), name)

    def title(self, figure: Figure, results: Results) -> str:
        """Return the title of a figure for which the study sets none."""
        return f"{self.shown_text(figure, results)} over the size of flows"


def slowdown_rows(plan: Layout, kept: Kept) -> list[Row]:
    """Return a row for each group of each cell's flows: their median size, and the statistic of
    their slowdowns.
    """
    _, own = workload_and_metric(plan.metric)
    statistic = STATISTICS[own.removeprefix(f"{SLOWDOWN}_")]
    rows: list[Row] = []
    for cell in plan.results.cells:
        base = base_row(plan, cell)
        for group in groups_by_size(flows_of_cell(cell, kept, plan.metric)):
            slowdowns = [each.slowdown for each in group if each.slowdown is not None]
            if slowdowns:
                size = group[len(group) // 2].size_bytes
                rows.append(base | {"size": size, "value": statistic(slowdowns)})
    return rows


def groups_by_size(flows: Sequence[CompletedFlow]) -> Iterator[Sequence[CompletedFlow]]:
    """Yield flows in groups of the same number, the smallest flows first."""
    ranked = sorted(flows, key=lambda flow: flow.size_bytes)
    bounds = [len(ranked) * number // GROUPS for number in range(GROUPS + 1)]
    for number in range(GROUPS):
        if bounds[number] < bounds[number + 1]:
            yield ranked[bounds[number] : bounds[number + 1]]


def _lines(plan: Layout, rows: list[Row]) -> Spec:
    sizes, values = [row["size"] for row in rows], [row["value"] for row in rows]
    x = field("size", title="Size of flows (B)", scale=value_scale(sizes, log=True, zero=False),
              axis={"format": "~s", "tickCount": 5, "labelOverlap": "greedy"})  # fmt: skip
    y = field("value", title=plan.shown.axis_title, scale=value_scale(values, plan.y_log))
    line = {
        "mark": {"type": "line", "point": True, "strokeWidth": plan.theme.line_width},
        "encoding": {"x": x, "y": y, "order": field("size")}
        | colour(plan, legend=True) | dash(plan, legend=True) | faded(plan),
    } | highlight(plan, legend=True)  # fmt: skip
    return panels(plan, [line], rows, own_axes=True)


KIND = FlowSlowdown()
