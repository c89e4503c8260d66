"""Compares two run directories, the second with the first, for each cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.text import Text

from netwarp.errors import InputError
from netwarp.estimate.comparison import Comparison, Verdict, compare, holm
from netwarp.metrics import metric_named
from netwarp.results.comparisons import main_metric
from netwarp.verdict_wording import favourable, verdict_text
from netwarp.wording import cell_text, mean_text, quantity

if TYPE_CHECKING:
    from netwarp.estimate.stats import Estimate
    from netwarp.evaluation import RunData
    from netwarp.results import CellResult, Factors

UNCHANGED = frozenset({Verdict.IDENTICAL, Verdict.EQUIVALENT})


@dataclass(frozen=True)
class CellChange:
    """A cell that both have, with its comparison."""

    factors: Factors
    before: Estimate | None
    after: Estimate | None
    comparison: Comparison

    @property
    def is_changed(self) -> bool:
        """Whether there is a relevant and statistically significant difference."""
        return self.comparison.verdict.decided

    @property
    def is_unchanged(self) -> bool:
        """Whether the cells are identical, or equivalent within the relevant difference."""
        same = (
            self.before is not None
            and self.after is not None
            and self.before.samples == self.after.samples
        )
        return same or self.comparison.verdict in UNCHANGED


@dataclass(frozen=True)
class Difference:
    """The differences between a run directory and an earlier one."""

    metric: str
    cells: tuple[CellChange, ...]
    """The cells that both have; their verdicts are one family (Holm)."""
    only_before: tuple[Factors, ...]
    only_after: tuple[Factors, ...]
    conditions: tuple[tuple[str, str, str], ...]
    """Fixed conditions and programs that differ: name, before, after."""

    @property
    def changed(self) -> tuple[CellChange, ...]:
        """Cells with a relevant and statistically significant difference."""
        return tuple(cell for cell in self.cells if cell.is_changed)

    @property
    def unchanged(self) -> tuple[CellChange, ...]:
        """Cells that are identical, or equivalent within the relevant difference."""
        return tuple(cell for cell in self.cells if cell.is_unchanged and not cell.is_changed)


def difference(before: RunData, after: RunData, metric: str | None = None) -> Difference:
    """Compare two run directories by one metric.

    Replicates that share their seeds are compared pair by pair, others by Welch's test.

    Args:
        before: the earlier one.
        after: the one compared with it.
        metric: None for the main metric of `after`.

    Raises:
        InputError: one of them has no such metric.
    """
    chosen = metric or main_metric(after.results)
    for data in (before, after):
        require_metric(data, chosen)
    earlier = {_key(cell): cell for cell in before.results.cells}
    later = {_key(cell): cell for cell in after.results.cells}
    shared = [(earlier[key], cell) for key, cell in later.items() if key in earlier]
    relevant = after.results.criteria.relevant
    adjusted = holm(
        [compare(a.samples(chosen), b.samples(chosen), relevant, typical=True) for a, b in shared]
    )
    return Difference(
        chosen,
        tuple(
            CellChange(b.factors, a.estimate(chosen), b.estimate(chosen), comparison)
            for (a, b), comparison in zip(shared, adjusted, strict=True)
        ),
        tuple(cell.factors for key, cell in earlier.items() if key not in later),
        tuple(cell.factors for key, cell in later.items() if key not in earlier),
        _changed_conditions(before, after),
    )


def require_metric(data: RunData, metric: str) -> None:
    """Check that a run directory has a metric.

    Raises:
        InputError: it has none of that name; the message lists those that it has.
    """
    if metric not in data.results.metrics:
        known = ", ".join(sorted(data.results.metrics))
        raise InputError(f"{data.directory} has no metric {metric}: it has {known or 'none'}")


def _key(cell: CellResult) -> frozenset[tuple[str, str]]:
    return frozenset(cell.factors.items())


def _changed_conditions(before: RunData, after: RunData) -> tuple[tuple[str, str, str], ...]:
    known = [_conditions(data) for data in (before, after)]
    names = dict.fromkeys(name for each in known for name in each)
    values = [(name, *(each.get(name, "–") for each in known)) for name in names]
    return tuple((name, a, b) for name, a, b in values if a != b)


def _conditions(data: RunData) -> dict[str, str]:
    """Give the conditions that all cells share, programs included."""
    kernel, endpoint = (data.provenance.get(part) or {} for part in ("kernel", "endpoint"))
    return data.fixed | {
        "seed": str(data.study.seed),
        "clock": data.clock,
        "kernel": str(kernel.get("version", "unknown")),
        "endpoint": str(endpoint.get("sha256", "unknown"))[:12],
    }


def difference_lines(found: Difference, width: int) -> list[Text]:
    """Write differing conditions, each cell that changed, and the number of other cells.

    Args:
        found: the difference.
        width: a line that is longer is divided between its values and its verdict.
    """
    lines = [
        Text(f"{name}: {before} → {after}", style="dim") for name, before, after in found.conditions
    ]
    for cell in found.changed:
        better = favourable(cell.comparison, found.metric)
        values = f"    {_both(cell, found.metric)}"
        verdict = verdict_text(cell.comparison, found.metric)
        between = ", " if len(values) + len(verdict) + 2 <= width else "\n    "
        lines += [
            Text(cell_text(cell.factors, ", "), style="bold"),
            Text.assemble(values, between, (verdict, "green" if better else "yellow")),
        ]
    title = quantity(found.metric, 1).title.lower()
    changed, unchanged = len(found.changed), len(found.unchanged)
    counts = (
        f"{title} of {len(found.cells)} cells: {changed} changed, {unchanged} did not,"
        f" {len(found.cells) - changed - unchanged} undecided"
    )
    lines.append(Text(counts))
    for which, cells in (("before", found.only_before), ("after", found.only_after)):
        if cells:
            names = "; ".join(cell_text(factors, ", ") for factors in cells[:5])
            more = f" and {len(cells) - 5} more" if len(cells) > 5 else ""
            lines.append(Text(f"only {which}: {names}{more}"))
    return lines


def _both(cell: CellChange, metric: str) -> str:
    """Write both values, in one unit."""
    means = [each.mean for each in (cell.before, cell.after) if each is not None]
    shown = quantity(metric, max(means, default=0.0))
    before, after = (
        "–" if each is None else mean_text(each, shown) for each in (cell.before, cell.after)
    )
    return f"{before} → {after} {shown.unit}".rstrip()


def difference_json(found: Difference) -> dict[str, Any]:
    """Make the object that `netwarp diff --json` prints; values in base units."""
    return {
        "metric": found.metric,
        "unit": metric_named(found.metric).unit,
        "conditions": {name: [a, b] for name, a, b in found.conditions},
        "cells": [
            {
                "factors": dict(cell.factors),
                "before": cell.before.mean if cell.before else None,
                "after": cell.after.mean if cell.after else None,
                "verdict": cell.comparison.verdict.value,
                cell.comparison.scale: cell.comparison.effect,
                "ci95": list(cell.comparison.ci95) if cell.comparison.ci95 else None,
                "adjusted_p": cell.comparison.adjusted_p,
            }
            for cell in found.cells
        ],
        "only_before": [dict(factors) for factors in found.only_before],
        "only_after": [dict(factors) for factors in found.only_after],
    }
