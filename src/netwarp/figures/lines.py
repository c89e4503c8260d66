"""Lines, bands and marks over time; long lines are reduced to the resolution of a chart."""

from collections.abc import Sequence
from dataclasses import dataclass

MOST_POINTS = 600
"""Maximum number of points of a line: as many as a chart on a page has columns of pixels."""

Point = tuple[float, float]
"""Time in s, and the value at that time."""


@dataclass(frozen=True)
class Line:
    """A line of values over time. In a step line each value is valid until the next."""

    points: list[Point]
    path: int = 0
    """Index of the path that the values belong to; 0 if they belong to none."""


@dataclass(frozen=True)
class Band:
    """An interval of time with a label."""

    start_s: float
    end_s: float
    label: str


@dataclass(frozen=True)
class Mark:
    """A point in time with a label."""

    at_s: float
    label: str


def thinned(points: Sequence[Point], most: int) -> list[Point]:
    """Return a line with only the first, last, smallest and largest point of each interval of time.

    The drawing stays the same, pixel by pixel, in a chart of `most` / 4 columns (M4: Jugel, Jerzak,
    Hackenbroich, Markl, VLDB 2014).

    Args:
        points: the points in order of time.
        most: largest number of points to keep, at least 4.
    """
    if len(points) <= most:
        return list(points)
    stretches = most // 4
    start_s, length_s = points[0][0], points[-1][0] - points[0][0]
    by_stretch: dict[int, list[int]] = {}
    for index, (time_s, _) in enumerate(points):
        stretch = int((time_s - start_s) / length_s * stretches) if length_s else 0
        by_stretch.setdefault(min(stretch, stretches - 1), []).append(index)
    kept: list[int] = []
    for indices in by_stretch.values():
        values = [points[index][1] for index in indices]
        least, largest = indices[values.index(min(values))], indices[values.index(max(values))]
        kept += sorted({indices[0], least, largest, indices[-1]})
    return [points[index] for index in kept]


def rebinned(counts: Sequence[int], most: int) -> tuple[list[int], int]:
    """Return sums of groups of neighbouring counts, at most `most` sums.

    Returns:
        The sums, and the number of counts in each; the last may have fewer.
    """
    width = max(1, -(-len(counts) // most))
    return [sum(counts[i : i + width]) for i in range(0, len(counts), width)], width
