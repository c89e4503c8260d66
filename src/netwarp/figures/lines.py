"""Lines, bands and marks over time, and the reduction of long lines to a chart's resolution."""

from collections.abc import Sequence
from dataclasses import dataclass

MOST_POINTS = 600
"""Most points of a line: as many as a chart in a page has columns of pixels."""

Point = tuple[float, float]
"""Time in s, and value."""


@dataclass(frozen=True)
class Line:
    """A line of values over time; in a step line each value is valid until the next."""

    points: list[Point]
    path: int = 0
    """Index of the path that the line belongs to, if it is one of a path."""


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
    """Keep the first, the last, the smallest and the largest value of each stretch of time.

    The drawing is the same to the pixel, in a chart of `most` / 4 columns (M4: Jugel, Jerzak,
    Hackenbroich, Markl, VLDB 2014).

    Args:
        points: ascending in time.
        most: number of points kept at most, at least 4.
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
    """Add up groups of adjacent counts, so that at most `most` sums are left.

    Returns:
        The sums, and the number of counts in each; the last may have fewer.
    """
    width = max(1, -(-len(counts) // most))
    return [sum(counts[i : i + width]) for i in range(0, len(counts), width)], width
