"""Describes metrics that a study defines: numbers in programs' output, with the unit in the
metric's name.
"""

import re
from collections.abc import Callable, Mapping

from netwarp.measure.metric import FASTER, LOWER, Better, Metric, Unit, unmeasured
from netwarp.measure.run_records import RunRecords

_UNITS: Mapping[str, tuple[Unit, Better]] = {
    "bit_s": ("bit/s", "higher"),
    "per_s": ("1/s", "higher"),
    "s": ("s", "lower"),
    "ns": ("ns", "lower"),
    "bytes": ("B", "neither"),
    "packets": ("packets", "neither"),
    "count": ("count", "neither"),
    "ratio": ("ratio", "neither"),
}
"""The unit of a metric, and whether higher or lower values are better, by the suffix of its
name."""
ENDINGS = ", ".join(f"_{ending}" for ending in _UNITS)
_NAME = re.compile(
    rf"(?P<what>[a-z][a-z0-9]*(?:_[a-z0-9]+)*?)_(?P<unit>{'|'.join(_UNITS)})"
    r"(?:_(?P<which>down|up|min|max|mean|median|p[0-9]+))?"
)


def printed_metric(
    name: str, measure: Callable[[RunRecords], float | None] = unmeasured
) -> Metric | None:
    """Return a metric that is described by its name, such as ``latency_s_p99``.

    Args:
        name: the metric's name in the study.
        measure: reads it from a run; not needed for its texts.

    Returns:
        The metric; None if the name does not end in a unit, which a direction or a statistic may
            follow.
    """
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    unit, better = _UNITS[found["unit"]]
    words = found["what"].replace("_", " ").capitalize()
    return Metric(
        name=name,
        unit=unit,
        better=better,
        title=f"{words}, {found['which']}" if found["which"] else words,
        description="A number that the study reads from what a program prints.",
        source="program",
        measure=measure,
        words=FASTER if unit in ("s", "ns") else LOWER,
        in_report=True,
        beside=(),
    )
