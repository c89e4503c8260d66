"""Texts on the results of an expectation: the value in each condition, and its distance from the
bound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from netwarp.claims.expectations import Kept
from netwarp.estimate.location import ROUNDING
from netwarp.wording import condition_text, count, digits_to_tell, number, percent, quantity

if TYPE_CHECKING:
    from netwarp.claims.expectations import ExpectationResult, ExpectedCondition

WORDS = {Kept.HOLDS: "holds", Kept.BROKEN: "does not hold", Kept.UNDECIDED: "undecided"}
TWICE = 2.0
"""Ratio to the bound from which on a distance is shown as a factor; smaller distances are shown in
per cent."""


def found_text(result: ExpectationResult) -> str:
    """Return the results of all conditions as one line of text."""
    parts = []
    for each in result.conditions:
        name = condition_text(each.factors)
        found = ", ".join(filter(None, (value_text(result, each), distance_text(result, each))))
        found = "; ".join(filter(None, (found, open_text(each))))
        parts.append(f"{name}: {found}" if name and len(result.conditions) > 1 else found)
    return " · ".join(parts)


def value_text(result: ExpectationResult, each: ExpectedCondition) -> str:
    """Return as text the value with the interval by which it was judged, or the reason why there is
    none.
    """
    if each.value is None:
        return each.why_none
    if result.expectation.against is not None:
        scale, unit = 1.0, ""
    else:
        shown = quantity(result.expectation.metric, each.value)
        scale, unit = shown.scale, f" {shown.unit}" if shown.unit else ""
    if each.is_exact or each.interval is None:
        return f"{number(each.value * scale, 4)}{unit}{' exactly' * each.is_exact}"
    digits = digits_to_tell(each.value, *each.interval)
    value, low, high = (number(one * scale, digits) for one in (each.value, *each.interval))
    return f"{value}{unit} [{low}, {high}]"


def distance_text(result: ExpectationResult, each: ExpectedCondition) -> str:
    """Return as text how far the value is from the bound: `7.6 % below it`; "" if there is no
    value.
    """
    said = result.expectation
    if each.value is None:
        return ""
    side = "below" if each.value < said.bound else "above"
    if abs(each.value - said.bound) <= ROUNDING * max(1.0, abs(said.bound)):
        return "the bound itself"
    if each.value > 0 and said.bound > 0:
        larger = max(each.value, said.bound) / min(each.value, said.bound)
        if larger >= TWICE:
            return f"a factor of {number(larger, 2)} {side} the bound"
        return f"{percent(abs(each.value / said.bound - 1), 2)} {side} the bound"
    shown = quantity(said.metric, abs(each.value - said.bound))
    apart = f"{number(abs(each.value - said.bound) * shown.scale)} {shown.unit}".rstrip()
    return f"{apart} {side} the bound"


def open_text(each: ExpectedCondition) -> str:
    """Return as text how many more replicates would decide a condition; "" if it is decided, or if
    nothing was measured.
    """
    if each.kept is not Kept.UNDECIDED or each.value is None:
        return ""
    if each.replicates_needed is None:
        return "no number of replicates would decide it soon, so near the bound"
    rounded = int(float(f"{each.replicates_needed:.2g}"))
    return f"about {count(rounded)} replicates would decide it"
