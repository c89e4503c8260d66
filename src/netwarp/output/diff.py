"""Compares a run directory with an earlier one, for each cell and metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from netwarp.errors import InputError, without_controls
from netwarp.estimate.comparison import (
    Comparison,
    Sample,
    Samples,
    Verdict,
    compare,
    holm,
    replicates_needed,
    same_executions,
)
from netwarp.estimate.stats import Estimate, estimate
from netwarp.kernels_of_runs import kernel_keys
from netwarp.metrics import metric_named
from netwarp.results import CellResult, Factors, Results
from netwarp.results.comparisons import main_metrics

if TYPE_CHECKING:
    from netwarp.evaluation import RunData

UNCHANGED = frozenset({Verdict.IDENTICAL, Verdict.EQUIVALENT})


@dataclass(frozen=True)
class Side:
    """One of the two results that are compared."""

    results: Results
    conditions: Mapping[str, str]
    """The conditions that all cells share, including versions of programs."""


@dataclass(frozen=True)
class CellChange:
    """A cell that both run directories have, with its comparison."""

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
        return self.comparison.verdict in UNCHANGED


@dataclass(frozen=True)
class Difference:
    """The differences between a run directory and an earlier one in one metric."""

    metric: str
    against: Factors
    """The level of the cells by whose values others are divided, by its factor; empty if values are
    compared as they are."""
    cells: tuple[CellChange, ...]
    """The cells that both directories have; their comparisons are one family (Holm)."""
    only_before: tuple[Factors, ...]
    only_after: tuple[Factors, ...]
    conditions: tuple[tuple[str, str, str], ...]
    """Conditions and programs that differ: for each its name, the earlier value, and the later
    one.
    """

    @property
    def changed(self) -> tuple[CellChange, ...]:
        """Cells with a relevant and statistically significant difference."""
        return tuple(cell for cell in self.cells if cell.is_changed)

    @property
    def unchanged(self) -> tuple[CellChange, ...]:
        """Cells that are identical, or equivalent within the relevant difference."""
        return tuple(cell for cell in self.cells if cell.is_unchanged)

    @property
    def family(self) -> list[Comparison]:
        """The comparisons of all cells, which are adjusted together as one family."""
        return [cell.comparison for cell in self.cells]


def differences(
    before: RunData, after: RunData, metrics: Sequence[str] = (), against: Factors | None = None
) -> list[Difference]:
    """Compare two run directories by each of these metrics.

    Replicates that share their seeds are compared pair by pair, others by Welch's test, as cells of
    one directory are. Replicates with the same seeds and values are identical, whatever is random
    in them.

    Args:
        before: the earlier run directory.
        after: the run directory that is compared with it.
        metrics: names of metrics; empty for the main ones of `after`.
        against: a level by its factor: each cell's values are divided by those of the cell with
            this level, so that ratios are compared. None to compare the values themselves.

    Raises:
        InputError: one of them does not have such a metric or level, or they have no cell in
            common.
    """
    _refuse_apart(before, after)
    asked = [data.asked(metrics, against or {}) for data in (before, after)]
    chosen = list(metrics) or main_metrics(asked[1].results)
    for data, metric in ((data, metric) for data in asked for metric in chosen):
        require_metric(data, metric)
    sides = [side_of(data) for data in asked]
    return [difference(sides[0], sides[1], metric, against or {}) for metric in chosen]


def _refuse_apart(before: RunData, after: RunData) -> None:
    """Refuse two directories that have no cell in common; the message names the factors in which
    they differ.
    """
    keys = [{_key(cell) for cell in data.results.cells} for data in (before, after)]
    if keys[0] & keys[1]:
        return
    factors = [data.results.factors for data in (before, after)]
    apart = []
    for name in dict.fromkeys([*factors[0], *factors[1]]):
        levels = [each.get(name, ()) for each in factors]
        if not set(levels[0]) & set(levels[1]):
            was, is_now = (", ".join(each) or "no factor" for each in levels)
            apart.append(f"{name} is {was} before and {is_now} after")
    why = "; ".join(apart) or "no combination of their factors' levels is the same"
    raise InputError(
        f"no cell is in both {before.directory} and {after.directory}: {without_controls(why)}"
    )


def side_of(data: RunData) -> Side:
    """Return a run directory's results and conditions as one side of a comparison."""
    return Side(data.results, _conditions(data))


def difference(before: Side, after: Side, metric: str, against: Factors) -> Difference:
    """Compare two results by one metric; see :func:`differences`.

    Args:
        before: the earlier results.
        after: the results that are compared with them.
        metric: a metric that both have.
        against: the level of the cells by which values are divided; empty to compare the values.
    """
    earlier, later = (_samples(side.results, metric, against) for side in (before, after))
    relevant = after.results.criteria.relevant
    shared = [key for key in later if key in earlier]
    compared = holm([_compared(earlier[key], later[key], relevant) for key in shared])
    factors = {_key(cell): cell.factors for cell in (*before.results.cells, *after.results.cells)}
    estimates = [
        {_key(cell): _estimate(cell, metric, samples, against) for cell, samples in listed}
        for listed in (_with_samples(before.results, earlier), _with_samples(after.results, later))
    ]
    return Difference(
        metric,
        against,
        tuple(
            CellChange(factors[key], estimates[0][key], estimates[1][key], comparison)
            for key, comparison in zip(shared, compared, strict=True)
        ),
        tuple(factors[key] for key in earlier if key not in later),
        tuple(factors[key] for key in later if key not in earlier),
        _changed_conditions(before, after),
    )


_Key = frozenset[tuple[str, str]]


def _samples(results: Results, metric: str, against: Factors) -> dict[_Key, Samples]:
    """Return the samples of each cell; with `against`, divided by those of the cell with that
    level.
    """
    if not against:
        return {_key(cell): cell.samples(metric) for cell in results.cells}
    ((factor, level),) = against.items()
    bases = {_key(cell): cell.samples(metric) for cell in results.select(against)}
    found: dict[_Key, Samples] = {}
    for cell in results.cells:
        base = bases.get(_key({**cell.factors, factor: level}))
        if cell.factors.get(factor) != level and base is not None:
            found[_key(cell)] = _divided(cell.samples(metric), base)
    return found


def _divided(samples: Samples, base: Samples) -> dict[int, Sample]:
    """Return samples divided by those of the same replicate in `base`. If the divisor is 0, the
    value is None.
    """
    found = {}
    for replicate in sorted(samples.keys() & base.keys()):
        own, other = samples[replicate], base[replicate]
        lacks_value = own.value is None or other.value is None
        value = None if lacks_value or not other.value else (own.value or 0.0) / other.value
        failed = any(each.value is None and each.failed for each in (own, other))
        found[replicate] = Sample(value, own.seed, failed, own.random or other.random)
    return found


def _with_samples(
    results: Results, samples: Mapping[_Key, Samples]
) -> list[tuple[CellResult, Samples]]:
    return [(cell, samples[_key(cell)]) for cell in results.cells if _key(cell) in samples]


def _estimate(cell: CellResult, metric: str, samples: Samples, against: Factors) -> Estimate | None:
    if not against:
        return cell.estimate(metric)
    values = [each.value for each in samples.values() if each.value is not None]
    return estimate(values) if values else None


def _compared(earlier: Samples, later: Samples, relevant: float) -> Comparison:
    found = compare(earlier, later, relevant)
    if not same_executions(earlier, later):
        return found
    return replace(found, p=None, equivalence_p=None, adjusted_p=None, verdict=Verdict.IDENTICAL)


def require_metric(data: RunData, metric: str) -> None:
    """Check that a run directory has a metric.

    Raises:
        InputError: it has no metric of that name; the message lists those that it has.
    """
    if metric not in data.results.metrics:
        known = ", ".join(sorted(data.results.metrics))
        raise InputError(f"{data.directory} has no metric {metric}: it has {known or 'none'}")


def _key(of: CellResult | Factors) -> _Key:
    return frozenset((of if isinstance(of, Mapping) else of.factors).items())


def _changed_conditions(before: Side, after: Side) -> tuple[tuple[str, str, str], ...]:
    known = [side.conditions for side in (before, after)]
    names = dict.fromkeys(name for each in known for name in each)
    values = [(name, *(each.get(name, "–") for each in known)) for name in names]
    return tuple((name, a, b) for name, a, b in values if a != b)


def _conditions(data: RunData) -> dict[str, str]:
    """Return the conditions that all cells share, including versions of programs."""
    endpoint = data.provenance.get("endpoint") or {}
    return data.fixed | {
        "seed": str(data.study.seed),
        "clock": data.clock,
        "kernel": kernel_keys(data.provenance),
        "endpoint": str(endpoint.get("sha256", "unknown"))[:12],
    }


def differences_json(found: Sequence[Difference]) -> dict[str, Any]:
    """Return the object that `netwarp diff --json` prints, with values in base units.

    It is the object of the first metric, and contains those of all metrics in `by_metric`.
    """
    by_metric = [_by_one(each) for each in found]
    conditions = {name: [a, b] for name, a, b in found[0].conditions}
    return {**by_metric[0], "conditions": conditions, "by_metric": by_metric}


def _by_one(found: Difference) -> dict[str, Any]:
    return {
        "metric": found.metric,
        "unit": "" if found.against else metric_named(found.metric).unit,
        "against": dict(found.against) or None,
        "cells": [_cell_json(cell, found) for cell in found.cells],
        "only_before": [dict(factors) for factors in found.only_before],
        "only_after": [dict(factors) for factors in found.only_after],
    }


def _cell_json(cell: CellChange, found: Difference) -> dict[str, Any]:
    comparison = cell.comparison
    is_open = comparison.verdict is Verdict.UNDECIDED
    return {
        "factors": dict(cell.factors),
        "before": cell.before.mean if cell.before else None,
        "after": cell.after.mean if cell.after else None,
        "verdict": comparison.verdict.value,
        comparison.scale: comparison.effect,
        "ci95": list(comparison.ci95) if comparison.ci95 else None,
        "adjusted_p": comparison.adjusted_p,
        "replicates_needed": replicates_needed(comparison, found.family) if is_open else None,
    }
