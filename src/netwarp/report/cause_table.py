"""Where the time of each cell's runs went, by cause: a bar with each cause's share, and the same as
numbers.
"""

from collections import Counter
from dataclasses import dataclass

from netwarp.metrics.attribution import CAUSE_TEXTS, cause_metric
from netwarp.metrics.causes import CAUSES, Cause
from netwarp.results import CellResult, Results
from netwarp.wording import cell_text

NEGLIGIBLE = 0.005
"""Minimum share of time of a cause that the text names, because a smaller one would be rounded to 0
%."""


@dataclass(frozen=True)
class CauseShare:
    """The share of time for which one cause limited the runs, as the mean over the cell's runs."""

    cause: Cause
    ratio: float
    colour: str
    text: str
    """Name of the cause, and the share in percent."""


@dataclass(frozen=True)
class CauseRow:
    """The row of one cell of the study in the table of causes."""

    cell: str
    shares: list[CauseShare]
    """All shares, in the order of the legend, for the bar of the row."""
    told: list[CauseShare]
    """Shares that are not negligible, the largest first, for the text of the row."""


@dataclass(frozen=True)
class CauseTable:
    """The table of causes, with a row for each cell whose bottleneck was sampled."""

    legend: list[tuple[str, str, str]]
    """The causes that occur: name, colour and description of each."""
    rows: list[CauseRow]
    summary: str
    """Text on the number of cells in which each cause has the largest share."""


def cause_table(results: Results) -> CauseTable | None:
    """Return a table with the causes of all cells; None if no run's records determine them."""
    rows = [row for cell in results.cells if (row := _row(cell)) is not None]
    if not rows:
        return None
    used = {share.cause for row in rows for share in row.told}
    legend = [
        (text.name, text.colour, text.meaning)
        for cause, text in CAUSE_TEXTS.items()
        if cause in used
    ]
    most = Counter(row.told[0].cause for row in rows if row.told)
    counts = [
        f"{CAUSE_TEXTS[cause].name} in {cells} of {len(rows)}"
        for cause, cells in most.most_common()
    ]
    return CauseTable(legend, rows, f"Mostly {', '.join(counts)}")


def _row(cell: CellResult) -> CauseRow | None:
    """Return the row of a cell; None if its runs do not determine the causes."""
    shares = []
    for cause in CAUSES:
        estimate = cell.estimate(cause_metric(cause))
        if estimate is None:
            return None
        text = f"{CAUSE_TEXTS[cause].name} {100 * estimate.mean:.0f} %"
        shares.append(CauseShare(cause, estimate.mean, CAUSE_TEXTS[cause].colour, text))
    told = sorted((s for s in shares if s.ratio >= NEGLIGIBLE), key=lambda s: -s.ratio)
    return CauseRow(cell_text(cell.factors), shares, told)
