"""Selects the cells that need more replicates, because a verdict or an interval is still open."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from netwarp.claims.claims import evaluate_claims
from netwarp.claims.expectations import evaluate_expectations
from netwarp.estimate.comparison import Verdict
from netwarp.estimate.staging import Look, is_worth_while
from netwarp.results import Results
from netwarp.results.comparisons import compare_contenders
from netwarp.study import Study

if TYPE_CHECKING:
    from netwarp.estimate.staging import Staging


def cells_to_repeat(study: Study, results: Results, staging: Staging) -> frozenset[int]:
    """Return the indices of the cells that need another stage of replicates: those for which a
    later interim test (look) has enough replicates to decide.

    If the study asks for a precision, these are the cells whose main metric has too wide a
    confidence interval. Otherwise they are those of undecided claims or expectations, or, if the
    study has neither, those of undecided comparisons.
    """
    if staging.precision is not None:
        return _wide_cells(results, staging)
    looks = results.criteria.by_look
    if study.claims or study.expectations:
        of_claims = [each.open for each in evaluate_claims(study.claims, results)]
        expected = evaluate_expectations(study.expectations, results)
        return frozenset().union(
            *(
                condition.cells
                for conditions in (*of_claims, *(each.open for each in expected))
                for condition in conditions
                if is_worth_while(condition.needed_at, _most(results, condition.cells), looks)
            )
        )
    return _undecided_contenders(results, looks)


def _most(results: Results, cells: frozenset[int]) -> int:
    """Return the number of replicates of the cell that has the most."""
    return max(len(cell.runs) for cell in results.cells if cell.index in cells)


def _wide_cells(results: Results, staging: Staging) -> frozenset[int]:
    metric = compare_contenders(results).metric
    criteria = results.criteria
    return frozenset(
        cell.index
        for cell in results.cells
        if staging.wide(cell.values(metric), criteria.alpha * criteria.share_of([len(cell.runs)]))
    )


def _undecided_contenders(results: Results, looks: Sequence[Look]) -> frozenset[int]:
    compared = compare_contenders(results)
    wanted: set[int] = set()
    for group in compared.groups:
        undecided = [
            contender.cell.index
            for contender in group.contenders
            if contender.comparison is not None
            and contender.comparison.verdict is Verdict.UNDECIDED
            and is_worth_while(
                partial(compared.needed_at, contender.comparison), len(contender.cell.runs), looks
            )
        ]
        first = [each.cell.index for each in group.contenders if each.comparison is None]
        wanted |= {*undecided, *first} if undecided else set()
    return frozenset(wanted)
