"""Defines a metric: one entry has its name, its texts, and its computation from a run's records."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from netwarp.measure.run_records import RunRecords
from netwarp.wire.flow import FlowUnit

Unit = Literal["s", "ns", "bit/s", "packets", "B", "ratio", "count", "index", "1/s"]
Better = Literal["lower", "higher", "neither"]

Over = Callable[[Callable[[str], float | None]], float | None]
"""A function from a run's metrics (by name) to the denominator of a quotient; None if that is
unknown."""

FASTER = ("faster", "slower")
"""Words in verdicts for smaller and for larger waiting times."""
SHORTER = ("shorter", "longer")
"""Words in verdicts for smaller and for larger lengths of time."""
LOWER = ("lower", "higher")
"""Words in verdicts for smaller and for larger rates, counts and shares."""


@dataclass(frozen=True)
class Metric:
    """A metric: its name, its texts, and the function that computes it from the records of a run,
    if they determine it.
    """

    name: str
    """Stable name; ends in its unit, which a direction or a statistic may follow (`_down`, `_max`,
    `_p95`)."""
    unit: Unit
    better: Better
    title: str
    """Title on axes and in column heads, without the unit."""
    description: str
    """Exact definition, for the reference and the report."""
    source: str
    """Kinds of the records from which the metric is computed."""
    measure: Callable[[RunRecords], float | None]
    """Computes the metric from a run's records; returns None if these do not determine it."""
    words: tuple[str, str] = LOWER
    """Words for a smaller and for a larger value, for verdicts."""
    head: str | None = None
    """Heading of the metric's column in the printed table. Default: the title in lower case."""
    in_report: bool = False
    """Whether the metric is a column in the report's table of results."""
    beside: tuple[str, ...] | None = None
    """Metrics printed beside this one if it is one of a study's main metrics; `*.NAME` is the
    metric NAME of each of several workloads. None for a metric that is a main one only in studies
    that name it."""

    over: Over | None = None
    """For a quotient whose denominator differs between replicates, such as a rate: a function that
    computes the denominator from a run's other metrics. The mean of a cell is weighted by it."""

    is_mean: bool = False
    """Whether the metric is a mean over time, which need not be a whole number even if it is about
    counts.
    """
    is_performance: bool = False
    """Whether the metric measures the performance of a workload, so that a worse value is the harm
    done by other workloads.
    """
    delay_unit: FlowUnit | None = None
    """For a quantile of delays within a run: the unit whose delays these are (messages, packets or
    responses); else None."""

    @property
    def is_whole(self) -> bool:
        """Whether values of a single run are whole numbers: packets, bytes, events."""
        return self.unit in ("packets", "B", "count") and not self.is_mean

    def stored(self, value: float | None) -> float | int | None:
        """Return a run's value as it is stored in files: a whole number without decimals."""
        return int(value) if value is not None and self.is_whole else value


def unmeasured(_: RunRecords) -> float | None:
    """Return None, for metrics that are not measured from one run's records: they are computed
    elsewhere, from several runs or workloads.
    """
    return None
