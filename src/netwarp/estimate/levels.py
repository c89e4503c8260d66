"""Reads the levels of a factor as numbers, to sort them, place them on an axis, and fit slopes.

`netwarp.wording` makes the texts that users see.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from netwarp.units import (
    UnitError,
    parse_duration_ns,
    parse_queue,
    parse_rate_bit_s,
    parse_ratio,
    parse_size_bytes,
)


@dataclass(frozen=True)
class Scale:
    """The numbers in a factor's labels, in one unit ("" if they have none)."""

    unit: str
    numbers: Mapping[str, float]

    def text(self, label: str) -> str:
        """Return a level as text, in the form in which axes and tables show it: `50 ms`, `1 %`."""
        number = f"{self.numbers[label]:.6g}"
        return f"{number} {self.unit}" if self.unit else number


def scale_of(labels: Sequence[str]) -> Scale | None:
    """Return the numbers in all labels, which must be of one kind of quantity; None if the labels
    are names.
    """
    for read, unit_of in _KINDS:
        try:
            numbers = {label: float(read(label)) for label in labels}
        except (UnitError, ValueError, TypeError):
            continue
        if not all(map(math.isfinite, numbers.values())):
            continue
        unit, divisor = unit_of(max(numbers.values(), default=0))
        # Rounded to 12 digits, as 100 × 0.07 is not exactly 7 in binary.
        shown = {label: float(f"{n / divisor:.12g}") for label, n in numbers.items()}
        return Scale(unit, shown)
    return None


def ordered(labels: Sequence[str]) -> list[str]:
    """Return the levels in order of their numbers; names keep the study's order."""
    scale = scale_of(labels)
    return list(labels) if scale is None else sorted(labels, key=scale.numbers.__getitem__)


def _time_unit(largest_ns: float) -> tuple[str, float]:
    if largest_ns > 1e10 or largest_ns == 0:
        return "s", 1e9
    return ("ms", 1e6) if largest_ns >= 1e6 else ("µs", 1e3)


def _rate_unit(largest_bit_s: float) -> tuple[str, float]:
    return ("Mbit/s", 1e6) if largest_bit_s >= 1e6 else ("kbit/s", 1e3)


def _size_unit(largest_bytes: float) -> tuple[str, float]:
    return ("MB", 1e6) if largest_bytes >= 1e6 else ("kB", 1e3)


def _queue_in(unit: str) -> Callable[[str], float]:
    def read(label: str) -> float:
        queue = parse_queue(label)
        if queue.unit != unit:
            raise ValueError(f"{label} is not in {unit}")
        return float(queue.amount)

    return read


_KINDS: tuple[tuple[Callable[[str], Any], Callable[[float], tuple[str, float]]], ...] = (
    (float, lambda _: ("", 1)),
    (lambda label: 100 * parse_ratio(label), lambda _: ("%", 1)),
    (parse_duration_ns, _time_unit),
    (parse_rate_bit_s, _rate_unit),
    (parse_size_bytes, _size_unit),
    (_queue_in("bdp"), lambda _: ("BDP", 1)),
    (_queue_in("packets"), lambda _: ("packets", 1)),
)
