"""Tests, in one condition, how a metric, or one side's lead over another, changes with a factor's
level.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from netwarp.claims.evidence import Answer, Evidence, lead_chances, missing_values
from netwarp.estimate.comparison import ALPHA
from netwarp.estimate.levels import ordered, scale_of
from netwarp.estimate.location import Location, location_of
from netwarp.estimate.needed import Undecided, stdev_of, to_decide
from netwarp.estimate.stats import mean_of
from netwarp.results import CellResult
from netwarp.wording import digits_to_tell, factor_name, level_text, number, quantity

LEVELS_FOR_A_LINE = 3
LeadScale = Literal["ratio", "gap"]


def lead_grows(
    cells: Sequence[CellResult], others: Sequence[CellResult], metric: str, factor: str,
    relevant: float, *, scale: LeadScale = "ratio", shrinks: bool = False,
) -> Evidence:  # fmt: skip
    """Test whether the lead of `cells`, which have smaller values, grows (or shrinks) with a
    factor's level.

    There must be a lead at the end where it should be largest, it must be larger there than at the
    other end by a relevant difference, and it must grow with every step between (an
    intersection-union test, Berger 1982). If `cells` have larger values at some level, the verdict
    is that the claim depends on the level.
    """
    labels = ordered([cell.factors[factor] for cell in cells])
    if shrinks:
        labels.reverse()
    if len(labels) < 2:
        return Evidence(f"{factor_name(factor)} has one level here", fixed="untested")
    if failure := missing_values(metric, *cells, *others):
        return failure
    leads = _leads(cells, others, metric, factor, labels, scale)
    if isinstance(leads, Evidence):
        return leads
    limits = [
        math.log1p(relevant) if scale == "ratio" else relevant * mean
        for mean in _means_at(others, metric, factor, labels)
    ]
    random, is_log = _is_random(*cells, *others), scale == "ratio"

    def at_rows(values: list[float]) -> Location:
        return location_of(values, random=random, is_log=is_log)

    by_level = [at_rows([row[i] for row in leads]) for i in range(len(labels))]
    steps = [at_rows([row[i + 1] - row[i] for row in leads]) for i in range(len(labels) - 1)]
    whole = at_rows([row[-1] - row[0] for row in leads])
    chances = _growth_chances(by_level, steps, whole, limits)
    values = {
        "leads": {label: _shown_lead(at, scale) for label, at in zip(labels, by_level, strict=True)}
    }
    digits = digits_to_tell(*(_shown_lead(at, scale) for at in by_level))

    def again(error: float) -> tuple[str, Mapping[str, Any]]:
        parts = [
            f"{_lead_text(at, metric, scale, error, digits)} at {level_text(factor, label)}"
            for label, at in zip(labels, by_level, strict=True)
        ]
        if shrinks:
            parts.reverse()
        words = "ratio" if scale == "ratio" else "gap"
        return f"the {words} is {', '.join(parts)}", values

    undecided = _undecided_step(by_level[-1], steps, whole, limits[-1], len(leads))
    return Evidence(again(ALPHA)[0], chances, values, undecided=undecided, again=again)


def leads_overall(
    cells: Sequence[CellResult], others: Sequence[CellResult], metric: str, factor: str,
    relevant: float, by_at_least: float = 0.0,
) -> Evidence:  # fmt: skip
    """Test whether `cells` have smaller values than `others` over all levels of a factor together.

    The lead is the geometric mean of the ratios at the levels, computed for each replicate.
    """
    labels = ordered([cell.factors[factor] for cell in cells])
    if failure := missing_values(metric, *cells, *others):
        return failure
    leads = _leads(cells, others, metric, factor, labels, "ratio")
    if isinstance(leads, Evidence):
        return leads
    random = _is_random(*cells, *others)
    together = location_of([-mean_of(row) for row in leads], random=random, is_log=True)
    limit = math.log1p(relevant)
    size = math.log1p(-by_at_least) if by_at_least else -limit
    chances = lead_chances(together, limit, size)
    if by_at_least:
        chances["direction"] = together.p_below(-limit, 2)
        chances["smaller"] = max(chances["direction"], together.p_above(size))
    by_level = [
        f"{number(math.exp(-location_of([row[i] for row in leads]).value))}"
        f" at {level_text(factor, label)}"
        for i, label in enumerate(labels)
    ]

    def again(error: float) -> tuple[str, Mapping[str, Any]]:
        lead = _lead_text(together, metric, "ratio", error)
        values = {
            "ratio": math.exp(together.value),
            "ci95": _bounds(together, ALPHA),
            "interval": _bounds(together, error),
            "error": error,
        }
        return f"ratio {lead} together: {', '.join(by_level)}", values

    text, values = again(ALPHA)
    n = len(leads)
    undecided = to_decide(together, n, stdev_of(together, n), (-limit, limit, size), limit)
    return Evidence(text, chances, values, undecided=undecided, again=again)


def _is_random(*cells: CellResult) -> bool:
    return any(cell.is_random for cell in cells)


def _bounds(lead: Location, error: float) -> tuple[float, float] | None:
    """Return the interval of a ratio; None if it is unbounded."""
    low, high = lead.interval(1 - error)
    return None if math.isinf(high) else (math.exp(low), math.exp(high))


def _growth_chances(
    by_level: Sequence[Location], steps: Sequence[Location], whole: Location,
    limits: Sequence[float],
) -> dict[Answer, float]:  # fmt: skip
    """Return the p-value of each possible answer to the question whether a lead grows; `limits` are
    the smallest relevant leads at each level.
    """
    last, limit = by_level[-1], limits[-1]
    leads = last.p_above(limit, 2)
    grows = whole.p_above(limit, 2)
    lags = [each.p_below(-least, 2) for each, least in zip(by_level, limits, strict=True)]
    behind = min(1.0, len(lags) * min(lags))
    chances: dict[Answer, float] = {
        "reversed": min(1.0, 2 * min(whole.p_below(-limit, 2), last.p_below(-limit, 2))),
        "equivalent": whole.p_within(-limit, limit),
        "depends": max(behind, leads),
        "partly": max(leads, grows),
    }
    # If some level is shown to have no lead, the lead does more than grow.
    if chances["depends"] >= ALPHA:
        every_step = max(step.p_above(0.0, 2) for step in steps)
        chances["holds"] = max(leads, grows, every_step)
    return chances


def _undecided_step(
    last: Location, steps: Sequence[Location], whole: Location, limit: float, n: int
) -> Undecided | None:
    """Return the undecided test, among those of a trend, that needs the most replicates; None if
    none is undecided.
    """
    tests = [(last, limit), (whole, limit), *((step, 0.0) for step in steps)]
    found = [to_decide(at, n, stdev_of(at, n), (to,), to) for at, to in tests]
    random = [each for each in found if each is not None]
    return max(random, key=lambda each: each.hardness, default=None)


def _leads(
    cells: Sequence[CellResult], others: Sequence[CellResult], metric: str, factor: str,
    labels: Sequence[str], scale: LeadScale,
) -> list[list[float]] | Evidence:  # fmt: skip
    """Return ln(others ÷ cells) or others − cells, by replicate (rows) and level (columns)."""
    ours, theirs = _table(cells, metric, factor, labels), _table(others, metric, factor, labels)
    replicates = sorted(ours.keys() & theirs.keys())
    if len(replicates) < 2:
        return Evidence("fewer than two replicates at every level", fixed="untested")
    if scale == "gap":
        return [[b - a for a, b in zip(ours[r], theirs[r], strict=True)] for r in replicates]
    if any(min(*ours[r], *theirs[r]) <= 0 for r in replicates):
        return Evidence("a ratio needs values above 0", fixed="untested")
    return [
        [math.log(b) - math.log(a) for a, b in zip(ours[r], theirs[r], strict=True)]
        for r in replicates
    ]


def linear(
    cells: Sequence[CellResult], metric: str, factor: str, tolerance: float, relevant: float
) -> Evidence:
    """Test whether a metric grows linearly with a factor, within a tolerance.

    A line is fitted to each replicate. Its residuals, as a share of the growth over all levels,
    must be within the tolerance by two one-sided tests each.
    """
    labels = ordered([cell.factors[factor] for cell in cells])
    places = _places(labels)
    if len(places) < LEVELS_FOR_A_LINE:
        return Evidence(f"a line needs {LEVELS_FOR_A_LINE} levels", fixed="untested")
    if failure := missing_values(metric, *cells):
        return failure
    rows = [row for _, row in sorted(_table(cells, metric, factor, labels).items())]
    if len(rows) < 2:
        return Evidence("fewer than two replicates at every level", fixed="untested")
    lines = [_line(places, row) for row in rows]
    random = _is_random(*cells)
    growths = [slope * (places[-1] - places[0]) for slope, _ in lines]
    growth = location_of(growths, random=random)
    means = [mean_of([row[i] for row in rows]) for i in range(len(places))]
    limit = relevant * abs(mean_of(means))
    whole = abs(growth.value) or 1.0
    strays = [
        location_of(
            [
                (row[i] - (base + slope * place)) / whole
                for row, (slope, base) in zip(rows, lines, strict=True)
            ],
            random=random,
        )
        for i, place in enumerate(places)
    ]
    off_line = max(each.p_within(-tolerance, tolerance) for each in strays)
    beyond = len(strays) * min(each.p_outside(-tolerance, tolerance) for each in strays)
    falls = growth.p_below(-limit, 2)
    rises = growth.p_above(limit, 2)
    chances: dict[Answer, float] = {
        "holds": max(rises, off_line),
        "reversed": min(1.0, 2 * min(falls, beyond)),
        "equivalent": growth.p_within(-limit, limit),
    }
    shown = quantity(metric, max(map(abs, means)))
    largest = max(strays, key=lambda each: abs(each.value))
    found = f"from {number(means[0] * shown.scale)} to {number(means[-1] * shown.scale)}"
    found = f"{found} {shown.unit}".rstrip()
    if rises < 1:
        found += f", at most {number(100 * abs(largest.value), 2)} % of the growth off the line"
    n = len(rows)
    limits = (-tolerance, tolerance)
    undecided = to_decide(largest, n, stdev_of(largest, n), limits, tolerance)
    values = {"means": means, "strays": [each.value for each in strays]}
    return Evidence(found, chances, values, undecided=undecided)


def _line(places: Sequence[float], row: Sequence[float]) -> tuple[float, float]:
    """Fit a line by least squares; return its slope and intercept."""
    middle, mean = mean_of(places), mean_of(row)
    spread = math.fsum((place - middle) ** 2 for place in places)
    slope = (
        math.fsum((place - middle) * value for place, value in zip(places, row, strict=True))
        / spread
    )
    return slope, mean - slope * middle


def _places(labels: Sequence[str]) -> list[float]:
    """Return the levels' numeric values, or, if they are names, their ranks."""
    scale = scale_of(labels)
    return [float(i) if scale is None else scale.numbers[label] for i, label in enumerate(labels)]


def _table(
    cells: Sequence[CellResult], metric: str, factor: str, labels: Sequence[str]
) -> dict[int, list[float]]:
    """Return a metric's values as a table, with a column for each level and a row for each
    replicate that has a value at all levels.
    """
    by_level = {cell.factors[factor]: cell.samples(metric) for cell in cells}
    rows: dict[int, list[float]] = {}
    for replicate in sorted(set.intersection(*(set(by_level[label]) for label in labels))):
        row = [by_level[label][replicate].value for label in labels]
        values = [value for value in row if value is not None]
        if len(values) == len(row):
            rows[replicate] = values
    return rows


def _means_at(
    cells: Sequence[CellResult], metric: str, factor: str, labels: Sequence[str]
) -> list[float]:
    """Return the absolute value of the mean at each level."""
    by_level = {cell.factors[factor]: cell.values(metric) for cell in cells}
    return [abs(mean_of(by_level[label])) for label in labels]


def _shown_lead(lead: Location, scale: LeadScale) -> float:
    return math.exp(lead.value) if scale == "ratio" else lead.value


def _lead_text(lead: Location, metric: str, scale: LeadScale, error: float, digits: int = 3) -> str:
    """Return as text a lead with its confidence interval; `digits` are the decimal places of a
    ratio.
    """
    low, high = lead.interval(1 - error)
    is_point = low == high or math.isinf(high)
    if scale == "ratio":
        digits = digits if low == high else 3
        text = number(math.exp(lead.value), digits)
        bounds = "" if is_point else f"{number(math.exp(low))}, {number(math.exp(high))}"
        return text if is_point else f"{text} [{bounds}]"
    largest = [abs(each) for each in (lead.value, low, high) if not math.isinf(each)]
    shown = quantity(metric, max(largest))
    text = f"{number(lead.value * shown.scale)} {shown.unit}".rstrip()
    if is_point:
        return text
    bounds = f"{number(low * shown.scale)}, {number(high * shown.scale)}"
    return f"{text} [{bounds}]"
