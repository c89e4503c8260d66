"""Joins conditions into the verdict on a claim, and controls the error of all claims as a family.

A claim about all conditions holds where every one shows it, and is reversed where every one shows
the opposite: such verdicts err no more often than a single test does (an intersection-union test,
Berger 1982, Technometrics 24:295). Whether it holds at some level is tested once for each
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
    """It holds in every condition."""
    SMALLER = "smaller"
    """Its direction holds, but its size is not reached."""
    LARGER = "larger"
    """Its direction holds, and its size is exceeded."""
    SIZE_UNDECIDED = "size-undecided"
    """Its direction holds in every condition; whether its size is reached is undecided."""
    PARTLY = "partly"
    """It holds at some levels; at the rest it is undecided, or there is no relevant difference."""
    DEPENDS = "depends"
    """It holds at some levels and is reversed at others."""
    EQUIVALENT = "equivalent"
    """There is no relevant difference in any condition."""
    UNDECIDED = "undecided"
    """The samples do not decide it."""
    PARTLY_REVERSED = "partly-reversed"
    """The opposite holds in some conditions; at the rest it is undecided, or there is no relevant
    difference."""
    REVERSED = "reversed"
    """The opposite holds in every condition."""
    NOT_TESTABLE = "not-testable"
    """Nothing was run that could test it."""
    FAILED = "failed"
    """Runs that it compares failed or have no value, and no condition shows anything."""


@dataclass(frozen=True)
class Joined:
    """The verdict on a claim, and the answer of each condition."""

    verdict: ClaimVerdict
    says: tuple[Says, ...]
    errors: tuple[float, ...]
    """The error probability at which each condition was judged."""


_UNANIMOUS: tuple[tuple[ClaimVerdict, tuple[Answer, ...]], ...] = (
    (ClaimVerdict.REPRODUCED, ("holds",)),
    (ClaimVerdict.LARGER, ("holds", "larger")),
    (ClaimVerdict.SMALLER, ("holds", "smaller", "larger")),
    (ClaimVerdict.SIZE_UNDECIDED, ("holds", "smaller", "larger", "direction")),
    (ClaimVerdict.REVERSED, ("reversed",)),
    (ClaimVerdict.EQUIVALENT, ("equivalent",)),
    (ClaimVerdict.DEPENDS, ("depends",)),
)
"""Verdicts that all conditions have to show alike. `partly` is not among them, because a condition
of which a part holds may still show more than that, or that another part is reversed.
"""


def smallest_chance(found: Sequence[Evidence]) -> float:
    """Return the smallest error probability at which some condition has an answer."""
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
                says = _each(found, answers, alpha)
                return Joined(_sized(verdict, found, alpha), says, (alpha,) * len(found))
    errors = family_errors([each.smallest for each in found], alpha)
    says = tuple(each.says(error) for each, error in zip(found, errors, strict=True))
    return Joined(_mixed(says), says, tuple(errors))


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
    """Test the size of `up_to` of a claim whose direction holds in every condition.

    The lead has reached the size if that is shown in some condition, adjusted for their number by
    Bonferroni's inequality. It has not if it falls short in every condition. Otherwise the size is
    undecided.
    """
    reaches = [each.reaches for each in found if each.reaches is not None]
    if verdict is not ClaimVerdict.REPRODUCED or not reaches:
        return verdict
    if len(reaches) * min(reaches) < alpha / 2:
        return ClaimVerdict.REPRODUCED
    short = all(each.short_of < alpha / 2 for each in found)
    return ClaimVerdict.SMALLER if short else ClaimVerdict.SIZE_UNDECIDED


def _mixed(says: Sequence[Says]) -> ClaimVerdict:
    """Return the verdict on a claim for which the conditions do not all show the same."""
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
