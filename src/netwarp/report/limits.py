"""What limited each cell's sender: a bar of shares, and the same as numbers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netwarp.measure.limits import LIMITS
from netwarp.metrics import METRICS
from netwarp.metrics.limits import limit_metric
from netwarp.wording import cell_text

if TYPE_CHECKING:
    from netwarp.measure.limits import Limit
    from netwarp.results import CellResult, Results


NEGLIGIBLE = 0.005
"""Shares below this would be told as 0 %, and are not."""


@dataclass(frozen=True)
class LimitShare:
    """The share of a sender's time in which one thing limited it, mean over the cell's runs."""

    limit: Limit
    ratio: float
    text: str
    """The limit's name and the share in per cent."""


@dataclass(frozen=True)
class LimitRow:
    """One cell of the study."""

    cell: str
    shares: list[LimitShare]
    """In the order of the legend, as the bar has them."""
    told: list[LimitShare]
    """Those that are not negligible, the largest first."""


@dataclass(frozen=True)
class LimitTable:
    """All cells whose senders were sampled."""

    legend: list[tuple[Limit, str, str]]
    """Each limit, its name, and what the share is of."""
    rows: list[LimitRow]
    summary: str
    """In how many cells each limit has the largest share."""


def limit_table(results: Results) -> LimitTable | None:
    """Lay out what limited the senders; None where no connection was sampled."""
    rows = [row for cell in results.cells if (row := _row(cell)) is not None]
    if not rows:
        return None
    legend = [(limit, _name(limit), METRICS[limit_metric(limit)].description) for limit in LIMITS]
    most = Counter(row.told[0].limit for row in rows if row.told)
    counts = [f"{_name(limit)} in {cells} of {len(rows)}" for limit, cells in most.most_common()]
    return LimitTable(legend, rows, f"Mostly {', '.join(counts)}")


def _name(limit: Limit) -> str:
    return METRICS[limit_metric(limit)].title.removeprefix("Limited by ").removeprefix("the ")


def _row(cell: CellResult) -> LimitRow | None:
    shares = []
    for limit in LIMITS:
        estimate = cell.estimate(limit_metric(limit))
        if estimate is None:
            return None
        text = f"{_name(limit)} {100 * estimate.mean:.0f} %"
        shares.append(LimitShare(limit, estimate.mean, text))
    told = sorted((s for s in shares if s.ratio >= NEGLIGIBLE), key=lambda s: -s.ratio)
    return LimitRow(cell_text(cell.factors), shares, told)
