"""Finds samples that lie in two modes, as those do of which some waited for a time-out.

Student's t takes the spread from the sample. Of two modes a small sample often has too little of
one, and then both its mean and its spread are off in the same direction. Where the largest gap is
nearly half of a sample's range, the mode that speaks against a verdict is therefore counted once
more.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

GAP = 0.45
"""Smallest gap between two modes, as a share of the range. Of ten normal samples one in ten has
such a gap."""
CLEAR_GAP = 0.6
"""Smallest gap that is said to separate two modes: of ten normal samples one in a hundred has it"""
LEAST_TO_SAY = 5
LEAST_FACTOR = 1.2
"""Ratio of two modes that is worth a warning."""


def modes_of(values: Sequence[float], gap: float = GAP) -> tuple[float, float] | None:
    """Give the means of the lower and the upper mode of samples; None where there is one mode."""
    in_order = sorted(values)
    span = in_order[-1] - in_order[0]
    widest, place = max(
        ((high - low, i + 1) for i, (low, high) in enumerate(pairwise(in_order))),
        default=(0.0, 0),
    )
    if span <= 0 or widest < gap * span or len(in_order) < 3:
        return None
    lower, upper = in_order[:place], in_order[place:]
    return math.fsum(lower) / len(lower), math.fsum(upper) / len(upper)


def clear_modes(values: Sequence[float]) -> tuple[float, float] | None:
    """Give the means of two modes that a warning is worth; None where there are none."""
    if len(values) < LEAST_TO_SAY or min(values) <= 0:
        return None
    found = modes_of(values, CLEAR_GAP)
    return found if found is not None and found[1] / found[0] >= LEAST_FACTOR else None
