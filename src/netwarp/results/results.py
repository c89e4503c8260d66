"""The results of a study: outcome and metrics of each run, grouped into cells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from netwarp.errors import InputError, one_line
from netwarp.estimate.comparison import Sample, Samples
from netwarp.estimate.criteria import Criteria
from netwarp.estimate.stats import Estimate, estimate
from netwarp.measure.printed import printed_metric
from netwarp.metrics.links import link_metric_named
from netwarp.metrics.registry import METRICS, metric_named, workload_and_metric
from netwarp.metrics.times import GAVE_UP
from netwarp.study.contenders import contender_factor
from netwarp.suggestions import did_you_mean

if TYPE_CHECKING:
    from netwarp.run_status import OutcomeName

Factors = Mapping[str, str]
"""Labels of levels by the name of their factor, in the study's order."""


@dataclass(frozen=True)
class RunResult:
    """The result of a run: cell, replicate, outcome and metrics."""

    run: str
    cell: int
    replicate: int
    seed: int
    factors: Factors
    outcome: OutcomeName
    reason: str | None
    metrics: Mapping[str, float | None]
    random: tuple[str, ...] | None = None
    """What was planned to be random in the run, such as `loss`; None if unknown."""

    @property
    def is_disturbed(self) -> bool:
        """Whether the real path between two hosts changed during the run."""
        return bool(self.value("disturbed_ratio"))

    @property
    def gave_up_s(self) -> dict[str, float]:
        """Times in s of the run's clock at which transports gave up, by the name of their workload;
        "" if there is only one.
        """
        names = (name for name in self.metrics if name.rpartition(".")[2] == GAVE_UP.name)
        times = ((name.rpartition(".")[0], self.value(name)) for name in names)
        return {name: time_s for name, time_s in times if time_s is not None}

    def value(self, metric: str) -> float | None:
        """Return the value of a metric; None if the run failed, or has no value of it."""
        return self.metrics.get(metric) if self.outcome == "ok" else None


@dataclass(frozen=True)
class CellResult:
    """The runs of one cell."""

    index: int
    factors: Factors
    runs: tuple[RunResult, ...]
    of_study: tuple[str, ...] = ()
    """Names of the metrics that at least one run of the study has; empty if none has ended."""

    @property
    def failed(self) -> tuple[RunResult, ...]:
        """The runs that failed."""
        return tuple(run for run in self.runs if run.outcome == "failed")

    @property
    def gave_up(self) -> tuple[RunResult, ...]:
        """The runs in which a transport gave up because its peer had stopped answering."""
        return tuple(run for run in self.runs if run.gave_up_s)

    @property
    def is_random(self) -> bool:
        """Whether something was planned to be random in the cell's runs, or this is unknown."""
        return any(run.random != () for run in self.runs)

    @property
    def disturbed(self) -> tuple[RunResult, ...]:
        """The runs during which the real path between two hosts changed."""
        return tuple(run for run in self.runs if run.is_disturbed)

    def values(self, metric: str) -> list[float]:
        """Return a metric's values in the runs that have it, in order of replicates."""
        values = (run.value(metric) for run in self.runs)
        return [value for value in values if value is not None]

    def samples(self, metric: str) -> Samples:
        """Return a metric's samples in order of replicates, for comparisons; None for a run without
        a value.
        """
        return {
            run.replicate: Sample(
                run.value(metric), run.seed, run.outcome == "failed", run.random != ()
            )
            for run in self.runs
        }

    def estimate(self, metric: str) -> Estimate | None:
        """Estimate a metric's mean and confidence interval; None if no run has it.

        The mean of a rate is all content divided by all time, see :attr:`Metric.over`.

        Raises:
            InputError: there is no such metric.
        """
        runs = [run for run in self.runs if run.value(metric) is not None]
        if runs:
            return estimate([run.metrics[metric] or 0.0 for run in runs], _weights(runs, metric))
        self._refuse_unknown(metric)
        return None

    def _refuse_unknown(self, metric: str) -> None:
        """Refuse a name that is no metric of netwarp's, and none that a run of the study has.

        Any name that ends in a unit may be one that a study reads from its programs. A run without
        such a number has failed, so as soon as one run has succeeded, its metrics tell the names.
        """
        own = workload_and_metric(metric)[1]
        if own in METRICS or metric in self.of_study or link_metric_named(metric) is not None:
            return
        if not self.of_study and printed_metric(own) is not None:
            return
        known = dict.fromkeys([*self.of_study, *METRICS])
        raise InputError(f"no metric {one_line(metric)}: {did_you_mean(metric, known)}")

    def weights(self, metric: str) -> list[float] | None:
        """Return the weights of `values` in the mean; None if all are equal."""
        return _weights([run for run in self.runs if run.value(metric) is not None], metric)

    def total(self, metric: str) -> float | None:
        """Return the sum of a metric over the runs that have it; None if no run has it."""
        values = self.values(metric)
        return sum(values) if values else None

    def matches(self, selection: Factors) -> bool:
        """Return whether the cell has all these levels."""
        return all(self.factors.get(factor) == level for factor, level in selection.items())


def _weights(runs: Iterable[RunResult], metric: str) -> list[float] | None:
    """Return the times in s by which the values of a rate are weighted; None if the metric's mean
    is not weighted.
    """
    try:
        over = metric_named(metric).over
    except KeyError:  # a metric of another version of netwarp
        return None
    if over is None:
        return None
    spans_s = [over(run.value) for run in runs]
    known_s = [span_s for span_s in spans_s if span_s is not None and span_s > 0]
    return known_s if len(known_s) == len(spans_s) else None


@dataclass(frozen=True)
class ComparedBy:
    """The metrics by which a study compares its contenders, and the level to compare against, if
    the study names them.
    """

    metrics: tuple[str, ...] = ()
    """The main metrics that the study names; empty for the usual ones."""
    against: Factors = field(default_factory=dict)
    """The level against which the others are compared, by its factor; empty for the first one."""


@dataclass(frozen=True)
class Results:
    """All runs of a study, in the order of the plan, with the criteria of its comparisons."""

    runs: tuple[RunResult, ...]
    criteria: Criteria = field(default_factory=Criteria)
    compared_by: ComparedBy = field(default_factory=ComparedBy)

    @cached_property
    def cells(self) -> tuple[CellResult, ...]:
        """The cells, each with its runs, in the order of the plan."""
        grouped: dict[int, list[RunResult]] = {}
        for run in self.runs:
            grouped.setdefault(run.cell, []).append(run)
        return tuple(
            CellResult(
                index,
                runs[0].factors,
                tuple(sorted(runs, key=lambda r: r.replicate)),
                self.metrics,
            )
            for index, runs in sorted(grouped.items())
        )

    @cached_property
    def factors(self) -> dict[str, tuple[str, ...]]:
        """Labels of the levels by factor, both in the study's order."""
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
        """Return the names of a metric for each workload, such as ``bbr.goodput_bit_s``."""
        return [name for name in self.metrics if name.endswith(f".{metric}")]

    @property
    def failed(self) -> tuple[RunResult, ...]:
        """The runs that failed."""
        return tuple(run for run in self.runs if run.outcome == "failed")

    @cached_property
    def contender_factor(self) -> str | None:
        """The factor whose levels are compared with each other; None if the study has no factor."""
        return contender_factor(self.factors, next(iter(self.compared_by.against), None))

    @property
    def first(self) -> str:
        """The level of `contender_factor` against which the others are compared; "" without such a
        factor.
        """
        factor = self.contender_factor
        if factor is None:
            return ""
        return self.compared_by.against.get(factor) or self.factors[factor][0]

    def conditions(self) -> list[tuple[Factors, tuple[CellResult, ...]]]:
        """Return the conditions: for each, its levels and its cells, which differ only in the
        compared factor.
        """
        contender = self.contender_factor
        grouped: dict[tuple[tuple[str, str], ...], list[CellResult]] = {}
        for cell in self.cells:
            shared = tuple((f, level) for f, level in cell.factors.items() if f != contender)
            grouped.setdefault(shared, []).append(cell)
        return [(dict(shared), tuple(cells)) for shared, cells in grouped.items()]

    def select(self, selection: Factors) -> list[CellResult]:
        """Return the cells that have all these levels."""
        return [cell for cell in self.cells if cell.matches(selection)]


def from_plan(
    plan_lines: Iterable[Mapping[str, Any]],
    outcomes: Mapping[str, tuple[OutcomeName, str | None]],
    metrics: Mapping[str, Mapping[str, float | None]],
    criteria: Criteria | None = None,
    random: Mapping[int, tuple[str, ...]] | None = None,
    compared_by: ComparedBy | None = None,
) -> Results:
    """Join the plan with outcomes and metrics; runs without an outcome (not yet done) are left out.

    Args:
        plan_lines: the lines of `plan.jsonl`.
        outcomes: outcome and reason, by run name.
        metrics: metrics by run name; a failed run may be missing.
        criteria: criteria of comparisons; None for the defaults.
        random: what is random in a cell's runs, by the cell's index; None or a missing entry if
            unknown.
        compared_by: the metrics and the level that the study names for its comparisons; None for
            the usual ones.
    """
    random = random or {}
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
            random=random.get(line["cell"]),
        )
        for line in plan_lines
        if line["run"] in outcomes
    ]
    return Results(tuple(runs), criteria or Criteria(), compared_by or ComparedBy())


def without_levels(results: Results, levels: Mapping[str, Sequence[str]]) -> Results:
    """Return the results without the cells that have one of these levels, which are given by
    factor.
    """
    if not levels:
        return results
    kept = (
        run
        for run in results.runs
        if not any(run.factors.get(factor) in left_out for factor, left_out in levels.items())
    )
    return Results(tuple(kept), results.criteria, results.compared_by)
