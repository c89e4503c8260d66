"""The kind of figure that shows the distribution of delays within a cell's runs: of messages,
packets or responses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from netwarp.fields import KeyValueError
from netwarp.figures.chart import Chart
from netwarp.figures.kinds.cdf import Cdf
from netwarp.figures.layout import Layout
from netwarp.figures.marks import distribution
from netwarp.figures.rows import Row, base_row
from netwarp.figures.style import Theme
from netwarp.metrics import METRICS
from netwarp.results import CellResult, Results
from netwarp.study.figures import Figure
from netwarp.units import NS_PER_S
from netwarp.wire import FlowStats
from netwarp.wire.flow import FlowUnit

if TYPE_CHECKING:
    from netwarp.kept_runs import Kept

PERMILLES = (*range(0, 960, 20), *range(960, 990, 5), *range(990, 1001))
"""Quantiles that are drawn, in thousandths: all of them in the last percent, to show the tail."""


class DelayCdf(Cdf):
    """The distribution of the delays within the runs of a `flow` or an `rr`, as the mean over
    runs.
    """

    name = "delay-cdf"
    caption = "Distribution within a run, mean over runs"

    def refuse_metric(self, metric: str, key: str) -> None:
        """Refuse a metric that is not a delay within runs."""
        if metric not in METRICS or METRICS[metric].delay_unit is None:
            medians = [
                each.name
                for each in METRICS.values()
                if each.delay_unit is not None and each.name.endswith("p50")
            ]
            raise KeyValueError(key, metric, "no delay within runs", f"one of {', '.join(medians)}")

    def draw(
        self, figure: Figure, results: Results, kept: Kept | None, name: str, theme: Theme
    ) -> Chart | None:
        """Draw the distribution; None if no run has delays, or no records are kept."""
        plan = self.plan(figure, results, theme)
        rows = delay_rows(plan, kept) if kept is not None else []
        if not rows:
            return None
        value = f"{self.shown_text(figure, results)} ({plan.shown.unit})"
        share = f"Share of {METRICS[figure.metric].delay_unit}s"
        return self.titled(figure, plan, distribution(plan, rows, value, share), name)

    def shown_text(self, figure: Figure, results: Results) -> str:
        """Return the name of the quantity of which the metric is a quantile: "Message delay" for
        "Message delay, 95 %".
        """
        return super().shown_text(figure, results).partition(",")[0]


def delay_rows(plan: Layout, kept: Kept) -> list[Row]:
    """Return a row for each quantile of each cell's delays, with its mean over the cell's runs.

    Runs of a cell have equally many delays, so the mean of their quantiles is the distribution of a
    typical run, and its tail is not that of the worst run.
    """
    unit = METRICS[plan.metric].delay_unit
    rows: list[Row] = []
    for cell in plan.results.cells:
        found = _quantiles_ns(cell, kept, unit)
        base = base_row(plan, cell)
        for permille in PERMILLES if found else ():
            mean_ns = sum(quantiles[permille] for quantiles in found) / len(found)
            value = mean_ns / NS_PER_S * plan.shown.scale
            rows.append(base | {"value": value, "share": permille / 1000})
    return rows


def _quantiles_ns(cell: CellResult, kept: Kept, unit: FlowUnit | None) -> list[Sequence[int]]:
    records = (each for run in cell.runs for each in kept.records(run.run))
    return [
        each.delay_quantiles_ns
        for each in records
        if isinstance(each, FlowStats) and each.unit == unit and each.delay_quantiles_ns
    ]


KIND = DelayCdf()
