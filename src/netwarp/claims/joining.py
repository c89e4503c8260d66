"""Joins conditions into the verdict on a claim, and controls the error of all claims as a family.

A claim about all conditions holds where every one shows it, and is reversed where every one shows
the opposite: such verdicts err no more often than a single test does (an intersection-union test,
Berger 1982, Technometrics 24:295). Whether it holds at some level is tested once for each
condition, so those verdicts are Holm-adjusted for the number of conditions; and all claims of a
study are Holm-adjusted as one family (Holm 1979, Scandinavian Journal of Statistics 6:65).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netwarp.claims.evidence import Answer, Evidence, Says


class ClaimVerdict(StrEnum):
    """The verdict on a claim."""

    REPRODUCED = "reproduced"
    """It holds in every condition."""
    SMALLER = "smaller"
    """Its direction holds, its size is not reached."""
    PARTLY = "partly"
    """It holds at some levels; at the rest it is undecided, or there is no relevant difference."""
    DEPENDS = "depends"
    """It holds at some levels and is reversed at others."""
    EQUIVALENT = "equivalent"
    """There is no relevant difference in any condition."""
    UNDECIDED = "undecided"
    """The samples do not decide it."""
    REVERSED = "reversed"
    """The opposite holds, and the claim holds in no condition."""
    NOT_TESTABLE = "not-testable"
    """Nothing was run that could test it."""
    FAILED = "failed"
    """Runs that it compares failed, and it holds in no condition."""


@dataclass(frozen=True)
class Joined:
    """The verdict on a claim, and the answer of each condition."""

    verdict: ClaimVerdict
    says: tuple[Says, ...]


_UNANIMOUS: tuple[tuple[ClaimVerdict, tuple[Answer, ...]], ...] = (
    (ClaimVerdict.REPRODUCED, ("holds",)),
    (ClaimVerdict.SMALLER, ("holds", "smaller")),
    (ClaimVerdict.REVERSED, ("reversed",)),
    (ClaimVerdict.EQUIVALENT, ("equivalent",)),
    (ClaimVerdict.DEPENDS, ("depends",)),
    (ClaimVerdict.PARTLY, ("partly",)),
)


def smallest_chance(found: Sequence[Evidence]) -> float:
    """Give the smallest error probability at which the conditions decide anything."""
    tested = [each for each in found if each.fixed is None]
    if not tested:
        return 1.0
    unanimous = [
        max(_chance(each, answers) for each in tested) for _, answers in _UNANIMOUS
    ] if len(tested) == len(found) else []  # fmt: skip
    return min(1.0, len(found) * min(each.smallest for each in tested), *unanimous)


def join(found: Sequence[Evidence], alpha: float) -> Joined:
    """Join the conditions of a claim at an error probability."""
    if all(each.fixed == "untested" for each in found):
        return Joined(ClaimVerdict.NOT_TESTABLE, tuple("untested" for _ in found))
    if all(each.fixed is None for each in found):
        for verdict, answers in _UNANIMOUS:
            if max(_chance(each, answers) for each in found) < alpha:
                return Joined(_sized(verdict, found, alpha), _each(found, answers, alpha))
    says = _one_by_one(found, alpha)
    return Joined(_mixed(says), says)


def family_errors(chances: Sequence[float], alpha: float) -> list[float]:
    """Distribute an error probability over claims by Holm's procedure.

    Args:
        chances: p-value of each claim, see `smallest_chance`.
        alpha: error probability of the family: that of at least one wrong verdict.

    Returns:
        For each claim the error probability at which it is judged.
    """
    order = sorted(range(len(chances)), key=chances.__getitem__)
    errors = [alpha] * len(chances)
    share = alpha / max(1, len(chances))
    stopped = False
    for rank, claim in enumerate(order):
        if not stopped:
            share = alpha / (len(chances) - rank)
            stopped = chances[claim] >= share
        errors[claim] = share
    return errors


def _chance(evidence: Evidence, answers: Sequence[Answer]) -> float:
    return min(evidence.chances.get(answer, 1.0) for answer in answers)


def _each(found: Sequence[Evidence], answers: Sequence[Answer], alpha: float) -> tuple[Says, ...]:
    return tuple(
        next(answer for answer in answers if each.chances.get(answer, 1.0) < alpha)
        for each in found
    )


def _sized(verdict: ClaimVerdict, found: Sequence[Evidence], alpha: float) -> ClaimVerdict:
    """Change a verdict to `smaller` where the lead falls short of its size in every condition."""
    short = all(each.short_of < alpha for each in found)
    return ClaimVerdict.SMALLER if verdict is ClaimVerdict.REPRODUCED and short else verdict


def _one_by_one(found: Sequence[Evidence], alpha: float) -> tuple[Says, ...]:
    """Decide each condition by itself, Holm-adjusted for their number."""
    errors = family_errors([each.smallest for each in found], alpha)
    return tuple(each.says(error) for each, error in zip(found, errors, strict=True))


def _mixed(says: Sequence[Says]) -> ClaimVerdict:
    seen = Counter(says)
    holds = seen["holds"] + seen["smaller"] + seen["partly"]
    if seen["depends"] or (holds and seen["reversed"]):
        return ClaimVerdict.DEPENDS
    if holds:
        return ClaimVerdict.PARTLY
    if seen["reversed"]:
        return ClaimVerdict.REVERSED
    if seen["failed"]:
        return ClaimVerdict.FAILED
    return ClaimVerdict.UNDECIDED
