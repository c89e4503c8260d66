"""Cells → the rows a chart draws: one per cell, sample or step; nothing is averaged in silence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from netwarp.estimate.levels import ordered, scale_of
from netwarp.wording import (
    Quantity,
    condition_text,
    factor_title,
    level_text,
    mean_text,
    number,
    quantity,
    sentence_case,
    spread_note,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netwarp.estimate.levels import Scale
    from netwarp.estimate.stats import Estimate
    from netwarp.results import CellResult, Results

DECADES_FOR_LOG = 2
MOST_COLUMNS = 3
# Series stand side by side at each level, so that intervals do not hide each other.
DODGE_SHARE = 0.015

Row = dict[str, Any]


@dataclass(frozen=True)
class Layout:
    """Which factor goes where. What is neither x nor series makes panels."""

    results: Results
    metric: str
    x: str | None
    series: str | None
    shown: Quantity
    x_log: bool | None = None
    """None: logarithmic where the levels span more than two decades."""
    y_log: bool | None = None
    """The same for the metric."""

    @property
    def x_labels(self) -> list[str]:
        """Levels along x, in their order by number."""
        return ordered(self.results.factors[self.x]) if self.x else []

    @property
    def x_scale(self) -> Scale | None:
        """Numbers of the levels along x; None when these are names."""
        return scale_of(self.x_labels) if self.x else None

    @property
    def x_title(self) -> str:
        """Title of the x axis with its unit."""
        if self.x is None:
            return ""
        unit = self.x_scale.unit if self.x_scale else ""
        return f"{factor_title(self.x)} ({unit})" if unit else factor_title(self.x)

    @property
    def series_labels(self) -> list[str]:
        """Levels that have a line or a colour of their own."""
        return list(self.results.factors[self.series]) if self.series else []

    @property
    def panels(self) -> list[str]:
        """Titles of the panels, in order; one empty title when there is a single panel."""
        return list(dict.fromkeys(self.panel(cell) for cell in self._by_panel()))

    @property
    def panel_factors(self) -> list[str]:
        """Factors that vary and are neither x nor series."""
        return [
            factor
            for factor, levels in self.results.factors.items()
            if len(levels) > 1 and factor not in (self.x, self.series)
        ]

    def panel(self, cell: CellResult) -> str:
        """Title of the panel a cell belongs to."""
        text = condition_text({f: cell.factors[f] for f in self.panel_factors})
        return sentence_case(text)

    @property
    def columns(self) -> int:
        """Panels side by side: a row for each level of all panel factors but the last."""
        if len(self.panel_factors) > 1:
            return min(MOST_COLUMNS, len(self.results.factors[self.panel_factors[-1]]))
        return min(MOST_COLUMNS, len(self.panels))

    def _by_panel(self) -> list[CellResult]:
        ranks = {
            f: {label: i for i, label in enumerate(ordered(self.results.factors[f]))}
            for f in self.panel_factors
        }
        return sorted(
            self.results.cells, key=lambda cell: [ranks[f][cell.factors[f]] for f in ranks]
        )

    def base_row(self, cell: CellResult) -> Row:
        """Columns every row of a cell has."""
        row: Row = {"panel": self.panel(cell)}
        if self.x is not None:
            label = cell.factors[self.x]
            row["x"] = self._dodged(cell) if self.x_scale else label
            row["x_text"] = level_text(self.x, label)
        if self.series is not None:
            row["series"] = level_text(self.series, cell.factors[self.series])
        return row

    @property
    def x_wants_log(self) -> bool:
        """Whether the x axis is logarithmic: as asked, else where the levels span it."""
        values = list(self.x_scale.values.values()) if self.x_scale else []
        positive = bool(values) and min(values) > 0
        return positive and (wants_log(values) if self.x_log is None else self.x_log)

    @property
    def x_domain(self) -> list[float]:
        """First and last place along a numeric axis, of cells without a value as well."""
        places = [self._dodged(cell) for cell in self.results.cells]
        return [min(places), max(places)]

    @property
    def x_without_value(self) -> list[str]:
        """Levels along x at which no cell has the metric."""
        if self.x is None:
            return []
        cells = self.results.cells
        with_value = {c.factors[self.x] for c in cells if c.estimate(self.metric) is not None}
        return [label for label in self.x_labels if label not in with_value]

    def _dodged(self, cell: CellResult) -> float:
        """Where a cell is drawn along x: at its level, moved aside a little for its series."""
        scale = self.x_scale
        if scale is None or self.x is None:
            raise ValueError("names have no place on a numeric axis")
        place = scale.values[cell.factors[self.x]]
        if self.series is None or self.series == self.x:
            return place
        rank = self.series_labels.index(cell.factors[self.series])
        aside = DODGE_SHARE * (rank - (len(self.series_labels) - 1) / 2)
        low, high = min(scale.values.values()), max(scale.values.values())
        if self.x_wants_log:
            return float(place * (high / low) ** aside)
        return place + aside * (high - low)


def layout(
    results: Results,
    metric: str,
    x: str | None,
    series: str | None,
    *,
    x_log: bool | None = None,
    y_log: bool | None = None,
) -> Layout:
    """Lay a metric out over factors, in a unit that suits its largest mean."""
    means = [e.mean for cell in results.cells if (e := cell.estimate(metric)) is not None]
    shown = quantity(metric, max(means, default=0.0))
    return Layout(results, metric, x, series, shown, x_log, y_log)


def mean_rows(plan: Layout) -> list[Row]:
    """One row per cell: mean and its 95 % interval."""
    rows = []
    for cell in plan.results.cells:
        estimate = cell.estimate(plan.metric)
        if estimate is not None:
            rows.append(plan.base_row(cell) | _mean_columns(estimate, plan.shown, cell))
    return rows


def sample_rows(plan: Layout) -> list[Row]:
    """One row per run."""
    return [
        plan.base_row(cell) | {"value": value * plan.shown.scale, "run": run.run}
        for cell in plan.results.cells
        for run in cell.runs
        if (value := run.value(plan.metric)) is not None
    ]


def step_rows(plan: Layout) -> list[Row]:
    """Rows of the empirical distribution function: each series climbs from 0 to 1."""
    rows = []
    for cell in plan.results.cells:
        values = sorted(value * plan.shown.scale for value in cell.values(plan.metric))
        if not values:
            continue
        base = plan.base_row(cell)
        rows.append(base | {"value": values[0], "share": 0.0})
        rows += [
            base | {"value": value, "share": rank / len(values)}
            for rank, value in enumerate(values, start=1)
        ]
    return rows


def pair_rows(plan: Layout, x_shown: Quantity, x_metric: str) -> list[Row]:
    """One row per run with two metrics."""
    return [
        plan.base_row(cell)
        | {"x": x * x_shown.scale, "value": y * plan.shown.scale, "run": run.run}
        for cell in plan.results.cells
        for run in cell.runs
        if (x := run.value(x_metric)) is not None and (y := run.value(plan.metric)) is not None
    ]


def wants_log(values: Sequence[float]) -> bool:
    """Whether positive values span more than two decades."""
    positive = [value for value in values if value > 0]
    return (
        bool(positive)
        and len(positive) == len(values)
        and max(positive) > 10**DECADES_FOR_LOG * min(positive)
    )


def _mean_columns(estimate: Estimate, shown: Quantity, cell: CellResult) -> Row:
    low, high = estimate.ci95 or (estimate.mean, estimate.mean)
    note = spread_note(estimate)
    text = f"{mean_text(estimate, shown)} {shown.unit}".rstrip()
    return {
        "mean": estimate.mean * shown.scale,
        "low": low * shown.scale,
        "high": high * shown.scale,
        "median": estimate.median * shown.scale,
        "number": number(estimate.mean * shown.scale),
        "text": f"{text} ({note})" if note else text,
        "runs": f"{estimate.n} of {len(cell.runs)}",
    }
