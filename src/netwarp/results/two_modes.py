"""Finds cells whose values form two separate groups (modes), for instance because some runs waited
for a time-out.

No run of such a cell is near the cell's mean.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from netwarp.estimate.modes import clear_modes
from netwarp.estimate.stats import mean_of
from netwarp.results.results import CellResult, Results
from netwarp.wording import cell_text, number, quantity

MOST_NAMED = 5
"""Maximum number of cells that a text names; the others are only counted."""


@dataclass(frozen=True)
class TwoModes:
    """A cell's values of a metric, which form two separate groups (modes)."""

    cell: CellResult
    metric: str
    lower: Sequence[float]
    upper: Sequence[float]

    @property
    def text(self) -> str:
        """Return a text with the number of runs near each of the two values."""
        low, high = mean_of(self.lower), mean_of(self.upper)
        unit = quantity(self.metric, high)
        shown = [f"{number(mean * unit.scale, 2)} {unit.unit}".rstrip() for mean in (low, high)]
        runs = len(self.lower) + len(self.upper)
        return (
            f"{cell_text(self.cell.factors, ', ')}: {len(self.lower)} of {runs} runs near"
            f" {shown[0]}, {len(self.upper)} near {shown[1]}"
        )

    def to_json(self) -> dict[str, Any]:
        """Return the two modes as an object for `--json`."""
        return {
            "metric": self.metric,
            "modes": [
                {"runs": len(mode), "mean": mean_of(mode)} for mode in (self.lower, self.upper)
            ],
        }


def two_modes(cell: CellResult, metric: str) -> TwoModes | None:
    """Return the two modes of a cell's values; None if the values form one group."""
    found = clear_modes(cell.values(metric))
    return None if found is None else TwoModes(cell, metric, *found)


def bimodal_text(results: Results, metrics: Iterable[str]) -> str | None:
    """Return a text that names the cells with two modes in one of these metrics; None if no cell
    has.
    """
    found = [
        each
        for metric in metrics
        for cell in results.cells
        if (each := two_modes(cell, metric)) is not None
    ]
    if not found:
        return None
    named = "; ".join(each.text for each in found[:MOST_NAMED])
    more = f"; and {len(found) - MOST_NAMED} more cells" * (len(found) > MOST_NAMED)
    return f"bimodal, so that no run is near the mean: {named}{more}"
