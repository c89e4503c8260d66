"""Estimates × claims → verdicts.

A claim ranges over conditions: all levels of the factors that it does not name. It is reproduced
when every condition that could be tested supports it, reversed when every one contradicts it; each
single condition is decided by a 95 % interval, so either verdict errs in at most 5 % of cases
(an intersection-union test, Berger 1982).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from netwarp.claims import evidence
from netwarp.wording import condition_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from netwarp.claims.evidence import Evidence
    from netwarp.results import CellResult, Factors, Results
    from netwarp.study.questions import Claim

Conditions = dict[tuple[tuple[str, str], ...], list["CellResult"]]


class ClaimVerdict(StrEnum):
    """What became of a claim."""

    REPRODUCED = "reproduced"
    REVERSED = "reversed"
    NO_DIFFERENCE = "no-difference"
    NOT_TESTABLE = "not-testable"


@dataclass(frozen=True)
class ClaimResult:
    """A claim, its verdict, and one line on why."""

    id: str
    source: str | None
    text: str
    verdict: ClaimVerdict
    why: str
    """The numbers that decided."""
    values: Mapping[str, Any]
    reason: str | None = None
    """Where it is not reproduced: what makes the result another one, as the study has it."""

    def to_json(self) -> dict[str, Any]:
        """Fields as `--json` prints them."""
        return {
            "id": self.id,
            "source": self.source,
            "text": self.text,
            "verdict": self.verdict.value,
            "why": self.why,
            "reason": self.reason,
            "values": dict(self.values),
        }


def evaluate_claims(claims: Iterable[Claim], results: Results) -> list[ClaimResult]:
    """Judge the claims of a study, in its order."""
    return [evaluate_claim(claim, results) for claim in claims]


def evaluate_claim(claim: Claim, results: Results) -> ClaimResult:
    """Judge one claim."""
    if claim.not_testable is not None:
        return not_tested(claim, claim.not_testable)
    found = list(_evidence(claim, results))
    verdict, why = _verdict(found)
    values = {
        "metric": claim.metric,
        "conditions": [
            {"factors": dict(condition), "says": each.says, "why": each.why, **each.values}
            for condition, each in found
        ],
    }
    reason = None if verdict is ClaimVerdict.REPRODUCED else claim.why
    return ClaimResult(claim.id or "claim", claim.source, claim.text, verdict, why, values, reason)


def not_tested(claim: Claim, why: str) -> ClaimResult:
    """Say of a claim that nothing was run to test it, and why."""
    verdict = ClaimVerdict.NOT_TESTABLE
    return ClaimResult(claim.id or "claim", claim.source, claim.text, verdict, why, {}, None)


def _evidence(claim: Claim, results: Results) -> Iterable[tuple[Factors, Evidence]]:
    metric = claim.metric or ""
    if claim.less is not None and claim.than is not None:
        if claim.grows_with is not None:
            named = {*claim.less, claim.grows_with}
            lower = _by_condition(results, claim.where | claim.less, named)
            upper = _by_condition(results, claim.where | claim.than, named)
            for key in filter(upper.__contains__, lower):
                pairs = _same_levels(lower[key], upper[key], claim.grows_with)
                yield dict(key), evidence.ratio_grows(*pairs, metric, claim.grows_with)
            return
        for condition, cell, other in _pairs(results, claim.where, claim.less, claim.than):
            share = claim.by_at_least or 0.0
            yield condition, evidence.less(cell, other, metric, share)
    elif claim.equal is not None:
        for condition, cell, other in _pairs(results, claim.where, *claim.equal):
            yield condition, evidence.equal(cell, other, metric, claim.tolerance)
    elif claim.flat_over is not None:
        over = claim.flat_over
        for key, cells in _by_condition(results, claim.where, {over}).items():
            yield dict(key), evidence.flat(cells, metric, over, claim.tolerance)
    elif claim.linear_over is not None:
        over = claim.linear_over
        for key, cells in _by_condition(results, claim.where, {over}).items():
            yield dict(key), evidence.linear(cells, metric, over, claim.tolerance)


def _by_condition(results: Results, selection: Factors, named: set[str]) -> Conditions:
    """Group cells by the levels of the factors that the claim does not compare."""
    grouped: Conditions = {}
    for cell in results.select(selection):
        key = tuple((f, level) for f, level in cell.factors.items() if f not in named)
        grouped.setdefault(key, []).append(cell)
    return grouped


def _pairs(
    results: Results, where: Factors, first: Factors, second: Factors
) -> Iterable[tuple[Factors, CellResult, CellResult]]:
    ours = _by_condition(results, {**where, **first}, set(first))
    theirs = _by_condition(results, {**where, **second}, set(first))
    for key, cells in ours.items():
        if key in theirs:
            yield dict(key), cells[0], theirs[key][0]


def _same_levels(
    cells: Sequence[CellResult], others: Sequence[CellResult], factor: str
) -> tuple[list[CellResult], list[CellResult]]:
    """Keep the cells whose level of the factor both sides have."""
    shared = {c.factors[factor] for c in cells} & {c.factors[factor] for c in others}
    return (
        [cell for cell in cells if cell.factors[factor] in shared],
        [cell for cell in others if cell.factors[factor] in shared],
    )


def _verdict(found: Sequence[tuple[Factors, Evidence]]) -> tuple[ClaimVerdict, str]:
    """Join the conditions: unanimous, or no verdict in either direction."""
    tested = [(condition, each) for condition, each in found if each.says != "untested"]
    if not tested:
        why = found[0][1].why if found else "this run has none of the cells it compares"
        return ClaimVerdict.NOT_TESTABLE, why
    verdict = ClaimVerdict.NO_DIFFERENCE
    if all(each.says == "supports" for _, each in tested):
        verdict = ClaimVerdict.REPRODUCED
    elif all(each.says == "contradicts" for _, each in tested):
        verdict = ClaimVerdict.REVERSED
    return verdict, _why(found, tested)


def _why(
    found: Sequence[tuple[Factors, Evidence]], tested: Sequence[tuple[Factors, Evidence]]
) -> str:
    if len(found) == 1:
        return tested[0][1].why
    parts = []
    for says, words in (("supports", "holds"), ("contradicts", "is reversed"), ("open", "is open")):
        where = [condition for condition, each in tested if each.says == says]
        if len(where) == len(found):
            parts.append(f"{words} in all {len(where)} conditions")
        elif where:
            parts.append(f"{words} at {'; '.join(condition_text(each) for each in where)}")
    if len(tested) < len(found):
        parts.append(f"{len(found) - len(tested)} of {len(found)} conditions could not be tested")
    condition, telling = max(tested, key=lambda pair: pair[1].says == "contradicts")
    return f"{', '.join(parts)}. At {condition_text(condition)}: {telling.why}"
