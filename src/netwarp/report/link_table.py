"""The table of links in the report: how busy each was, and the packets that it sent, lost, marked
and queued.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import mean
from typing import TYPE_CHECKING

from netwarp.fields import DIRECTIONS
from netwarp.metrics.links import PREFIX, measured_links
from netwarp.wording import cell_text, count, number, percent, rate_text, value_text

if TYPE_CHECKING:
    from netwarp.evaluation import RunData
    from netwarp.results import CellResult
    from netwarp.wire import Direction, Job

MOST_ROWS = 400
"""Maximum number of rows of the table; those of the first cells are shown."""


@dataclass(frozen=True)
class LinkRow:
    """One direction of a link in a cell, with means over the cell's runs."""

    cell: str
    way: str
    rate: str
    utilisation: str
    packets: str
    dropped: str
    marked: str
    queue: str


@dataclass(frozen=True)
class LinkTable:
    """The table of the links of a study's networks, with the number of rows that are left out."""

    rows: list[LinkRow]
    hidden: int


def link_table(data: RunData) -> LinkTable | None:
    """Return the metrics of links as a table by cell, link and direction; None if no run has
    any.
    """
    rows = [
        row
        for cell in data.results.cells
        if (job := data.job(cell.runs[0].run)) is not None
        for row in _rows(cell, job)
    ]
    return LinkTable(rows[:MOST_ROWS], max(0, len(rows) - MOST_ROWS)) if rows else None


def _rows(cell: CellResult, job: Job) -> list[LinkRow]:
    """Return the rows of a cell: one for each direction of a link that sent packets."""
    network = job.network
    found = []
    for index, label in measured_links(job):
        for direction in DIRECTIONS:
            carried = _mean(cell, label, "packets", direction)
            if network is None or not carried:
                continue
            link, path = network.links[index], job.paths[index]
            ends = (link.first, link.second)
            ends = ends if direction == "up" else ends[::-1]
            sent = path.up if direction == "up" else path.down
            busy = _mean(cell, label, "utilisation_ratio", direction)
            queue_s = _mean(cell, label, "queue_delay_s_max", direction)
            found.append(
                LinkRow(
                    cell=cell_text(cell.factors),
                    way=f"{label}: {' → '.join(ends)}",
                    rate=rate_text(sent.rate_bit_s),
                    utilisation="–" if busy is None else percent(busy),
                    packets=count(round(carried)),
                    dropped=_counted(_mean(cell, label, "dropped_packets", direction)),
                    marked=_counted(_mean(cell, label, "marked_packets", direction)),
                    queue="–"
                    if queue_s is None
                    else value_text("link_queue_delay_s_max_down", queue_s),
                )
            )
    return found


def _mean(cell: CellResult, link: str, name: str, direction: Direction) -> float | None:
    """Return the mean of a link's metric over the runs of a cell; None if no run has it."""
    values = cell.values(f"{PREFIX}{link}.{name}_{direction}")
    return mean(values) if values else None


def _counted(packets: float | None) -> str:
    """Return a mean count as text. Only a count of 0 is shown as 0."""
    if packets is None:
        return "–"
    return count(round(packets)) if packets >= 1 or packets == 0 else number(packets, 1)
