"""Judges the claims of a study: each claim gets a verdict and a sentence with the findings.

A claim ranges over conditions: all combinations of levels of the factors that it does not name.
Each condition is tested in `netwarp.claims.evidence` and `netwarp.claims.trends`;
`netwarp.claims.joining` combines conditions into a verdict, and claims into a family.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from netwarp.claims import bounds, evidence, published, trends
from netwarp.claims.conditions import (
    OpenCondition,
    by_condition,
    indices,
    needed_by_all,
    pairs,
    share_of_cells,
    without_partner,
    without_their_level,
)
from netwarp.claims.evidence import Evidence, Says
from netwarp.claims.joining import ClaimVerdict, family_errors, join, smallest_chance
from netwarp.claims.sentences import found_text
from netwarp.results import CellResult, Factors, Results, without_levels
from netwarp.study.claims import Claim

OF_HYPOTHESES = {
    ClaimVerdict.REPRODUCED: "supported",
    ClaimVerdict.PARTLY_REVERSED: "partly-not-supported",
    ClaimVerdict.REVERSED: "not-supported",
}
"""Words for verdicts on a study's own hypotheses, which reproduce no publication's result."""
OF_NUMBERS = {
    ClaimVerdict.PARTLY_REVERSED: "partly-missed",
    ClaimVerdict.REVERSED: "missed",
}
"""Words for verdicts on published numbers, which have no opposite."""


@dataclass(frozen=True)
class ClaimResult:
    """The verdict on a claim, with the findings in each condition."""

    claim: Claim
    verdict: ClaimVerdict
    found: str
    """The findings as text, with the numbers on which the verdict is based."""
    values: Mapping[str, Any]
    open: tuple[OpenCondition, ...] = ()
    """The conditions that are undecided but that more replicates may decide."""

    @property
    def replicates_needed(self) -> int | None:
        """Number of replicates that would decide all open conditions; None if none is open, or too
        many would be needed.
        """
        return needed_by_all(self.open)

    @property
    def id(self) -> str:
        """The claim's id, which is unique in the study."""
        return self.claim.id or "claim"

    @property
    def word(self) -> str:
        """The word for the verdict in tables, pages and `--json`."""
        names = {} if self.claim.authors else dict(OF_HYPOTHESES)
        if self.claim.published is not None:
            names |= OF_NUMBERS
        return names.get(self.verdict, self.verdict.value)

    @property
    def random(self) -> bool:
        """Whether the verdict could be wrong by chance; False if nothing was random."""
        return any(each["random"] for each in self.values.get("conditions", ()))

    def to_json(self) -> dict[str, Any]:
        """Return the fields that `--json` prints."""
        return {
            "id": self.id,
            "source": self.claim.source,
            "authors": self.claim.authors,
            "text": self.claim.text,
            "claimed": self.claim.claimed,
            "verdict": self.word,
            "found": self.found,
            # only the effect of a control shows the reason, see `netwarp.claims.effects`
            "why": None,
            "proposed_why": self.claim.why,
            "control": self.claim.control,
            "replicates_needed": self.replicates_needed,
            "values": dict(self.values),
        }


def evaluate_claims(claims: Iterable[Claim], results: Results) -> list[ClaimResult]:
    """Judge the claims of a study, in their order. The error probability is controlled over all of
    them, as one family.

    The chance of even one wrong verdict among them is at most 5 %.
    """
    listed = list(claims)
    evidences = [_evidence_of(claim, results) for claim in listed]
    chances = [smallest_chance([each for _, each, _ in found]) for found in evidences]
    errors = family_errors(chances, results.criteria.alpha)
    return [
        _result(claim, found, error, _relevant(claim, results))
        for claim, found, error in zip(listed, evidences, errors, strict=True)
    ]


def not_tested(claim: Claim, reason: str) -> ClaimResult:
    """Return the result of a claim that was not tested, with the reason."""
    return ClaimResult(claim, ClaimVerdict.NOT_TESTABLE, reason, {})


_Found = list[tuple["Factors", "Evidence", frozenset[int]]]


def _evidence_of(claim: Claim, results: Results) -> _Found:
    if claim.not_testable is not None:
        return []
    found = [
        (condition, each.at_share(share_of_cells(results, cells)), cells)
        for condition, each, cells in _evidence(claim, without_levels(results, claim.without))
    ]
    if not claim.needs_difference:
        return found
    return [(condition, bounds.refuted_by_none(each), cells) for condition, each, cells in found]


def _result(claim: Claim, found: _Found, error: float, relevant: float) -> ClaimResult:
    """Return the result of a claim, from its evidence in each condition."""
    if claim.not_testable is not None:
        return not_tested(claim, claim.not_testable)
    if not found:
        return not_tested(claim, "this run has none of the cells it compares")
    joined = join([each for _, each, _ in found], error)
    listed = [
        (condition, each.at(its, said), said)
        for (condition, each, _), said, its in zip(found, joined.says, joined.errors, strict=True)
    ]
    open_ = tuple(
        OpenCondition(cells, each.replicates_needed(error), partial(each.replicates_needed, error))
        for (_, each, cells), said in zip(found, joined.says, strict=True)
        if each.undecided is not None and _is_open(joined.verdict, said)
    )
    values = {
        "metric": claim.metric,
        "error": error,
        "conditions": [_condition_json(*each) for each in listed],
    }
    result = ClaimResult(claim, joined.verdict, "", values, open_)
    text = found_text(
        _without_fixed_factors(claim, listed), joined.verdict, result.replicates_needed, relevant
    )
    return replace(result, found=text)


def _is_open(verdict: ClaimVerdict, said: Says) -> bool:
    """Return whether more replicates may decide a condition, or the size of its lead."""
    return verdict is ClaimVerdict.SIZE_UNDECIDED or said in ("undecided", "partly", "direction")


def _without_fixed_factors(
    claim: Claim, listed: Sequence[tuple[Factors, Evidence, Says]]
) -> list[tuple[Factors, Evidence, Says]]:
    """Return conditions without the factors whose levels the claim fixes in `where`."""
    return [
        ({f: level for f, level in condition.items() if f not in claim.where}, each, said)
        for condition, each, said in listed
    ]


def _condition_json(condition: Factors, each: Evidence, said: Says) -> dict[str, Any]:
    random = each.undecided is not None
    return {"factors": dict(condition), "says": said, "found": each.found, "random": random,
            **each.values}  # fmt: skip


def _evidence(claim: Claim, results: Results) -> Iterable[tuple[Factors, Evidence, frozenset[int]]]:
    if claim.less is not None and claim.than is not None:
        compared = _less
        if claim.trend is not None or claim.overall is not None or claim.stays_over is not None:
            compared = _leads
        yield from compared(claim, results, claim.less, claim.than)
    elif claim.equal is not None:
        for condition, cell, other in pairs(results, claim.where, *claim.equal):
            said = evidence.equal(cell, other, claim.metric or "", claim.tolerance)
            yield condition, said, indices(cell, other)
        yield from _one_side_alone(results, claim, *claim.equal)
    elif claim.flat_over is not None:
        over = claim.flat_over
        for key, cells in by_condition(results, claim.where, {over}).items():
            said = evidence.flat(cells, claim.metric or "", over, claim.tolerance)
            yield dict(key), said, indices(*cells)
    elif claim.published is not None:
        for key, cells in by_condition(results, claim.where, set()).items():
            for cell in cells:
                yield dict(key), _number(claim, cell), indices(cell)
    elif claim.linear_over is not None:
        over, relevant = claim.linear_over, _relevant(claim, results)
        for key, cells in by_condition(results, claim.where, {over}).items():
            said = trends.linear(cells, claim.metric or "", over, claim.tolerance, relevant)
            yield dict(key), said, indices(*cells)


def _number(claim: Claim, cell: CellResult) -> Evidence:
    metric = claim.metric or ""
    if claim.of_one_run:
        return published.of_one_run(cell, metric, claim.published_number)
    return published.near(cell, metric, claim.published_number, claim.tolerance)


def _less(
    claim: Claim, results: Results, less: Factors, than: Factors
) -> Iterable[tuple[Factors, Evidence, frozenset[int]]]:
    metric, relevant = claim.metric or "", _relevant(claim, results)
    for condition, cell, other in pairs(results, claim.where, less, than):
        if claim.by_at_most is not None and claim.by_at_least is None and claim.up_to is None:
            said = bounds.at_most(cell, other, metric, relevant, claim.by_at_most)
        else:
            said = evidence.less(
                cell, other, metric, relevant,
                by_at_least=claim.by_at_least or 0.0, up_to=claim.up_to or 0.0,
                by_at_most=1.0 if claim.by_at_most is None else claim.by_at_most,
            )  # fmt: skip
        yield condition, said, indices(cell, other)
    yield from _one_side_alone(results, claim, less, than)


def _one_side_alone(
    results: Results, claim: Claim, first: Factors, second: Factors
) -> Iterable[tuple[Factors, Evidence, frozenset[int]]]:
    """Yield the conditions in which only one of the two compared cells was run."""
    for condition, cell in without_partner(results, claim.where, first, second):
        yield condition, evidence.ONE_SIDE_ALONE, indices(cell)


def _leads(
    claim: Claim, results: Results, less: Factors, than: Factors
) -> Iterable[tuple[Factors, Evidence, frozenset[int]]]:
    factor = claim.trend or claim.overall or claim.stays_over or ""
    relevant = _relevant(claim, results)
    named = {*less, factor}
    ours = by_condition(results, {**claim.where, **less}, named)
    theirs = by_condition(results, {**claim.where, **than}, named)
    for key in dict.fromkeys([*ours, *theirs]):
        cells, others = ours.get(key, []), theirs.get(key, [])
        if alone := without_their_level(cells, others, factor):
            yield dict(key), evidence.one_side_alone_at(factor, alone), indices(*cells, *others)
            continue
        if claim.stays_over is not None:
            metric = claim.metric or ""
            said = bounds.lead_stays(cells, others, metric, factor, claim.tolerance)
        elif claim.overall is not None:
            share = claim.by_at_least or 0.0
            said = trends.leads_overall(cells, others, claim.metric or "", factor, relevant, share)
        else:
            said = trends.lead_grows(
                cells, others, claim.metric or "", factor, relevant,
                scale=claim.lead or "ratio", shrinks=claim.shrinks_with is not None,
            )  # fmt: skip
        yield dict(key), said, indices(*cells, *others)


def _relevant(claim: Claim, results: Results) -> float:
    return results.criteria.relevant if claim.relevant is None else claim.relevant
