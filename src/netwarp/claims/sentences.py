"""Writes the findings on a claim as a sentence: the conditions in groups by what they show, with
their numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from netwarp.claims.joining import ClaimVerdict
from netwarp.wording import condition_text, count, number, percent, unseen_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from netwarp.claims.evidence import Evidence, Says
    from netwarp.results import Factors

    Listed = Sequence[tuple[Factors, Evidence, Says]]

WORDS: Mapping[Says, str] = {
    "holds": "holds",
    "smaller": "holds, by less than claimed",
    "larger": "holds, by more than claimed",
    "direction": "holds, its size undecided",
    "partly": "holds from end to end, not at every step",
    "depends": "holds at some levels and is reversed at others",
    "reversed": "reversed",
    "equivalent": "no relevant difference",
    "undecided": "undecided",
    "failed": "not compared",
    "untested": "not tested",
}
MOST_IN_FULL = 2
"""Maximum number of conditions with the same answer for which both means are listed; for more, only
ratios are."""


def found_text(listed: Listed, verdict: ClaimVerdict, needed: int | None, relevant: float) -> str:
    """Return as text what the conditions of a claim show; those with the same answer are listed
    together.

    Args:
        listed: each condition with its evidence and what it shows.
        verdict: the verdict on the claim.
        needed: number of replicates that would decide the undecided conditions, or None.
        relevant: the smallest relevant difference, as a ratio; the text about equivalent conditions
            has it.
    """
    if len(listed) == 1:
        _, each, said = listed[0]
        text = each.found
        if said in ("partly", "depends"):
            text += f"; {WORDS[said]}"
        elif said == "equivalent":
            text += f"; they differ by less than {percent(relevant, 2)}"
    else:
        groups = [
            (said, [(condition, each) for condition, each, its in listed if its == said])
            for said in WORDS
        ]
        text = "; ".join(_conditions_text(said, found, relevant) for said, found in groups if found)
    compared = {tuple(each.values.get("compared", ())) for _, each, _ in listed} - {()}
    if len(compared) == 1:
        text = f"{' against '.join(*compared)}: {text}"
    same = [
        each.undecided.n
        for _, each, said in listed
        if each.undecided is not None
        and (said == "equivalent" or (said == "holds" and each.is_equality))
    ]
    if same:
        text += f"; {unseen_text(min(same))}"
    if needed is not None:
        text += f"; about {count(_rounded(needed))} replicates would decide"
    elif verdict is ClaimVerdict.UNDECIDED and any(each.undecided for _, each, _ in listed):
        text += "; no number of replicates would decide it soon: it lies at a limit"
    return text


def _rounded(needed: int) -> int:
    """Return a number of replicates rounded to two digits, because it is an estimate from the
    spread observed so far.
    """
    return int(float(f"{needed:.2g}"))


def _conditions_text(said: Says, found: Sequence[tuple[Factors, Evidence]], relevant: float) -> str:
    """Return as text the conditions in which a claim has the same answer."""
    in_full = len(found) <= MOST_IN_FULL
    parts = [
        f"{condition_text(condition)} ({each.found if in_full else _in_short(each)})"
        for condition, each in found
    ]
    limit = f" (less than {percent(relevant, 2)})" if said == "equivalent" else ""
    return f"{WORDS[said]}{limit} at {', '.join(parts)}"


def _in_short(each: Evidence) -> str:
    interval = each.values.get("interval")
    if "ratio" not in each.values or not interval:
        return each.found
    low, high = interval
    ratio = number(each.values["ratio"])
    return ratio if low == high else f"{ratio} [{number(low)}, {number(high)}]"
