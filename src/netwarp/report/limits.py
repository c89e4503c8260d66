"""What limited each cell's sender: a bar of shares, and the same as numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from netwarp.measure.limits import LIMITS
from netwarp.metrics import METRICS
from netwarp.metrics.limits import limit_metric
from netwarp.wording import cell_text

if TYPE_CHECKING:
    from netwarp.measure.limits import Limit
    from netwarp.results import CellResult, Results


@dataclass(frozen=True)
class LimitShare:
    """The share of a sender's time in which one thing limited it, mean over the cell's runs."""

    limit: Limit
    ratio: float
    text: str


@dataclass(frozen=True)
class LimitRow:
    """One cell of the study."""

    cell: str
    shares: list[LimitShare]
    """In the order of the table's columns."""
    largest: Limit
    """What limited it most."""


@dataclass(frozen=True)
class LimitTable:
    """All cells whose senders were sampled."""

    heads: list[tuple[Limit, str, str]]
    """Limit, its name, and what the share is of, for each column."""
    rows: list[LimitRow]


def limit_table(results: Results) -> LimitTable | None:
    """Lay out what limited the senders; None where no connection was sampled."""
    rows = [row for cell in results.cells if (row := _row(cell)) is not None]
    if not rows:
        return None
    found = (METRICS[limit_metric(limit)] for limit in LIMITS)
    heads = [
        (limit, metric.title.removeprefix("Limited by ").removeprefix("the "), metric.description)
        for limit, metric in zip(LIMITS, found, strict=True)
    ]
    return LimitTable(heads, rows)


def _row(cell: CellResult) -> LimitRow | None:
    shares = []
    for limit in LIMITS:
        estimate = cell.estimate(limit_metric(limit))
        if estimate is None:
            return None
        shares.append(LimitShare(limit, estimate.mean, f"{100 * estimate.mean:.0f} %"))
    largest = max(shares, key=lambda share: share.ratio).limit
    return LimitRow(cell_text(cell.factors), shares, largest)
