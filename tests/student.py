"""Comparisons by Student's t alone, for tests of what is made of them with a few replicates."""

from __future__ import annotations

import math
from dataclasses import replace

from netwarp.estimate.comparison import RELEVANT, Comparison, Samples, compare, holm
from netwarp.estimate.stats import CONFIDENCE


def by_student(baseline: Samples, contender: Samples, relevant: float = RELEVANT) -> Comparison:
    """Compare cells without regard to what few replicates of something random cannot tell."""
    planned = [
        {r: replace(each, random=False) for r, each in of.items()} for of in (baseline, contender)
    ]
    found = compare(planned[0], planned[1], relevant)
    if found.location is None or found.exact:
        return found
    location = replace(found.location, sampled=0, cautious=None, ranked=())
    limits = (-found.limit, found.limit)
    p, equivalence_p = location.p_outside(*limits), location.p_within(*limits)
    low, high = location.interval(CONFIDENCE)
    ci95 = (math.exp(low), math.exp(high)) if found.scale == "ratio" else (low, high)
    judged = replace(found, location=location, p=p, equivalence_p=equivalence_p, ci95=ci95)
    return holm([judged])[0]
