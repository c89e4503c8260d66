"""The mean of waiting times that are partly right-censored: of some, only a lower bound is known,
because they were cut off. Pure.
"""

from collections.abc import Sequence
from itertools import groupby


def kaplan_meier_mean(complete: Sequence[float], censored: Sequence[float]) -> float | None:
    """Estimate the mean of right-censored times: the area below Kaplan and Meier's survival curve.

    Kaplan, Meier: Nonparametric Estimation from Incomplete Observations, JASA 1958. A censored time
    counts as longer than a complete one of the same length. If the longest time is censored, it
    counts as complete (Efron 1967), so that the mean is a lower bound. This assumes that what cuts
    a time off does not depend on how long the time would have been.

    Args:
        complete: times observed in full, none negative.
        censored: times after which observation ended, none negative.

    Returns:
        The mean, in the unit of the times; None if there are no times.
    """
    observed = sorted([(time, 0) for time in complete] + [(time, 1) for time in censored])
    if not observed:
        return None
    mean, surviving, since, at_risk = 0.0, 1.0, 0.0, len(observed)
    for time, group in groupby(observed, key=lambda each: each[0]):
        ends = [is_censored for _, is_censored in group]
        mean += surviving * (time - since)
        surviving *= 1 - ends.count(0) / at_risk
        since, at_risk = time, at_risk - len(ends)
    return mean
