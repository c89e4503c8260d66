"""Texts of comparisons: a verdict, its size, and its interval, with consistent rounding.

Ratios near 1 are shown as changes in per cent, others as factors of at least 1.
"""

import math
from dataclasses import dataclass

from netwarp.estimate.comparison import Comparison, Verdict
from netwarp.estimate.stats import Interval
from netwarp.metrics import metric_named
from netwarp.wording import MINUS, difference_unit, less_is_better, number, percent, quantity

SMALL = 1.1
"""Factor below which differences are shown in per cent."""
SMALL_INTERVAL = 2.0
"""An interval is shown in per cent only if both of its bounds lie within this factor of 1 (no
difference)."""
UNKNOWN = 100.0
"""Ratio of the upper to the lower bound from which on an interval is left out, because it is too
wide to be useful.
"""
MORE_DECIMALS = 2
"""Maximum number of decimals that are added to an effect's text because its interval is narrow."""
MOST_DECIMALS_TO_TELL = 8
"""Maximum number of decimals of an effect's text. Up to this number, decimals are added until no
bound is rounded to the smallest relevant difference, or to no difference."""


def verdict_text(comparison: Comparison, metric: str) -> str:
    """Return a comparison as the text of its verdict: `1.32× slower [1.20, 1.45]`, `1.4 % slower
    [0.9, 1.9 %]`.
    """
    if not comparison.verdict.decided:
        return _without_difference(comparison, metric)
    words = f"{effect_text(comparison, metric)} {outcome_text(comparison, metric)}"
    return f"{words} (exact)" if comparison.exact else f"{words} {_interval(comparison, metric)}"


def outcome_text(comparison: Comparison, metric: str) -> str:
    """Return the verdict as text without its size: `slower`, `higher`, `undecided`."""
    if not comparison.verdict.decided:
        return str(comparison.verdict)
    less, more = metric_named(metric).words
    return less if comparison.verdict is Verdict.LESS else more


def effect_text(comparison: Comparison, metric: str) -> str:
    """Return the size of a difference as text: `1.32×`; if below a tenth, in per cent of the first
    value, such as `1.4 %`.

    It has the decimals of the interval in `verdict_text`, so that both texts agree.
    """
    shown = _shown(comparison, metric)
    if shown.effect is None:
        return ""
    text = _rounded(shown.effect, shown.decimals)
    return f"{text}×" if shown.unit == "×" else f"{text} {shown.unit}".rstrip()


def p_text(p: float) -> str:
    """Return a p-value as text; one below a thousandth is `p < 0.001`."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def favourable(comparison: Comparison, metric: str) -> bool | None:
    """Return whether the contender is better; None if nothing was decided, or if neither larger
    nor smaller values of the metric are better.
    """
    if not comparison.verdict.decided or metric_named(metric).better == "neither":
        return None
    return (comparison.verdict is Verdict.LESS) == less_is_better(metric)


def _without_difference(comparison: Comparison, metric: str) -> str:
    """Return an equivalence or an undecided comparison as text, with its interval: `undecided [−5,
    +8 %]`.

    If the whole interval is below the smallest relevant difference, and only a rare event cannot be
    excluded yet, the text is `undecided, within 1.0 % [+0.3, +0.3 %]`. If there are so few
    replicates that the interval is unbounded, the text has the measured value: `undecided (1.08×)`.
    """
    if comparison.verdict not in (Verdict.EQUIVALENT, Verdict.UNDECIDED):
        return str(comparison.verdict)
    if comparison.exact:
        return f"{comparison.verdict} (exact)"
    bounds = _interval(comparison, metric)
    is_bare = not bounds and comparison.verdict is Verdict.UNDECIDED
    if is_bare and comparison.scale == "ratio" and comparison.effect is not None:
        return f"{comparison.verdict} ({number(comparison.effect)}×)"
    within = f", within {percent(comparison.relevant, 2)}" if _is_within(comparison) else ""
    return f"{comparison.verdict}{within} {bounds}".rstrip()


def _is_within(comparison: Comparison) -> bool:
    """Return whether the whole interval of an undecided comparison is below the smallest relevant
    ratio.
    """
    if comparison.verdict is not Verdict.UNDECIDED or comparison.scale != "ratio":
        return False
    bounds, most = comparison.interval, 1 + comparison.relevant
    return bounds is not None and 1 / most <= bounds[0] and bounds[1] <= most


def _interval(comparison: Comparison, metric: str) -> str:
    """Return the interval of a comparison as text in brackets; "" if it has none, or only one that
    is too wide.
    """
    shown = _shown(comparison, metric)
    if shown.bounds is None:
        return ""
    low, high = (_rounded(bound, shown.decimals, signed=shown.signed) for bound in shown.bounds)
    is_said = shown.unit == difference_unit("%") and comparison.verdict.decided
    unit = "" if shown.unit in ("", "×") or is_said else f" {shown.unit}"
    if shown.unit == "×" and not comparison.verdict.decided:
        unit = "×"
    if shown.signed and low == high == "0":
        return f"[±{_rounded(10**-shown.decimals, shown.decimals)}{unit}]"
    return f"[{low}, {high}{unit}]"


@dataclass(frozen=True)
class _Shown:
    """The numbers of a comparison as its text shows them: converted to `unit`, and rounded."""

    unit: str
    effect: float | None
    bounds: Interval | None
    decimals: int
    signed: bool
    """Whether bounds have a sign, because no word in the text states the direction."""


def _shown(comparison: Comparison, metric: str) -> _Shown:
    """Return the numbers of a comparison in the unit and with the decimals of its text."""
    effect, bounds = comparison.effect, comparison.interval
    decided = comparison.verdict.decided
    if effect is None:
        return _Shown("", None, None, 0, signed=False)
    if comparison.scale == "difference":
        quantity_of = quantity(metric, effect)
        unit, scale, neutral = difference_unit(quantity_of.unit), quantity_of.scale, 0.0
        is_turned = decided and comparison.verdict is Verdict.LESS
        limits = [neutral, *(sign * comparison.relevant * scale for sign in (-1, 1))]
    else:
        if (bounds is None or bounds[0] <= 0 or bounds[1] / bounds[0] > UNKNOWN) and not decided:
            bounds = None
        in_percent = _is_small(effect if decided else None, bounds)
        unit, scale, neutral = ("%", 100.0, 1.0) if in_percent else ("×", 1.0, 0.0)
        is_turned = comparison.verdict is Verdict.LESS and in_percent
        if comparison.verdict is Verdict.LESS and not in_percent:
            effect, bounds = 1 / effect, bounds and (1 / bounds[1], 1 / bounds[0])
        relevant = 1 + comparison.relevant
        limits = [scale * (each - neutral) for each in (1.0, relevant, 1 / relevant)]
    if scale != 1.0 or neutral:
        effect = scale * (effect - neutral)
        bounds = bounds and (scale * (bounds[0] - neutral), scale * (bounds[1] - neutral))
    if is_turned:
        effect, bounds = -effect, bounds and (-bounds[1], -bounds[0])
    if comparison.verdict is Verdict.EQUIVALENT:
        limits = limits[1:]  # its distance from no difference does not matter
    decimals = _decimals(effect if decided else None, bounds, limits, 3 if unit == "×" else 2)
    return _Shown(unit, effect, bounds, decimals, signed=unit != "×" and not decided)


def _is_small(effect: float | None, bounds: Interval | None) -> bool:
    if effect is not None:
        return 1 / SMALL < effect < SMALL
    return bounds is not None and bounds[0] > 1 / SMALL_INTERVAL and bounds[1] < SMALL_INTERVAL


def _decimals(
    effect: float | None, bounds: Interval | None, limits: list[float], digits: int
) -> int:
    """Return the number of decimals for an effect and its bounds.

    Args:
        effect: a value with at least this many significant digits; None if the text does not have
            it: then the larger bound has them.
        bounds: the bounds; half the distance between them gets a significant digit, if it is wide
            enough.
        limits: values to which no other value may be rounded.
        digits: significant digits of the effect.
    """
    largest = effect or max(map(abs, bounds or (0.0,)))
    decimals = digits - 1 - math.floor(math.log10(abs(largest))) if largest else 0
    decimals = decimals if effect else min(decimals, digits - 1)
    if bounds and bounds[1] > bounds[0]:
        of_spread = -math.floor(math.log10((bounds[1] - bounds[0]) / 2))
        # An interval that is hardly wider than a point gets no more decimals.
        decimals = of_spread if decimals < of_spread <= decimals + MORE_DECIMALS else decimals
    decimals = max(0, decimals)
    written = [value for value in (effect, *(bounds or ())) if value is not None]
    while decimals < MOST_DECIMALS_TO_TELL and any(
        value != limit and round(value, decimals) == round(limit, decimals)
        for value in written
        for limit in limits
        if not math.isclose(value, limit, rel_tol=1e-9, abs_tol=1e-12)
    ):
        decimals += 1
    return decimals


def _rounded(value: float, decimals: int, *, signed: bool = False) -> str:
    """Return a number as text with this many decimals; from 1000 on, with three digits."""
    rounded = round(value, decimals)
    if rounded == 0:
        return "0"
    if abs(rounded) >= 1000:
        return number(rounded)
    text = f"{rounded:+.{decimals}f}" if signed else f"{rounded:.{decimals}f}"
    return text.replace("-", MINUS)
