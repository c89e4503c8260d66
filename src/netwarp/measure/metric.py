"""What a metric is: one entry that names it, words it, and computes it from a run's records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from netwarp.measure.run_records import RunRecords

Unit = Literal["s", "ns", "bit/s", "packets", "B", "ratio", "count", "index", "1/s"]
Better = Literal["lower", "higher", "neither"]

FASTER = ("faster", "slower")
"""Words for times that somebody waits through."""
SHORTER = ("shorter", "longer")
"""Words for times that last."""
LOWER = ("lower", "higher")
"""Words for rates, counts and shares."""


@dataclass(frozen=True)
class Metric:
    """A number that every run has, if its workload and its transport can say it."""

    name: str
    """Stable; ends in its unit, or in the direction it was counted in, or in the statistic that it
    is of a unit before (`_max`, `_p95`)."""
    unit: Unit
    better: Better
    title: str
    """Title on axes and column heads, without the unit."""
    description: str
    """Exact definition, for the reference and the report."""
    source: str
    """The records it is made from, by their kind."""
    measure: Callable[[RunRecords], float | None]
    """Computes it; None where the run's records cannot say it."""
    words: tuple[str, str] = LOWER
    """What a smaller and what a larger value is called in a comparison."""
    head: str | None = None
    """Head of its column in the printed table. Default: its title in lower case."""
    in_report: bool = False
    """Whether the report's table of results has a column of it."""
    beside: tuple[str, ...] | None = None
    """The metrics printed beside it, where a study is mainly about this one; `*.NAME` is what each
    of several workloads has."""

    @property
    def is_whole(self) -> bool:
        """Whether a run's value is a whole number: packets, bytes, events."""
        return self.unit in ("packets", "B", "count")
