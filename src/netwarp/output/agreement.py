"""Compares a study in virtual time with the same study in real time, for each cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from netwarp.errors import InputError
from netwarp.estimate.comparison import Comparison, Sample, Verdict, compare, holm
from netwarp.estimate.stats import Estimate
from netwarp.metrics import metric_named
from netwarp.output.diff import require_metric
from netwarp.output.disagreement import PathAsked, Reason, reasons
from netwarp.output.summary import estimate_json
from netwarp.plan import filter_cells
from netwarp.results import CellResult, Factors
from netwarp.results.comparisons import main_metric
from netwarp.results.fixed_conditions import fixed_conditions
from netwarp.wire import Job

if TYPE_CHECKING:
    from netwarp.evaluation import RunData


class Answer(StrEnum):
    """Whether the values of a cell agree between virtual and real time."""

    AGREES = "agrees"
    DIFFERS = "differs"
    UNDECIDED = "undecided"
    NOT_COMPARED = "not compared"


_ANSWERS: Mapping[Verdict, Answer] = {
    Verdict.LESS: Answer.DIFFERS,
    Verdict.MORE: Answer.DIFFERS,
    Verdict.EQUIVALENT: Answer.AGREES,
    Verdict.IDENTICAL: Answer.AGREES,
    Verdict.UNDECIDED: Answer.UNDECIDED,
    Verdict.ONE_REPLICATE: Answer.NOT_COMPARED,
    Verdict.FAILED_RUNS: Answer.NOT_COMPARED,
    Verdict.NO_VALUE: Answer.NOT_COMPARED,
}


@dataclass(frozen=True)
class AgreementCell:
    """A cell with its values in virtual and in real time."""

    factors: Factors
    """Levels of the factors that the study in real time varies, too; the real path cannot be
    varied.
    """
    virtual: Estimate | None
    real: Estimate | None
    comparison: Comparison
    """Comparison of real time with virtual time."""
    reasons: tuple[Reason, ...]
    """Possible reasons for a difference; empty if there is no difference."""

    @property
    def answer(self) -> Answer:
        """Whether the cell agrees in virtual and real time."""
        return _ANSWERS[self.comparison.verdict]


@dataclass(frozen=True)
class Agreement:
    """A study in virtual time, compared with the same study in real time."""

    virtual: RunData
    real: RunData
    metric: str
    relevant: float
    cells: tuple[AgreementCell, ...]
    """The cells. Their comparisons are adjusted together, as one family (Holm)."""
    only_virtual: tuple[Factors, ...]
    only_real: tuple[Factors, ...]
    asked: PathAsked | None
    """The configured path in virtual time; None if it is not the same in all cells, or changes over
    time."""

    @property
    def family(self) -> list[Comparison]:
        """The comparisons of all cells, which are adjusted together as one family."""
        return [cell.comparison for cell in self.cells]

    def count(self, answer: Answer) -> int:
        """Return the number of cells with this answer."""
        return sum(cell.answer is answer for cell in self.cells)

    def to_json(self) -> dict[str, Any]:
        """Return the fields that ``--json`` prints, with values in base units."""
        return {
            "virtual": str(self.virtual.directory),
            "real": str(self.real.directory),
            "backend": self.real.provenance.get("backend"),
            "metric": self.metric,
            "unit": metric_named(self.metric).unit,
            "relevant": self.relevant,
            **{answer.name.lower(): self.count(answer) for answer in Answer},
            "cells": [
                {
                    "factors": dict(cell.factors),
                    "answer": cell.answer.value,
                    "verdict": cell.comparison.verdict.value,
                    "virtual": _estimate_or_none(cell.virtual),
                    "real": _estimate_or_none(cell.real),
                    cell.comparison.scale: cell.comparison.effect,
                    "ci95": list(cell.comparison.ci95) if cell.comparison.ci95 else None,
                    "adjusted_p": cell.comparison.adjusted_p,
                    "reasons": [vars(reason) for reason in cell.reasons],
                }
                for cell in self.cells
            ],
            "only_virtual": [dict(factors) for factors in self.only_virtual],
            "only_real": [dict(factors) for factors in self.only_real],
        }


def agreement(
    virtual: RunData,
    real: RunData,
    *,
    filters: Sequence[str] = (),
    metric: str | None = None,
    relevant: float | None = None,
) -> Agreement:
    """Compare a study in virtual and real time, for each cell.

    Cells belong together if they have the same levels of the factors that both studies vary.
    Between two hosts, packet losses are not repeated, so replicates are not compared in pairs
    there.

    Args:
        virtual: the study in virtual time.
        real: the study in real time.
        filters: ``FACTOR=LEVEL`` each; they select cells of `virtual`.
        metric: None for the main one.
        relevant: the smallest relevant difference, as a ratio; None for the study's.

    Raises:
        InputError: one of the two does not have the expected clock, they are of different studies,
            or one lacks the metric.
    """
    _refuse_wrong_clocks(virtual, real)
    _refuse_another_study(virtual, real)
    chosen = metric or main_metric(virtual.results)
    for data in (virtual, real):
        require_metric(data, chosen)
    limit = virtual.results.criteria.relevant if relevant is None else relevant
    wanted = {cell.index for cell in filter_cells(virtual.study, filters)}
    here = _by_shared_factors([c for c in virtual.results.cells if c.index in wanted], real)
    there = {_key(cell.factors): cell for cell in real.results.cells}
    shared = [(cell, there[key]) for key, cell in here.items() if key in there]
    is_paired = "server" not in real.provenance
    compared = holm([_compared(a, b, chosen, limit, is_paired=is_paired) for a, b in shared])
    return Agreement(
        virtual,
        real,
        chosen,
        limit,
        tuple(
            _agreement_of(a, b, comparison, virtual, real, chosen, limit)
            for (a, b), comparison in zip(shared, compared, strict=True)
        ),
        tuple(cell.factors for key, cell in here.items() if key not in there),
        tuple(cell.factors for key, cell in there.items() if key not in here),
        _common([path_asked(virtual.job(cell.runs[0].run)) for cell in here.values()]),
    )


def path_asked(job: Job | None) -> PathAsked | None:
    """Return the configured rates, delays and losses of a job's path; None if there are several
    paths, or if the path changes over time.
    """
    if job is None or len(job.paths) > 1 or not job.timeline.is_empty:
        return None
    (path,) = job.paths
    return PathAsked(
        rtt_s=path.idle_rtt_ns / 1e9,
        rate_down_bit_s=path.down.rate_bit_s,
        rate_up_bit_s=path.up.rate_bit_s,
        loss_down=path.down.loss.mean_ratio,
        loss_up=path.up.loss.mean_ratio,
        has_jitter=any(way.jitter_ns or way.link_loss_ratio for way in (path.down, path.up)),
    )


def _agreement_of(
    a: CellResult,
    b: CellResult,
    comparison: Comparison,
    virtual: RunData,
    real: RunData,
    metric: str,
    relevant: float,
) -> AgreementCell:
    before, after = a.estimate(metric), b.estimate(metric)
    found = AgreementCell(b.factors, before, after, comparison, ())
    if found.answer is not Answer.DIFFERS or before is None or after is None:
        return found
    asked = path_asked(virtual.job(a.runs[0].run))
    offloads = real.provenance.get("offloads", {})
    gap = after.mean - before.mean
    return replace(found, reasons=reasons(asked, b, metric, gap, relevant, offloads))


def _compared(
    a: CellResult, b: CellResult, metric: str, relevant: float, *, is_paired: bool
) -> Comparison:
    """Return the comparison of a cell in virtual time with the same cell in real time."""
    samples = b.samples(metric)
    if not is_paired:
        samples = {number: Sample(each.value) for number, each in samples.items()}
    return compare(a.samples(metric), samples, relevant)


def _refuse_wrong_clocks(virtual: RunData, real: RunData) -> None:
    if virtual.clock == real.clock:
        both = f"{virtual.directory} and {real.directory} are both of {real.clock} time"
        raise InputError(f"{both}: `netwarp diff {virtual.directory} {real.directory}`")
    if virtual.clock == "real":
        raise InputError(
            f"{virtual.directory} is of real time: name the one of virtual time first,"
            f" `netwarp verify {real.directory} --against {virtual.directory}`"
        )


def _refuse_another_study(virtual: RunData, real: RunData) -> None:
    here, there = (
        {
            key: value
            for key, value in fixed_conditions(data.raw, None).items()
            if not key.startswith("path.")
        }
        for data in (virtual, real)
    )
    for key in {**here, **there}:
        if here.get(key) != there.get(key):
            values = [each.get(key, "not given") for each in (here, there)]
            raise InputError(
                f"{real.directory} is of another study than {virtual.directory}: {key} is"
                f" {values[1]} there and {values[0]} here"
            )


def _by_shared_factors(
    cells: Sequence[CellResult], real: RunData
) -> dict[frozenset[tuple[str, str]], CellResult]:
    """Return cells by their levels of the factors that the study in real time also varies.

    Raises:
        InputError: two cells differ only in factors that the study in real time does not vary.
    """
    known = real.results.factors
    found: dict[frozenset[tuple[str, str]], CellResult] = {}
    for cell in cells:
        key = _key({factor: level for factor, level in cell.factors.items() if factor in known})
        if key in found:
            factor = next(f for f in cell.factors if cell.factors[f] != found[key].factors[f])
            raise InputError(
                f"the study varies {factor}, and {real.directory} does not: choose the level that"
                f" is like it, --filter {factor}={found[key].factors[factor]}"
            )
        found[key] = cell
    return found


def _key(factors: Factors) -> frozenset[tuple[str, str]]:
    return frozenset(factors.items())


def _common(paths: Sequence[PathAsked | None]) -> PathAsked | None:
    return paths[0] if paths and all(path == paths[0] for path in paths) else None


def _estimate_or_none(estimate: Estimate | None) -> dict[str, Any] | None:
    return None if estimate is None else estimate_json(estimate)
