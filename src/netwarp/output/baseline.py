"""Compares results with a baseline: earlier results, kept in a small file.

Cells are compared in the same way as `netwarp diff` compares two run directories.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from netwarp.errors import InputError
from netwarp.estimate.comparison import WITHHELD, Samples, Verdict
from netwarp.output.diff import CellChange, Difference, Side, difference, side_of
from netwarp.results import CellResult, Factors, Results, RunResult
from netwarp.results.comparisons import main_metrics
from netwarp.verdict_wording import favourable

if TYPE_CHECKING:
    from netwarp.evaluation import RunData


@dataclass(frozen=True)
class BaselineCell:
    """The earlier results of a cell."""

    factors: Factors
    records_sha256: str | None
    """Hash of the records of the cell's runs; None in real time, in which records never repeat."""
    random: tuple[str, ...] | None
    """What was planned to be random in the cell's runs; None if unknown."""
    values: Mapping[str, Sequence[float | None]]
    """Values by metric, one for each replicate; None for a run without a value."""


@dataclass(frozen=True)
class Baseline:
    """The earlier results of a study, for its main metrics."""

    study: str
    """The title of the study."""
    conditions: Mapping[str, str]
    """The conditions that all cells share: seed, clock, kernel, endpoint, and the keys that do not
    vary.
    """
    relevant: float
    """The smallest relevant difference of the study, as a ratio."""
    metrics: tuple[str, ...]
    seeds: tuple[int, ...]
    """Seeds of the replicates, which all cells share."""
    cells: tuple[BaselineCell, ...]

    @property
    def side(self) -> Side:
        """Return the results in the baseline as one of the two sides of a comparison."""
        runs = [
            RunResult(
                run=f"c{index:03}-r{replicate:02}",
                cell=index,
                replicate=replicate,
                seed=self.seeds[replicate],
                factors=cell.factors,
                outcome="ok",
                reason=None,
                metrics={metric: cell.values[metric][replicate] for metric in self.metrics},
                random=cell.random,
            )
            for index, cell in enumerate(self.cells)
            for replicate in range(len(cell.values[self.metrics[0]]))
        ]
        return Side(Results(tuple(runs)), self.conditions)


class Standing(StrEnum):
    """How a cell compares with its baseline."""

    UNCHANGED = "unchanged"
    """The records are the same, byte for byte; or, if programs or cells differ, the values are. A
    run that has no value now and had none before counts as the same.
    """
    WITHIN = "within"
    """The values changed by less than the smallest relevant difference: either those of each
    replicate with the same seed, or, by an equivalence test, their means.
    """
    BETTER = "better"
    """The values changed for the better, by a relevant and significant difference."""
    WORSE = "worse"
    """The values changed for the worse, by a relevant and significant difference; or runs failed,
    or have no value any more.
    """
    UNDECIDED = "undecided"
    """The values changed, but it is undecided which of the other answers is true."""
    MISSING = "missing"
    """Only the baseline has this cell."""
    NEW = "new"
    """Only the new results have this cell."""


@dataclass(frozen=True)
class CellStanding:
    """A cell compared with its baseline by one metric."""

    factors: Factors
    standing: Standing
    is_same_bytes: bool = False
    """Whether all records of the cell's runs are the same, byte for byte."""
    change: CellChange | None = None
    """The comparison of the new results with the baseline; None if only one of them has the
    cell.
    """
    run: str | None = None
    """Name of the cell's first run, for the command that examines it; None if the cell is
    missing.
    """


@dataclass(frozen=True)
class BaselineByMetric:
    """The cells of a study, compared with a baseline by one metric."""

    difference: Difference
    cells: tuple[CellStanding, ...]
    """The cells in both, then those only in the baseline, then those only in the new results."""
    is_gone: bool = False
    """Whether no run has the metric any more, although the baseline has it."""

    @property
    def counts(self) -> Mapping[Standing, int]:
        """Number of cells with each answer."""
        return Counter(cell.standing for cell in self.cells)


@dataclass(frozen=True)
class BaselineComparison:
    """Results compared with a baseline."""

    file: str
    relevant: float
    """Largest change that counts as `within`: the smallest relevant difference of the study that
    was run."""
    metrics: tuple[BaselineByMetric, ...]

    @property
    def standings(self) -> frozenset[Standing]:
        """The answers for all cells and metrics."""
        return frozenset(cell.standing for each in self.metrics for cell in each.cells)

    def to_json(self) -> dict[str, Any]:
        """Return the object that `--json` prints, with values in base units."""
        return {
            "file": self.file,
            "relevant": self.relevant,
            "by_metric": [
                {
                    "metric": each.difference.metric,
                    "counts": {
                        standing.value: each.counts.get(standing, 0) for standing in Standing
                    },
                    "cells": [_cell_json(cell) for cell in each.cells],
                }
                for each in self.metrics
            ],
        }


def _cell_json(cell: CellStanding) -> dict[str, Any]:
    change = cell.change
    comparison = None if change is None else change.comparison
    return {
        "factors": dict(cell.factors),
        "held": cell.standing.value,
        "same_records": cell.is_same_bytes,
        "run": cell.run,
        "before": change.before.mean if change and change.before else None,
        "after": change.after.mean if change and change.after else None,
        "scale": None if comparison is None else comparison.scale,
        "effect": None if comparison is None else comparison.effect,
        "interval": None if comparison is None else comparison.interval,
    }


def baseline_of(data: RunData) -> Baseline:
    """Return a baseline made from a run directory, for its study's main metrics.

    Raises:
        InputError: a run failed or has not ended, or replicates of two cells have different seeds.
    """
    results = data.results
    if data.not_done or results.failed or not results.runs:
        bad = "some have not ended" if data.not_done or not results.runs else "some failed"
        raise InputError(
            f"{data.directory}: of its runs {bad}, and a baseline is of runs that succeeded: mend"
            " that and run it again"
        )
    metrics = tuple(main_metrics(results))
    cells = [
        BaselineCell(
            cell.factors,
            _records_sha256(data, cell),
            cell.runs[0].random,
            {metric: [run.value(metric) for run in cell.runs] for metric in metrics},
        )
        for cell in results.cells
    ]
    return Baseline(
        data.study.title,
        _without_folders(side_of(data).conditions),
        results.criteria.relevant,
        metrics,
        _seeds(data),
        tuple(sorted(cells, key=lambda cell: sorted(cell.factors.items()))),
    )


def compare_with_baseline(baseline: Baseline, data: RunData, file: str) -> BaselineComparison:
    """Compare results with a baseline, cell by cell and metric by metric.

    Args:
        baseline: the earlier results, by metrics that this version knows.
        data: a run directory.
        file: the name of the baseline's file, for messages.
    """
    now = Side(data.results, _without_folders(side_of(data).conditions))
    found = [
        _compared_by(baseline, data, difference(baseline.side, now, metric, {}))
        for metric in baseline.metrics
    ]
    return BaselineComparison(file, data.results.criteria.relevant, tuple(found))


def _compared_by(baseline: Baseline, data: RunData, found: Difference) -> BaselineByMetric:
    cells = {frozenset(cell.factors.items()): cell for cell in data.results.cells}
    known = {frozenset(cell.factors.items()): cell.records_sha256 for cell in baseline.cells}
    before = {frozenset(cell.factors.items()): cell for cell in baseline.side.results.cells}
    relevant = data.results.criteria.relevant
    listed = []
    for change in found.cells:
        key = frozenset(change.factors.items())
        both = before[key].samples(found.metric), cells[key].samples(found.metric)
        # If values differ, the hash is not that of the records from which they were computed.
        sha256 = _records_sha256(data, cells[key])
        is_same = sha256 is not None and known.get(key) == sha256 and _repeats(*both)
        standing = _standing_of(change, found.metric, *both, relevant, is_same=is_same)
        listed.append(
            CellStanding(change.factors, standing, is_same, change, cells[key].runs[0].run)
        )
    listed += [CellStanding(factors, Standing.MISSING) for factors in found.only_before]
    listed += [
        CellStanding(factors, Standing.NEW, run=cells[frozenset(factors.items())].runs[0].run)
        for factors in found.only_after
    ]
    return BaselineByMetric(found, tuple(listed), found.metric not in data.results.metrics)


def _standing_of(
    change: CellChange, metric: str, before: Samples, now: Samples, relevant: float, *,
    is_same: bool,
) -> Standing:  # fmt: skip
    if _is_lost(before, now):
        return Standing.WORSE
    verdict = change.comparison.verdict
    never = not any(sample.value is not None for side in (before, now) for sample in side.values())
    if is_same or never or verdict is Verdict.IDENTICAL or _repeats(before, now):
        return Standing.UNCHANGED
    if verdict is Verdict.EQUIVALENT or _is_within(before, now, relevant):
        return Standing.WITHIN
    if verdict in WITHHELD or not verdict.decided:
        return Standing.UNDECIDED
    return Standing.BETTER if favourable(change.comparison, metric) else Standing.WORSE


def _is_lost(before: Samples, now: Samples) -> bool:
    """Return whether values of a cell were lost: a run failed, or has no value although the earlier
    run with the same seed had a value.

    If no seed is the same, values were lost if a run has none although all earlier runs had one, or
    if no run has a value any more.
    """
    if any(sample.value is None and sample.failed for sample in now.values()):
        return True
    had, has = ([each.value is not None for each in side.values()] for side in (before, now))
    both = before.keys() & now.keys()
    if shared := [each for each in both if before[each].seed == now[each].seed]:
        return any(before[each].value is not None and now[each].value is None for each in shared)
    return (all(had) and not all(has)) or (any(had) and not any(has))


def _repeats(before: Samples, now: Samples) -> bool:
    """Return whether the replicates that two sets of samples have in common have the same seeds and
    values.
    """
    both = before.keys() & now.keys()
    return len(both) == min(len(before), len(now)) and all(
        before[each].seed == now[each].seed and before[each].value == now[each].value
        for each in both
    )


def _is_within(before: Samples, now: Samples, relevant: float) -> bool:
    """Return whether two sets of samples have the same replicates and seeds, and values that differ
    by at most `relevant`. Two missing values count as equal.
    """
    return before.keys() == now.keys() and all(
        before[each].seed == now[each].seed
        and _is_close(before[each].value, now[each].value, relevant)
        for each in before
    )


def _is_close(before: float | None, now: float | None, relevant: float) -> bool:
    if before is None or now is None:
        return before is now
    return abs(now - before) <= relevant * abs(before)


def _records_sha256(data: RunData, cell: CellResult) -> str | None:
    if data.clock == "real" or cell.failed:
        return None
    return data.kept.records_sha256([run.run for run in cell.runs])


def _seeds(data: RunData) -> tuple[int, ...]:
    """Return the seeds of the replicates, which depend only on the study's seed and the
    replicate.
    """
    seeds: dict[int, int] = {}
    for run in data.results.runs:
        if seeds.setdefault(run.replicate, run.seed) != run.seed:
            raise InputError(f"{data.directory}: replicates of two cells have other seeds")
    return tuple(seeds[replicate] for replicate in range(len(seeds)))


def _without_folders(conditions: Mapping[str, str]) -> dict[str, str]:
    """Return conditions in which file names are without the folders of this machine."""
    return {
        key: PurePath(value).name if value.startswith("/") else value
        for key, value in conditions.items()
    }
