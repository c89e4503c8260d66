"""Makes the rows of data for charts from cells: one for each cell, run or step."""

import math
from collections.abc import Sequence
from typing import Any

from netwarp.estimate.stats import Estimate
from netwarp.figures.layout import Layout
from netwarp.figures.style import text_colour
from netwarp.results import CellResult
from netwarp.results.comparisons import compare_contenders
from netwarp.verdict_wording import verdict_text
from netwarp.wording import Quantity, condition_text, level_text, mean_text, number, spread_note

Row = dict[str, Any]


def base_row(plan: Layout, cell: CellResult) -> Row:
    """Return the columns that all rows of a cell have in common."""
    row: Row = {"panel": plan.panel(cell)}
    if plan.x is not None:
        row["x"] = plan.place(cell)
        row["x_text"] = level_text(plan.x, cell.factors[plan.x])
    if plan.series is not None:
        row["series"] = level_text(plan.series, cell.factors[plan.series])
    return row


def mean_rows(plan: Layout) -> list[Row]:
    """Return a row for each cell, with its mean and the 95 % interval."""
    rows = []
    for cell in plan.results.cells:
        estimate = cell.estimate(plan.metric)
        if estimate is not None:
            rows.append(base_row(plan, cell) | _mean_columns(estimate, plan.shown, cell))
    return rows


def sample_rows(plan: Layout) -> list[Row]:
    """Return a row for each run."""
    return [
        base_row(plan, cell) | {"value": value * plan.shown.scale, "run": run.run}
        for cell in plan.results.cells
        for run in cell.runs
        if (value := run.value(plan.metric)) is not None
    ]


def step_rows(plan: Layout) -> list[Row]:
    """Return the rows of the empirical distribution function, which rises from 0 to 1 for each
    series.
    """
    rows = []
    for cell in plan.results.cells:
        values = sorted(value * plan.shown.scale for value in cell.values(plan.metric))
        if not values:
            continue
        base = base_row(plan, cell)
        rows.append(base | {"value": values[0], "share": 0.0})
        rows += [
            base | {"value": value, "share": rank / len(values)}
            for rank, value in enumerate(values, start=1)
        ]
    return rows


def pair_rows(plan: Layout, x_shown: Quantity, x_metric: str) -> list[Row]:
    """Return a row for each run, with two metrics."""
    return [
        base_row(plan, cell)
        | {"x": x * x_shown.scale, "value": y * plan.shown.scale, "run": run.run}
        for cell in plan.results.cells
        for run in cell.runs
        if (x := run.value(x_metric)) is not None and (y := run.value(plan.metric)) is not None
    ]


def ratio_rows(plan: Layout) -> list[Row]:
    """Return a row for each cell of the other contenders, with its ratio to the first contender.

    Cells without a ratio, because a sample is 0, are left out.
    """
    compared = compare_contenders(plan.results, plan.metric)
    rows = []
    for group in compared.groups:
        for contender in group.contenders:
            found = contender.comparison
            if found is None or found.scale != "ratio" or found.effect is None:
                continue
            low, high = found.ci95 or (found.effect, found.effect)
            rows.append(
                base_row(plan, contender.cell)
                | {
                    "contender": level_text(compared.factor, contender.label),
                    "others": condition_text(
                        {
                            factor: contender.cell.factors[factor]
                            for factor in plan.panel_factors
                            if factor != compared.factor
                        }
                    ),
                    "ratio": found.effect,
                    "low": low,
                    "high": high,
                    "number": f"{number(found.effect)}×",
                    "decided": found.verdict.decided,
                    "text": verdict_text(found, plan.metric),
                }
            )
    return rows


def label_rows(
    plan: Layout, rows: Sequence[Row], field: str, *, apart: float, log: bool
) -> list[Row]:
    """Return rows that name each line at its right end; if lines end close together, their names
    are moved apart.

    Args:
        plan: the chart's layout, with the colours of the series.
        rows: a row for each cell, with `x` and `field`.
        field: the column that is drawn along y.
        apart: least distance of two labels, as a share of the height.
        log: whether y is logarithmic.
    """
    inks = dict(zip(plan.series_texts, plan.series_styles, strict=True))
    labels = []
    for panel in dict.fromkeys(row["panel"] for row in rows):
        ends: dict[str, Row] = {}
        for row in rows:
            if row["panel"] == panel and row["x"] >= ends.get(row["series"], row)["x"]:
                ends[row["series"]] = row
        furthest = max(row["x"] for row in ends.values())
        heights = _moved_apart([_height(row[field], log=log) for row in ends.values()],
                               apart * _extent(rows, field, log=log))  # fmt: skip
        labels += [
            {
                "panel": panel,
                "series": name,
                "x": furthest,
                "label_y": 10**height if log else height,
                "ink": text_colour(inks[name].colour),
            }
            for name, height in zip(ends, heights, strict=True)
        ]
    return labels


def _extent(rows: Sequence[Row], field: str, *, log: bool) -> float:
    values = [_height(row[name], log=log) for row in rows for name in (field, "low", "high")]
    return (max(values) - min(values if log else [0.0, *values])) or 1.0


def _height(value: float, *, log: bool) -> float:
    return math.log10(value) if log else value


def _moved_apart(heights: Sequence[float], apart: float) -> list[float]:
    """Return heights that are moved as little as needed for neighbours to be at least `apart`. The
    middle of each group of moved heights stays.
    """
    order = sorted(range(len(heights)), key=heights.__getitem__)
    groups: list[list[int]] = []
    for index in order:
        groups.append([index])
        while len(groups) > 1 and _top(groups[-2], heights, apart) + apart > _bottom(
            groups[-1], heights, apart
        ):
            groups[-2:] = [groups[-2] + groups[-1]]
    moved = list(heights)
    for group in groups:
        for place, index in enumerate(group):
            moved[index] = _bottom(group, heights, apart) + place * apart
    return moved


def _bottom(group: Sequence[int], heights: Sequence[float], apart: float) -> float:
    middle = sum(heights[index] for index in group) / len(group)
    return middle - (len(group) - 1) / 2 * apart


def _top(group: Sequence[int], heights: Sequence[float], apart: float) -> float:
    return _bottom(group, heights, apart) + (len(group) - 1) * apart


def _mean_columns(estimate: Estimate, shown: Quantity, cell: CellResult) -> Row:
    low, high = estimate.ci95 or (estimate.mean, estimate.mean)
    note = spread_note(estimate, is_random=cell.is_random)
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
