"""Finds samples that form two separate groups (modes), for instance because some runs waited for a
time-out.

Student's t estimates the spread from the sample. A small sample from two modes often has too few
values of one of them, and then both its mean and its spread are off in the same direction. So if
the largest gap is nearly half of the sample's range, a sample of the mode that contradicts a
verdict is counted twice.
"""

import math
from collections.abc import Sequence
from itertools import pairwise

GAP = 0.45
"""Minimum gap between two modes, as a share of the range. One in ten samples of ten normal values
has such a gap."""
CLEAR_GAP = 0.6
"""Minimum gap that clearly separates two modes, as a share of the range. One in a hundred samples
of ten normal values has such a gap."""
LEAST_TO_SAY = 6
LEAST_FACTOR = 1.2
"""Minimum ratio of two modes' means for which a warning is printed."""
FEW = 10
"""Number of samples below which each mode must have at least two of them. Of samples of six normal
values one in nine has such a gap, mostly beside a single value, and one in 27 has two values on
each side of it."""

Modes = tuple[Sequence[float], Sequence[float]]
"""The samples of the lower mode and those of the upper one, in order."""


def modes_of(values: Sequence[float], gap: float = GAP) -> tuple[float, float] | None:
    """Return the means of the lower and of the upper mode of samples; None if the samples form one
    group.
    """
    found = _parted(values, gap)
    return None if found is None else (_mean(found[0]), _mean(found[1]))


def clear_modes(values: Sequence[float]) -> Modes | None:
    """Return the samples of two modes that are separate enough for a warning; None if they form one
    group.
    """
    if len(values) < LEAST_TO_SAY or min(values) <= 0:
        return None
    found = _parted(values, CLEAR_GAP)
    if found is None or _mean(found[1]) / _mean(found[0]) < LEAST_FACTOR:
        return None
    is_one = min(map(len, found)) < 2
    return None if is_one and len(values) < FEW else found


def _parted(values: Sequence[float], gap: float) -> Modes | None:
    """Divide samples at the largest gap between neighbours; None if it is a smaller share of the
    range than `gap`.
    """
    in_order = sorted(values)
    span = in_order[-1] - in_order[0]
    widest, place = max(
        ((high - low, i + 1) for i, (low, high) in enumerate(pairwise(in_order))),
        default=(0.0, 0),
    )
    if span <= 0 or widest < gap * span or len(in_order) < 3:
        return None
    return in_order[:place], in_order[place:]


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
