"""What limited the sender in each cell: a bar of shares of time, and the same as numbers."""

from collections import Counter
from dataclasses import dataclass

from netwarp.measure.limits import LIMITS, Limit
from netwarp.metrics import METRICS
from netwarp.metrics.limits import limit_metric
from netwarp.results import CellResult, Results
from netwarp.wording import cell_text

NEGLIGIBLE = 0.005
"""Shares below this would be rounded to 0 %, and are left out of the text."""


@dataclass(frozen=True)
class LimitShare:
    """The share of a sender's time for one limit, as the mean over the cell's runs."""

    limit: Limit
    ratio: float
    text: str
    """Name of the limit, and the share in percent."""


@dataclass(frozen=True)
class LimitRow:
    """One cell of the study."""

    cell: str
    shares: list[LimitShare]
    """All shares, in the order of the legend, for the bar."""
    told: list[LimitShare]
    """Shares that are not negligible, the largest first, for the text."""


@dataclass(frozen=True)
class LimitTable:
    """All cells whose senders were sampled."""

    legend: list[tuple[Limit, str, str]]
    """Limits with their names and descriptions."""
    rows: list[LimitRow]
    summary: str
    """Text on the number of cells in which each limit has the largest share."""


def limit_table(results: Results) -> LimitTable | None:
    """Arrange what limited the senders in a table; None if no connection was sampled."""
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
