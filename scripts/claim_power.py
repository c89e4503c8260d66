"""Computes from recorded runs how many replicates a study's claims need.

Only the variances of recorded effects enter, never their means: the effect to be told is given, so
that no number of replicates is chosen by the verdict that it gives.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from netwarp.claims.conditions import Condition
from netwarp.claims.contrasts import contrasts, effect_by_replicate, scale_of_effect
from netwarp.estimate.comparison import ALPHA
from netwarp.estimate.needed import replicates_to_tell
from netwarp.estimate.stats import standard_deviation
from netwarp.results import Results, without_levels
from netwarp.study.claims import Claim

LEAST_FOR_A_SPREAD = 2


@dataclass(frozen=True)
class Need:
    """The replicates that one condition of a claim needs."""

    claim: str
    condition: Condition
    stdev: float
    """Standard deviation of a single replicate's effect, on the logarithmic scale."""
    degrees: int
    """Degrees of freedom of the standard deviation."""
    replicates: int | None
    """None where a hundred thousand would not suffice."""


def needed_replicates(
    claims: Sequence[Claim], recorded: Sequence[Results], effect: float, *, looks: int = 1
) -> list[Need]:
    """Compute the replicates with which each condition is told with a power of 80 %.

    Variances are pooled within the recorded results, each with its own seed. The error probability
    is that of the most demanding claim of the family (Bonferroni): those about something random.

    Args:
        claims: the claims of a study.
        recorded: its results with other seeds than the one to be judged.
        effect: the difference to be told, as a ratio; of claims with a tolerance, that is told.
        looks: number of times that the samples may be judged.
    """
    pooled = [(claim, found) for claim in claims if (found := _pooled(claim, recorded))]
    alpha = ALPHA / looks / max(1, len(pooled))
    needs = []
    for claim, found in pooled:
        for key, (sum_of_squares, degrees) in found.items():
            stdev = math.sqrt(sum_of_squares / degrees)
            distance = _distance(claim, effect, recorded[0].criteria.relevant)
            needed = replicates_to_tell(stdev, distance, alpha, tolerance=_tolerance(claim))
            needs.append(Need(claim.id or "", key, stdev, degrees, needed))
    return needs


def _tolerance(claim: Claim) -> float | None:
    is_same = claim.equal is not None or claim.flat_over is not None
    return math.log1p(claim.tolerance) if is_same else None


def _distance(claim: Claim, effect: float, relevant: float) -> float:
    if (tolerance := _tolerance(claim)) is not None:
        return tolerance
    relevant = relevant if claim.relevant is None else claim.relevant
    return max(math.log1p(effect), math.log1p(2 * relevant)) - math.log1p(relevant)


def _pooled(claim: Claim, recorded: Sequence[Results]) -> Mapping[Condition, tuple[float, int]]:
    """Sum the squares of the effects' deviations, and their degrees of freedom, by condition.

    Conditions in which nothing is random, with failed runs, zeros or fewer than two replicates are
    left out. A lead that is
    read as a gap counts by its ratio.
    """
    sums: dict[Condition, tuple[float, int]] = defaultdict(lambda: (0.0, 0))
    if claim.not_testable is not None or claim.linear_over is not None:
        return sums
    as_ratio = claim.model_copy(update={"lead": None, "stays_over": None})
    for results in recorded:
        for key, terms in contrasts(claim, without_levels(results, claim.without).cells).items():
            cells = [cell for cell, _ in terms]
            if not any(cell.is_random for cell in cells):
                continue
            if any(cell.failed for cell in cells) or scale_of_effect(as_ratio, cells) != "ratio":
                continue
            values = list((effect_by_replicate(terms, claim.metric or "", "ratio") or {}).values())
            if len(values) >= LEAST_FOR_A_SPREAD:
                degrees = len(values) - 1
                squares = standard_deviation(values) ** 2 * degrees
                sums[key] = (sums[key][0] + squares, sums[key][1] + degrees)
    return sums
