"""The effect of a claim as a contrast of its cells, replicate by replicate.

The effect is the logarithm of the ratio that the claim compares, or the gap in the metric's unit: a
weighted sum over the cells of one condition. For a published number the effect is the mean itself.
"""

import math
from collections.abc import Sequence
from typing import Literal

from netwarp.claims.conditions import Condition, grouped
from netwarp.estimate.levels import ordered
from netwarp.results import CellResult, Factors
from netwarp.study.claims import Claim

Scale = Literal["ratio", "difference"]
Terms = list[tuple["CellResult", float]]
"""Cells of an effect, each with its weight in the sum (+1 or −1 for a simple comparison)."""


def contrasts(claim: Claim, cells: Sequence[CellResult]) -> dict[Condition, Terms]:
    """Return for each condition the cells that enter the claim's effect, each with its weight."""
    first, second = claim.less or {}, claim.than or {}
    if claim.equal is not None:
        first, second = claim.equal
    over = claim.trend or claim.overall or claim.flat_over or claim.stays_over
    named = {*first, *({over} if over else ())}
    groups = grouped((cell for cell in cells if cell.matches(claim.where)), named)
    found = {key: _terms(claim, group, first, second, over) for key, group in groups.items()}
    return {key: terms for key, terms in found.items() if terms}


def _terms(
    claim: Claim, cells: Sequence[CellResult], first: Factors, second: Factors, over: str | None
) -> Terms:
    def at(level: str | None, selection: Factors) -> CellResult | None:
        wanted = selection if over is None or level is None else {**selection, over: level}
        return next((cell for cell in cells if cell.matches(wanted)), None)

    if over is None:
        weights: dict[str | None, float] = {None: 1.0}
    else:
        levels = ordered(list(dict.fromkeys(cell.factors[over] for cell in cells)))
        if claim.overall is None:
            weights = {levels[-1]: 1.0, levels[0]: -1.0} if len(levels) > 1 else {}
        else:
            weights = {level: 1 / len(levels) for level in levels}
    terms: Terms = []
    for level, weight in weights.items():
        sides = [(at(level, first), weight)]
        if claim.flat_over is None and claim.published is None:
            sides.append((at(level, second), -weight))
        if any(cell is None for cell, _ in sides):
            return []
        terms += [(cell, share) for cell, share in sides if cell is not None]
    return terms


def scale_of_effect(claim: Claim, cells: Sequence[CellResult]) -> Scale:
    """Return the scale of the effect: ratios, or differences if a value is 0."""
    values = [value for cell in cells for value in cell.values(claim.metric or "")]
    is_gap = claim.lead == "gap" or claim.stays_over is not None
    return "difference" if is_gap or min(values, default=1.0) <= 0 else "ratio"


def effect_by_replicate(terms: Terms, metric: str, scale: Scale) -> dict[int, float] | None:
    """Return the effect in each replicate that all cells have; None if a run has no value."""
    samples = [cell.samples(metric) for cell, _ in terms]
    found = {}
    for replicate in sorted(set.intersection(*(set(each) for each in samples))):
        values = [each[replicate].value for each in samples]
        complete = [value for value in values if value is not None]
        if len(complete) < len(values):
            return None
        logs = [math.log(value) if scale == "ratio" else value for value in complete]
        weights = (weight for _, weight in terms)
        found[replicate] = math.fsum(w * v for w, v in zip(weights, logs, strict=True))
    return found
