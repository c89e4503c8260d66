"""What the cells of one condition say for or against a claim, by confidence intervals.

A form of claim is a function from the cells to `Evidence`. An interval wholly on the claimed side
supports, one wholly on the other side contradicts, any other leaves it open.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from netwarp.estimate.comparison import Comparison, compare
from netwarp.estimate.levels import ordered, scale_of
from netwarp.estimate.stats import Interval, mean_interval
from netwarp.wording import factor_name, level_text, number, quantity

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from netwarp.results import CellResult

    Floats = NDArray[np.float64]

Says = Literal["supports", "contradicts", "open", "untested"]
LEVELS_FOR_A_LINE = 3


@dataclass(frozen=True)
class Evidence:
    """What one condition says, with its numbers and one line on them."""

    says: Says
    why: str
    values: Mapping[str, Any] = field(default_factory=dict)


def less(cell: CellResult, other: CellResult, metric: str, by_at_least: float) -> Evidence:
    """Test whether `cell` has less than `other`, by at least this share of it."""
    comparison = compare(other.samples(metric), cell.samples(metric))
    if comparison.ci95 is None or (by_at_least and comparison.scale == "difference"):
        return _untested(comparison)
    low, high = comparison.ci95
    limit = comparison.neutral - by_at_least
    says: Says = "open"
    if high < limit:
        says = "supports"
    elif low > comparison.neutral:
        says = "contradicts"
    why = _two_means(cell, other, metric, comparison)
    if by_at_least and says == "open" and high < comparison.neutral:
        why += f"; less, but not shown to be {number(by_at_least * 100)} % less"
    return Evidence(says, why, _values(cell, other, metric, comparison))


def equal(cell: CellResult, other: CellResult, metric: str, tolerance: float) -> Evidence:
    """Test whether two cells are equivalent (two one-sided tests, Schuirmann 1987)."""
    comparison = compare(other.samples(metric), cell.samples(metric))
    if comparison.ci95 is None or comparison.scale == "difference":
        return _untested(comparison)
    why = _two_means(cell, other, metric, comparison)
    return Evidence(
        _within(comparison.ci95, tolerance), why, _values(cell, other, metric, comparison)
    )


def ratio_grows(
    cells: Sequence[CellResult], others: Sequence[CellResult], metric: str, factor: str
) -> Evidence:
    """Test whether others ÷ cells grows with a factor, by the slopes of its log in replicates."""
    places = _places(cells, factor)
    if len(places) < 2:
        return Evidence("untested", f"{factor_name(factor)} has one level here")
    upper, lower = _table(others, metric, factor), _table(cells, metric, factor)
    replicates = sorted(upper.keys() & lower.keys())
    if any(min(table[r]) <= 0 for table in (upper, lower) for r in replicates):
        return Evidence("untested", f"a ratio of {metric} needs values above 0")
    logs = [np.log(upper[r]) - np.log(lower[r]) for r in replicates]
    interval = _slope_interval(places, logs)
    if interval is None:
        return Evidence("untested", "fewer than two replicates succeeded at every level")
    ratios = np.exp(np.mean(logs, axis=0))
    levels = ordered([cell.factors[factor] for cell in cells])
    ends = (level_text(factor, levels[0]), level_text(factor, levels[-1]))
    why = (
        f"the ratio goes from {number(float(ratios[0]))} at {ends[0]}"
        f" to {number(float(ratios[-1]))} at {ends[1]}"
    )
    values = {
        "ratios": dict(zip(levels, map(float, ratios), strict=True)),
        "log_ratio_slope_ci95": interval,
    }
    return Evidence(_sign(interval), why, values)


def flat(cells: Sequence[CellResult], metric: str, factor: str, tolerance: float) -> Evidence:
    """Test whether every level is equivalent to the first."""
    by_level = {cell.factors[factor]: cell for cell in cells}
    first, *rest = (by_level[label] for label in ordered(list(by_level)))
    if not rest:
        return Evidence("untested", f"{factor_name(factor)} has one level here")
    found = [equal(cell, first, metric, tolerance) for cell in rest]
    worst: Says = "supports"
    for says in ("contradicts", "untested", "open"):
        if any(evidence.says == says for evidence in found):
            worst = says
            break
    telling = next(evidence for evidence in found if evidence.says == worst)
    return Evidence(worst, telling.why, {"levels": [evidence.values for evidence in found]})


def linear(cells: Sequence[CellResult], metric: str, factor: str, tolerance: float) -> Evidence:
    """Test whether a metric grows with a factor, and strays from a line by a small share of that.

    The line is fitted to each replicate; the strays are the residuals, averaged over replicates,
    as a share of the growth over all levels.
    """
    places = _places(cells, factor)
    if len(places) < LEVELS_FOR_A_LINE:
        return Evidence("untested", f"a line needs {LEVELS_FOR_A_LINE} levels")
    rows = [np.array(row) for _, row in sorted(_table(cells, metric, factor).items())]
    slope = _slope_interval(places, rows)
    if slope is None:
        return Evidence("untested", "fewer than two replicates succeeded at every level")
    mean = np.mean(rows, axis=0)
    fitted = np.polyval(np.polyfit(places, mean, 1), places)
    growth = abs(float(fitted[-1] - fitted[0]))
    strays = [] if growth == 0 else _stray_intervals(places, rows, growth)
    shown = quantity(metric, float(mean.max()))
    why = (
        f"from {number(float(mean[0]) * shown.scale)} to {number(float(mean[-1]) * shown.scale)}"
        f" {shown.unit}".rstrip()
    )
    says = _sign(slope)
    if says == "supports":
        largest = max(max(abs(low), abs(high)) for low, high in strays)
        why += f", at most {number(largest * 100, 2)} % of the growth off the line"
        if any(low > tolerance or high < -tolerance for low, high in strays):
            says = "contradicts"
        elif largest > tolerance:
            says = "open"
    return Evidence(says, why, {"slope_ci95": slope, "stray_ci95": strays})


def _stray_intervals(
    places: Sequence[float], rows: Sequence[Floats], growth: float
) -> list[Interval]:
    residuals = [row - np.polyval(np.polyfit(places, row, 1), places) for row in rows]
    by_level = np.array(residuals).T / growth
    return [mean_interval(of_level.tolist()) or (0.0, 0.0) for of_level in by_level]


def _slope_interval(places: Sequence[float], rows: Sequence[Floats]) -> Interval | None:
    """95 % interval of the least-squares slope over replicates; None below two of them."""
    centred = np.array(places) - np.mean(places)
    slopes = [float(centred @ row / (centred @ centred)) for row in rows]
    return mean_interval(slopes) if len(slopes) > 1 else None


def _places(cells: Sequence[CellResult], factor: str) -> list[float]:
    """Where the levels are, in order: their numbers, or their ranks where they are names."""
    labels = ordered([cell.factors[factor] for cell in cells])
    scale = scale_of(labels)
    return [float(i) if scale is None else scale.values[label] for i, label in enumerate(labels)]


def _table(cells: Sequence[CellResult], metric: str, factor: str) -> dict[int, list[float]]:
    """Values by replicate, in the order of the levels, without replicates that failed somewhere."""
    by_level = {cell.factors[factor]: cell.samples(metric) for cell in cells}
    columns = [by_level[label] for label in ordered(list(by_level))]
    shared = set.intersection(*(set(column) for column in columns))
    rows = {r: [column[r].value for column in columns] for r in sorted(shared)}
    return {
        r: [value for value in row if value is not None]
        for r, row in rows.items()
        if None not in row
    }


def _sign(interval: Interval) -> Says:
    low, high = interval
    if low > 0:
        return "supports"
    return "contradicts" if high < 0 else "open"


def _within(ratio: Interval, tolerance: float) -> Says:
    low, high = ratio
    lowest, highest = 1 / (1 + tolerance), 1 + tolerance
    if lowest <= low and high <= highest:
        return "supports"
    return "contradicts" if high < lowest or low > highest else "open"


def _untested(comparison: Comparison) -> Evidence:
    if comparison.ci95 is None:
        return Evidence("untested", str(comparison.verdict))
    return Evidence("untested", "a ratio needs values above 0")


def _two_means(cell: CellResult, other: CellResult, metric: str, found: Comparison) -> str:
    means = [e.mean for e in (cell.estimate(metric), other.estimate(metric)) if e is not None]
    shown = quantity(metric, max(means))
    texts = [number(mean * shown.scale) for mean in means]
    effect, interval = found.effect or 0.0, found.ci95 or (0.0, 0.0)
    scale = 1.0 if found.scale == "ratio" else shown.scale
    word = "ratio" if found.scale == "ratio" else "difference"
    bounds = ", ".join(number(bound * scale) for bound in interval)
    spread = "exact" if found.exact else f"95 % CI {bounds}"
    unit = f" {shown.unit}" if shown.unit else ""
    against = f"{texts[0]} against {texts[1]}{unit}"
    return f"{against}, {word} {number(effect * scale)} ({spread})"


def _values(cell: CellResult, other: CellResult, metric: str, found: Comparison) -> dict[str, Any]:
    estimates = (cell.estimate(metric), other.estimate(metric))
    return {
        "means": [e.mean for e in estimates if e is not None],
        found.scale: found.effect,
        "ci95": found.ci95,
        "p": found.p,
        "n": found.n,
    }
