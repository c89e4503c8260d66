"""Estimates how a control, which repeats a study with one change, alters the effect that a claim
states.

The effect is a contrast of the claim's cells: the logarithm of the ratio that it compares, or the
gap in the metric's unit. It is computed for each replicate with the control's change and without,
and compared pair by pair where both had the same seed, so that both sides have as many replicates.
All such comparisons of a study are one family.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from netwarp.claims.conditions import Condition
from netwarp.claims.contrasts import (
    Scale,
    Terms,
    contrasts,
    effect_by_replicate,
    scale_of_effect,
)
from netwarp.claims.joining import family_errors
from netwarp.estimate.levels import ordered
from netwarp.estimate.location import Location, difference_of, location_of
from netwarp.results import Factors, Results, without_levels
from netwarp.study.claims import Claim
from netwarp.wording import condition_text, digits_to_tell, number, quantity

LEAST_FOR_A_SPREAD = 2


@dataclass(frozen=True)
class ConditionEffect:
    """The effect of a claim in one condition: without the change of a control, and with it."""

    condition: Factors
    scale: Scale
    main: float
    """Mean effect without the change: a ratio, or a difference in the metric's unit."""
    control: float
    """Mean effect with the change."""
    change: Location
    """The effect without the change compared with the effect with it: the logarithm of their ratio,
    or their difference."""
    limit: float
    """The smallest relevant difference, on the scale of `change`."""
    n: int
    """Number of replicates that have the effect without the change and with it."""
    of: int
    """Number of replicates that each cell has when the study has ended."""

    def chance(self, under_control: str | None) -> float:
        """Return the two-sided p-value: the probability of such a change if the reason that the
        claim gives were wrong.
        """
        if under_control is None:
            return 1.0
        is_higher = under_control == "higher"
        if is_higher:
            return self.change.p_below(-self.limit, 2)
        return self.change.p_above(self.limit, 2)

    def interval(self, error: float) -> tuple[float, float] | None:
        """Return the confidence interval of `altered`: of the ratio of ratios, or of the
        difference.

        None if it is unbounded, because there are too few replicates.
        """
        low, high = self.change.interval(1 - error)
        if math.isinf(high):
            return None
        return (math.exp(low), math.exp(high)) if self.scale == "ratio" else (low, high)

    @property
    def altered(self) -> float:
        """The effect without the change compared with the effect with it, as their ratio or their
        difference.
        """
        return math.exp(self.change.value) if self.scale == "ratio" else self.change.value


@dataclass(frozen=True)
class Effect:
    """What a control shows: the effect of a claim with and without the control's change, and
    whether this confirms the reason that the claim gives.
    """

    claim: str
    """Id of the claim."""
    is_shown: bool
    """Whether the change alters the effect in every condition as the reason predicts."""
    found: str
    """The effects and their ratio as text, or the reason why there is none."""
    error: float
    """Error probability of the intervals, adjusted for all effects of the study."""
    conditions: tuple[ConditionEffect, ...] = ()
    scope: str | None = None
    """Text with the levels at which the control was run, if it has fewer cells than the claim; None
    if it has all of them.
    """

    @property
    def is_random(self) -> bool:
        """Whether the result could be wrong by chance."""
        return any(each.change.sampled for each in self.conditions)

    def to_json(self) -> dict[str, Any]:
        """Return the fields that `--json` prints."""
        return {
            "shows_it": self.is_shown,
            "scope": self.scope,
            "found": self.found,
            "error": self.error,
            "conditions": [
                {
                    "factors": dict(each.condition),
                    "scale": each.scale,
                    "main": each.main,
                    "control": each.control,
                    "altered": each.altered,
                    "interval": each.interval(self.error),
                    "n": each.n,
                }
                for each in self.conditions
            ],
        }


def evaluate_effects(
    claims: Iterable[Claim], main: Results, controls: Mapping[str, Results]
) -> list[Effect]:
    """Judge the controls of a study. The error probability is controlled over all of them, as one
    family.

    Args:
        claims: the claims that name a control that was run.
        main: the results of the study.
        controls: the results of its controls, by id.
    """
    listed = list(claims)
    found = [_conditions(claim, main, controls[claim.control or ""]) for claim in listed]
    chances = [
        1.0 if isinstance(each, str) else max(one.chance(claim.under_control) for one in each)
        for claim, each in zip(listed, found, strict=True)
    ]
    alpha = main.criteria.alpha
    effects = []
    errors = family_errors(chances, alpha)
    for claim, each, chance, error in zip(listed, found, chances, errors, strict=True):
        if isinstance(each, str):
            effects.append(Effect(claim.id or "", False, each, error))
            continue
        scope = _scope(claim, main, controls[claim.control or ""])
        text = _text(claim, each, scope, error)
        effects.append(Effect(claim.id or "", chance < error, text, error, each, scope))
    return effects


def _conditions(claim: Claim, main: Results, control: Results) -> tuple[ConditionEffect, ...] | str:
    """Compare the claim's effect in each condition that both results have; if that is not possible,
    return the reason as text.
    """
    main, control = (without_levels(each, claim.without) for each in (main, control))
    both = {_key(cell.factors) for cell in main.cells} & {_key(c.factors) for c in control.cells}
    ours, theirs = (
        contrasts(claim, [cell for cell in of.cells if _key(cell.factors) in both])
        for of in (main, control)
    )
    found = []
    for key, terms in ours.items():
        each = _compared(claim, dict(key), terms, theirs[key], main.criteria.relevant)
        if isinstance(each, str):
            return each
        found.append(each)
    return tuple(found) or "the control has none of the cells that the claim compares"


def _key(factors: Factors) -> Condition:
    return tuple(sorted(factors.items()))


def _compared(
    claim: Claim, condition: Factors, ours: Terms, theirs: Terms, relevant: float
) -> ConditionEffect | str:
    metric = claim.metric or ""
    if any(cell.failed for cell, _ in (*ours, *theirs)):
        return "not compared, as runs failed"
    scale = scale_of_effect(claim, [cell for cell, _ in (*ours, *theirs)])
    main, control = (effect_by_replicate(terms, metric, scale) for terms in (ours, theirs))
    if main is None or control is None:
        return f"not compared, as a run has no {metric}"
    shared = sorted(main.keys() & control.keys())
    if len(shared) < LEAST_FOR_A_SPREAD:
        return "fewer than two replicates with the change and without"
    a, b = [main[r] for r in shared], [control[r] for r in shared]
    random = any(cell.is_random for cell, _ in (*ours, *theirs))
    is_paired = all(_seeds(ours, r) == _seeds(theirs, r) for r in shared)
    change = _change(a, b, is_paired=is_paired, random=random, is_log=scale == "ratio")
    means = [math.fsum(each) / len(each) for each in (a, b)]
    smallest = relevant if claim.relevant is None else claim.relevant
    if scale == "ratio":
        limit, shown = math.log1p(smallest), [math.exp(mean) for mean in means]
    else:
        values = [v for cell, _ in (*ours, *theirs) for v in cell.values(metric)]
        limit, shown = smallest * max(map(abs, values)), means
    of = len(main)
    return ConditionEffect(condition, scale, shown[0], shown[1], change, limit, len(shared), of)


def _change(
    main: Sequence[float], control: Sequence[float], *, is_paired: bool, random: bool, is_log: bool
) -> Location:
    """Estimate how much the control changes the effect: study minus control, or study divided by
    control.
    """
    if not is_paired:
        return difference_of(control, main, random=random, is_log=is_log)
    differences = [a - b for a, b in zip(main, control, strict=True)]
    return location_of(differences, random=random, is_log=is_log)


def _seeds(terms: Terms, replicate: int) -> list[int | None]:
    return [run.seed for cell, _ in terms for run in cell.runs if run.replicate == replicate]


def _scope(claim: Claim, main: Results, control: Results) -> str | None:
    """Return as text the levels at which the control was run, for each factor of which it has fewer
    levels than the claim; None if there is no such factor.

    A reason is confirmed only at these levels, which are printed with it.
    """
    parts = []
    of_claim, of_control = (_levels(claim, each) for each in (main, control))
    for factor, levels in of_claim.items():
        tried = [level for level in levels if level in of_control.get(factor, ())]
        if len(tried) < len(levels):
            parts.append(" and ".join(condition_text({factor: level}) for level in tried))
    return f"at {', '.join(parts)}" if parts else None


def _levels(claim: Claim, results: Results) -> dict[str, list[str]]:
    """Return the levels of the factors over which the claim ranges, and of those that it
    combines.
    """
    compared = set((claim.less or {}) if claim.equal is None else claim.equal[0])
    found: dict[str, dict[str, None]] = {}
    for cell in without_levels(results, claim.without).cells:
        if cell.matches(claim.where):
            for factor in cell.factors.keys() - claim.where.keys() - compared:
                found.setdefault(factor, {})[cell.factors[factor]] = None
    return {factor: ordered(list(levels)) for factor, levels in sorted(found.items())}


def _text(claim: Claim, found: Sequence[ConditionEffect], scope: str | None, error: float) -> str:
    """Return as text each condition's effects without the change and with it, and how much the
    change altered them.

    If the control has fewer cells than the claim, the condition is named even if it is the only
    one.
    """
    parts = []
    for each in found:
        condition = {f: v for f, v in each.condition.items() if f not in claim.where}
        at = f"at {condition_text(condition)} " if len(found) > 1 and condition else ""
        parts.append(at + _one_text(claim, each, error))
    text = "; ".join(parts)
    return f"{scope}: {text}" if scope is not None and len(found) == 1 else text


def _one_text(claim: Claim, each: ConditionEffect, error: float) -> str:
    low, high = each.interval(error) or (0.0, 0.0)
    if claim.published is not None and each.scale == "ratio":
        shown = quantity(claim.metric or "", max(each.main, each.control))
        main, control = (number(mean * shown.scale) for mean in (each.main, each.control))
        text = f"{main} becomes {control} {shown.unit}".rstrip()
        text += f", ratio {number(each.altered)}"
        bounds = f" [{number(low)}, {number(high)}]"
    elif each.scale == "ratio":
        digits = digits_to_tell(each.main, each.control)
        text = (
            f"ratio {number(each.main, digits)} becomes {number(each.control, digits)},"
            f" ratio of ratios {number(each.altered)}"
        )
        bounds = f" [{number(low)}, {number(high)}]"
    else:
        metric = claim.metric or ""
        shown = quantity(metric, max(abs(each.main), abs(each.control)))
        # A claim about a trend compares the gap as the lead of `less`, which is negative in its
        # contrast.
        is_growth = claim.trend is not None
        scale = -shown.scale if is_growth else shown.scale
        main, control, altered = (
            f"{number(v * scale)} {shown.unit}".rstrip()
            for v in (each.main, each.control, each.altered)
        )
        text = "growth of the gap, " * is_growth + f"{main} becomes {control}"
        text += f", a difference of {altered}"
        ends = sorted((low * scale, high * scale))
        bounds = f" [{number(ends[0])}, {number(ends[1])}]"
    if low == high:
        return text
    n = f"n = {each.n}" if each.n == each.of else f"the first {each.n} of {each.of} replicates"
    return f"{text}{bounds} ({n})"
