"""What came of each run, grouped into cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from netwarp.estimate.comparison import Sample, Samples
from netwarp.estimate.criteria import Criteria
from netwarp.estimate.stats import Estimate, estimate
from netwarp.plan.interleaving import contender_factor

if TYPE_CHECKING:
    from collections.abc import Iterable

    from netwarp.run_directory import OutcomeName

Factors = Mapping[str, str]
"""Level labels by factor name, in the study's order."""


@dataclass(frozen=True)
class RunResult:
    """One run: what was asked, how it went, what was measured (None where it was not)."""

    run: str
    cell: int
    replicate: int
    seed: int
    factors: Factors
    outcome: OutcomeName
    reason: str | None
    metrics: Mapping[str, float | None]

    @property
    def is_disturbed(self) -> bool:
        """Whether the path between two hosts was another one after the run than before it."""
        return bool(self.value("disturbed_ratio"))

    def value(self, metric: str) -> float | None:
        """Value of a metric; None when the run failed or has no such metric."""
        return self.metrics.get(metric) if self.outcome == "ok" else None


@dataclass(frozen=True)
class CellResult:
    """The runs of one combination of levels."""

    index: int
    factors: Factors
    runs: tuple[RunResult, ...]

    @property
    def failed(self) -> tuple[RunResult, ...]:
        """The runs that failed."""
        return tuple(run for run in self.runs if run.outcome == "failed")

    @property
    def disturbed(self) -> tuple[RunResult, ...]:
        """The runs during which the path between two hosts changed."""
        return tuple(run for run in self.runs if run.is_disturbed)

    def values(self, metric: str) -> list[float]:
        """Values of a metric in the runs that have one, by replicate."""
        values = (run.value(metric) for run in self.runs)
        return [value for value in values if value is not None]

    def samples(self, metric: str) -> Samples:
        """Samples of a metric by replicate, with seeds and failed runs as None, to compare."""
        return {run.replicate: Sample(run.value(metric), run.seed) for run in self.runs}

    def estimate(self, metric: str) -> Estimate | None:
        """Describe a metric; None when no run has it."""
        values = self.values(metric)
        return estimate(values) if values else None

    def total(self, metric: str) -> float | None:
        """Sum over the runs that have the metric; None when none has."""
        values = self.values(metric)
        return sum(values) if values else None

    def matches(self, selection: Factors) -> bool:
        """Whether the cell has all these levels."""
        return all(self.factors.get(factor) == level for factor, level in selection.items())


@dataclass(frozen=True)
class Results:
    """All runs of a study, in the order of the plan, and by what they are judged."""

    runs: tuple[RunResult, ...]
    criteria: Criteria = field(default_factory=Criteria)

    @cached_property
    def cells(self) -> tuple[CellResult, ...]:
        """The runs by cell, in the order of the plan."""
        grouped: dict[int, list[RunResult]] = {}
        for run in self.runs:
            grouped.setdefault(run.cell, []).append(run)
        return tuple(
            CellResult(index, runs[0].factors, tuple(sorted(runs, key=lambda r: r.replicate)))
            for index, runs in sorted(grouped.items())
        )

    @cached_property
    def factors(self) -> dict[str, tuple[str, ...]]:
        """Levels by factor, both in the study's order."""
        levels: dict[str, dict[str, None]] = {}
        for cell in self.cells:
            for factor, level in cell.factors.items():
                levels.setdefault(factor, {})[level] = None
        return {factor: tuple(seen) for factor, seen in levels.items()}

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics that at least one run has."""
        names = dict.fromkeys(name for run in self.runs for name in run.metrics)
        return tuple(n for n in names if any(run.value(n) is not None for run in self.runs))

    def of_workloads(self, metric: str) -> list[str]:
        """Give a metric's names in runs with several workloads, such as ``bbr.goodput_bit_s``."""
        return [name for name in self.metrics if name.endswith(f".{metric}")]

    @property
    def failed(self) -> tuple[RunResult, ...]:
        """The runs that failed."""
        return tuple(run for run in self.runs if run.outcome == "failed")

    @cached_property
    def contender_factor(self) -> str | None:
        """Name the factor whose levels race each other: the transport, else the first that varies.

        None when the study has no factor.
        """
        return contender_factor(self.factors)

    def conditions(self) -> list[tuple[Factors, tuple[CellResult, ...]]]:
        """Cells that differ in the contender only, with the levels they share."""
        contender = self.contender_factor
        grouped: dict[tuple[tuple[str, str], ...], list[CellResult]] = {}
        for cell in self.cells:
            shared = tuple((f, level) for f, level in cell.factors.items() if f != contender)
            grouped.setdefault(shared, []).append(cell)
        return [(dict(shared), tuple(cells)) for shared, cells in grouped.items()]

    def select(self, selection: Factors) -> list[CellResult]:
        """Cells that have all these levels."""
        return [cell for cell in self.cells if cell.matches(selection)]


def from_plan(
    plan_lines: Iterable[Mapping[str, Any]],
    outcomes: Mapping[str, tuple[OutcomeName, str | None]],
    metrics: Mapping[str, Mapping[str, float | None]],
    criteria: Criteria | None = None,
) -> Results:
    """Join the plan with what came of it; runs without an outcome (not done yet) are left out.

    Args:
        plan_lines: of `plan.jsonl`.
        outcomes: outcome and reason by run name.
        metrics: metrics by run name; a failed run may have none.
        criteria: by what they are judged; None for the usual ones.
    """
    runs = [
        RunResult(
            run=line["run"],
            cell=line["cell"],
            replicate=line["replicate"],
            seed=line["seed"],
            factors={factor: str(level) for factor, level in line["factors"].items()},
            outcome=outcomes[line["run"]][0],
            reason=outcomes[line["run"]][1],
            metrics=metrics.get(line["run"], {}),
        )
        for line in plan_lines
        if line["run"] in outcomes
    ]
    return Results(tuple(runs), criteria or Criteria())
