"""Combines conditions into the verdict on a claim, and controls the error probability of all claims
as a family.

A claim about all conditions holds if every condition shows it, and is reversed if every condition
shows the opposite: such verdicts err no more often than a single test does (an intersection-union
test, Berger 1982, Technometrics 24:295). Whether it holds at some level is tested once for each
condition, so those verdicts are Holm-adjusted for the number of conditions; and all claims of a
study are Holm-adjusted as one family (Holm 1979, Scandinavian Journal of Statistics 6:65).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from netwarp.claims.evidence import Answer, Evidence, Says


class ClaimVerdict(StrEnum):
    """The verdict on a claim."""

    REPRODUCED = "reproduced"
    """The claim holds in every condition."""
    SMALLER = "smaller"
    """The claim's direction holds, but the claimed size is not reached."""
    LARGER = "larger"
    """The claim's direction holds, and the claimed size is exceeded."""
    SIZE_UNDECIDED = "size-undecided"
    """The claim's direction holds in every condition; whether the claimed size is reached is
    undecided.
    """
    PARTLY = "partly"
    """The claim holds at some levels; at the others it is undecided, or there is no relevant
    difference.
    """
    DEPENDS = "depends"
    """The claim holds at some levels and is reversed at others."""
    EQUIVALENT = "equivalent"
    """There is no relevant difference in any condition."""
    UNDECIDED = "undecided"
    """The samples do not decide the claim."""
    PARTLY_REVERSED = "partly-reversed"
    """The opposite of the claim holds in some conditions; in the others it is undecided, or there
    is no relevant difference."""
    REVERSED = "reversed"
    """The opposite of the claim holds in every condition."""
    NOT_TESTABLE = "not-testable"
    """No run could test the claim."""
    FAILED = "failed"
    """Runs that the claim compares failed or have no value, and no condition shows anything."""


@dataclass(frozen=True)
class Joined:
    """The verdict on a claim, and the answer in each condition."""

    verdict: ClaimVerdict
    says: tuple[Says, ...]
    errors: tuple[float, ...]
    """The error probability at which each condition was tested."""


_UNANIMOUS: tuple[tuple[ClaimVerdict, tuple[Answer, ...]], ...] = (
    (ClaimVerdict.REPRODUCED, ("holds",)),
    (ClaimVerdict.LARGER, ("holds", "larger")),
    (ClaimVerdict.SMALLER, ("holds", "smaller", "larger")),
    (ClaimVerdict.SIZE_UNDECIDED, ("holds", "smaller", "larger", "direction")),
    (ClaimVerdict.REVERSED, ("reversed",)),
    (ClaimVerdict.EQUIVALENT, ("equivalent",)),
    (ClaimVerdict.DEPENDS, ("depends",)),
)
"""Verdicts that need the same answer from all conditions. `partly` is not one of them, because a
condition in which only a part holds may still show more than that, or that another part is
reversed.
"""


def smallest_chance(found: Sequence[Evidence]) -> float:
    """Return the smallest error probability at which any of the conditions has an answer."""
    tested = [each for each in found if each.fixed is None]
    if not tested:
        return 1.0
    unanimous = [
        max(_chance(each, answers) for each in tested) for _, answers in _UNANIMOUS
    ] if len(tested) == len(found) else []  # fmt: skip
    return min(1.0, len(found) * min(each.smallest for each in tested), *unanimous)


def join(found: Sequence[Evidence], alpha: float) -> Joined:
    """Return the verdict on a claim, from its evidence in each condition, at an error
    probability.
    """
    if all(each.fixed == "untested" for each in found):
        untested: tuple[Says, ...] = tuple("untested" for _ in found)
        return Joined(ClaimVerdict.NOT_TESTABLE, untested, (alpha,) * len(found))
    if all(each.fixed is None for each in found):
        for verdict, answers in _UNANIMOUS:
            if max(_chance(each, answers) for each in found) < alpha:
                says = _answer_of_each(found, answers, alpha)
                return Joined(_sized(verdict, found, alpha), says, (alpha,) * len(found))
    errors = family_errors([each.smallest for each in found], alpha)
    says = tuple(each.says(error) for each, error in zip(found, errors, strict=True))
    return Joined(_mixed(says), says, tuple(errors))


def family_errors(chances: Sequence[float], alpha: float) -> list[float]:
    """Divide an error probability among claims by Holm's procedure.

    Args:
        chances: p-value of each claim, see `smallest_chance`.
        alpha: error probability of the family: that of at least one wrong verdict.

    Returns:
        The error probability at which each claim is tested.
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


def _answer_of_each(
    found: Sequence[Evidence], answers: Sequence[Answer], alpha: float
) -> tuple[Says, ...]:
    return tuple(
        next(answer for answer in answers if each.chances.get(answer, 1.0) < alpha)
        for each in found
    )


def _sized(verdict: ClaimVerdict, found: Sequence[Evidence], alpha: float) -> ClaimVerdict:
    """Return the verdict on a claim, which also depends on the size `up_to` of its lead if the
    lead's direction holds in every condition.

    The size is reached if some condition shows it, adjusted for the number of conditions by
    Bonferroni's inequality. It is not reached if the lead is smaller in every condition. Otherwise
    the size is undecided.
    """
    reaches = [each.reaches for each in found if each.reaches is not None]
    if verdict is not ClaimVerdict.REPRODUCED or not reaches:
        return verdict
    if len(reaches) * min(reaches) < alpha / 2:
        return ClaimVerdict.REPRODUCED
    short = all(each.short_of < alpha / 2 for each in found)
    return ClaimVerdict.SMALLER if short else ClaimVerdict.SIZE_UNDECIDED


def _mixed(says: Sequence[Says]) -> ClaimVerdict:
    """Return the verdict on a claim that does not have the same answer in all conditions."""
    seen = Counter(says)
    holds = sum(seen[each] for each in ("holds", "smaller", "larger", "direction", "partly"))
    if seen["depends"] or (holds and seen["reversed"]):
        return ClaimVerdict.DEPENDS
    if holds:
        return ClaimVerdict.PARTLY
    if seen["reversed"]:
        everywhere = seen["reversed"] == len(says)
        return ClaimVerdict.REVERSED if everywhere else ClaimVerdict.PARTLY_REVERSED
    if seen["failed"]:
        return ClaimVerdict.FAILED
    return ClaimVerdict.UNDECIDED
