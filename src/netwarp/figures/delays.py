"""The distribution of delays within a cell's runs, over messages, packets or responses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netwarp.figures.rows import base_row
from netwarp.units import NS_PER_S
from netwarp.wire import FlowStats

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netwarp.figures.layout import Layout
    from netwarp.figures.over_time.figure import Kept
    from netwarp.figures.rows import Row
    from netwarp.results import CellResult
    from netwarp.wire.flow import FlowUnit

UNITS: dict[str, FlowUnit] = {
    "message_delay_s_": "message",
    "delay_s_": "packet",
    "rr_latency_s_": "response",
}
"""Unit whose delay a metric is (message, packet, response), by the metric's prefix."""
PERMILLES = (*range(0, 960, 20), *range(960, 990, 5), *range(990, 1001))
"""Quantiles that are drawn, in thousandths: every one in the last percent, to show the tail."""


def unit_of(metric: str) -> FlowUnit | None:
    """Give the unit whose delay a metric is; None for other metrics."""
    return next((unit for begin, unit in UNITS.items() if metric.startswith(begin)), None)


def delay_rows(plan: Layout, kept: Kept) -> list[Row]:
    """Make a row for each quantile of each cell's delays: its mean over the cell's runs.

    Runs of a cell have equally many delays, so the mean of their quantiles is the distribution of a
    typical run, and its tail is not that of the worst run.
    """
    unit = unit_of(plan.metric)
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
