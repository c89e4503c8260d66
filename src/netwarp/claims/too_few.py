"""Determines before a study runs which of its questions its number of replicates cannot answer.

If something is random, few replicates cannot show a difference and even fewer an equivalence,
whatever their values are; see `netwarp.estimate.unseen`. Whether a sufficient number is enough
depends on the spread, which only runs show.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from netwarp.claims.conditions import grouped
from netwarp.estimate import unseen
from netwarp.estimate.comparison import ALPHA
from netwarp.estimate.staging import Staging
from netwarp.plan.plan import filter_cells, randomness_of
from netwarp.study.contenders import contender_factor

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from netwarp.results import Factors, Results
    from netwarp.study import Study
    from netwarp.study.claims import Claim
    from netwarp.study.expectations import Expectation

MOST_NAMED = 3
"""Maximum number of claims that a warning lists by name."""


@dataclass(frozen=True)
class Planned:
    """A planned cell: its levels, and whether anything in it is random."""

    factors: Factors
    is_random: bool


@dataclass(frozen=True)
class TooFew:
    """The questions (claims, expectations or comparisons) that a study cannot answer with its
    number of replicates.
    """

    replicates: int
    """Number of replicates that each cell has at the end."""
    least: int
    """Minimum number of replicates with which all questions of the study could be answered if there
    were no spread."""
    claims: Mapping[str, int]
    """The claims (by id) or expectations (by text) that cannot be judged, each with the number of
    replicates with which it could be; empty if the questions are comparisons."""
    of: int
    """Number of claims, or of expectations, that are to be judged in all."""
    what: Literal["claims", "expectations", "comparisons"]
    """The kind of question that cannot be judged."""
    can_be_added: bool
    """Whether `--decide` would add as many replicates as are needed."""
    alpha: float
    """Error probability of each difference, if all are equally hard to show."""
    least_same: int
    """Number of replicates with which one equivalence could be shown."""

    @property
    def text(self) -> str:
        """Return the warning as a sentence, for a command that has `--decide`."""
        return self.sentence("with --decide")

    def sentence(self, adding: str = "") -> str:
        """Return the warning as a sentence.

        Args:
            adding: the option with which replicates are added until everything is decided, such as
                "without --quick"; "" if there is none.
        """
        have = f"{self.replicates} replicate{'s' * (self.replicates > 1)}"
        have += _unless_clause(self.replicates, self.alpha)
        adding = f", or {adding}" * (self.can_be_added and bool(adding))
        if not self.claims:
            return (
                f"cells with something random cannot all be compared with {have}: with {self.least}"
                f" they could be{adding}, and called equivalent with {self.least_same}"
            )
        count, fewest = len(self.claims), min(self.claims.values())
        remedy = f"with {self.least} {'it' if count == 1 else 'they'} could be"
        if fewest < self.least:
            some = sum(each == fewest for each in self.claims.values())
            remedy = f"{some} could be with {fewest}, all with {self.least}"
        named = ", ".join(list(self.claims)[:MOST_NAMED])
        more = f" and {count - MOST_NAMED} more" * (count > MOST_NAMED)
        which = f"{count} of {self.of} {self.what}" if self.of > 1 else f"the {self.what[:-1]}"
        why = ", as what they compare is random" if self.what == "claims" else ""
        if count == 1:
            why = why.replace("they compare", "it compares")
        return f"{which} cannot be judged with {have}{why} ({named}{more}): {remedy}{adding}"

    def to_json(self) -> dict[str, Any]:
        """Return the object that `--json` prints."""
        return {
            "replicates": self.replicates,
            "least": self.least,
            "expectations" if self.what == "expectations" else "claims": dict(self.claims),
            "text": self.text,
        }


def _unless_clause(replicates: int, alpha: float) -> str:
    """Return the clause that names the differences which this number of replicates can show; "" if
    there are none.
    """
    distance = unseen.mode_distance(replicates, alpha)
    if not 0 < distance < math.inf:
        return ""
    return f" unless a ratio is below {math.exp(-distance):.2f} or above {math.exp(distance):.2f}"


def too_few_replicates(
    claims: Sequence[Claim],
    cells: Sequence[Planned],
    replicates: int,
    *,
    is_deciding: bool = False,
    against: str | None = None,
    has_expectations: bool = False,
) -> TooFew | None:
    """Return the questions that a study's replicates cannot answer; None if they can answer all.

    Args:
        claims: the claims of the study. If it has none, and no expectations, its comparisons are
            checked.
        cells: the cells that are run.
        replicates: number of replicates that each cell has at first.
        is_deciding: whether replicates are added until everything is decided.
        against: the factor whose levels are compared, if the study names one.
        has_expectations: whether the study has expectations.
    """
    alpha = ALPHA
    questions = _questions(claims, cells, against, has_others=has_expectations)
    if is_deciding:
        replicates, alpha = _last_look(replicates, questions)
    judged = [claim for claim in claims if claim.not_testable is None]
    needed = _needed_by_claims(judged, cells, alpha)
    lacking = {name: least for name, least in needed.items() if least > replicates}
    is_a_table = not judged and not has_expectations
    compared = _random_comparisons(cells, against) if is_a_table else 0
    least = _least_replicates(lacking, compared, alpha)
    if least <= replicates:
        return None
    most, last_alpha = _last_look(replicates, questions)
    at_last = _least_replicates(_needed_by_claims(judged, cells, last_alpha), compared, last_alpha)
    can_be_added = not is_deciding and at_last <= most
    family = compared or len(needed)
    same = unseen.least_equivalent(alpha, 0.0)
    return TooFew(
        replicates, least, lacking, len(judged), "comparisons" if compared else "claims",
        can_be_added, alpha / max(1, family), same,
    )  # fmt: skip


def too_few_for_expectations(
    expectations: Sequence[Expectation],
    cells: Sequence[Planned],
    replicates: int,
    *,
    is_deciding: bool = False,
) -> TooFew | None:
    """Return the expectations that a study's replicates cannot decide; None if they can decide all.

    Args:
        expectations: the expectations of the study.
        cells: the cells that are run.
        replicates: number of replicates that each cell has at first.
        is_deciding: whether replicates are added until everything is decided.
    """
    alpha = ALPHA
    if is_deciding:
        replicates, alpha = _last_look(replicates, len(expectations))
    needed = _needed_by_expectations(expectations, cells, alpha)
    lacking = {text: least for text, least in needed.items() if least > replicates}
    if not lacking:
        return None
    most, last_alpha = _last_look(replicates, len(expectations))
    at_last = _needed_by_expectations(expectations, cells, last_alpha)
    can_be_added = not is_deciding and max(at_last.values()) <= most
    return TooFew(
        replicates, max(lacking.values()), lacking, len(expectations), "expectations",
        can_be_added, alpha / len(expectations), 0,
    )  # fmt: skip


LEAST_FIXED = 2
"""Minimum number of replicates with which an expectation can be judged if nothing is random: equal
values show that."""


def _needed_by_expectations(
    expectations: Sequence[Expectation], cells: Sequence[Planned], alpha: float
) -> dict[str, int]:
    """Return the smallest number of replicates that could decide each expectation if there were no
    spread, by the expectation's text.
    """
    random = [any(c.is_random for c in _cells_expected(each, cells)) for each in expectations]
    differ = alpha / max(1, sum(random))
    return {
        each.text: unseen.least_different(differ) if is_random else LEAST_FIXED
        for each, is_random in zip(expectations, random, strict=True)
    }


def _cells_expected(said: Expectation, cells: Iterable[Planned]) -> list[Planned]:
    return _cells_with(
        cells, [{**said.where, **side} for side in (said.of, said.against or said.of)]
    )


def _least_replicates(needed: Mapping[str, int], compared: int, alpha: float) -> int:
    """Return the minimum number of replicates that could decide all questions; 0 if there are none.

    Args:
        needed: how many replicates each claim needs.
        compared: the number of comparisons, if the questions are comparisons instead of claims.
        alpha: the error probability of all comparisons together.
    """
    if compared:
        return unseen.least_different(alpha / compared)
    return max(needed.values(), default=0)


def too_few_as_planned(
    study: Study,
    staging: Staging | None,
    filters: Sequence[str] = (),
    *,
    in_real_time: bool = False,
) -> list[TooFew]:
    """Return the questions that a study cannot answer as it is planned: claims or comparisons, then
    expectations.

    Args:
        study: a validated study.
        staging: how replicates are added; those that are added for a precision do not count.
        filters: ``FACTOR=LEVEL`` each: only cells with these levels are run.
        in_real_time: whether the runs are in real time, in which everything is random.
    """
    cells = _planned(study, filters, in_real_time=in_real_time)
    is_deciding = staging is not None and staging.precision is None
    against = next(iter(study.against), None)
    return _too_few(study, cells, study.replicates, is_deciding=is_deciding, against=against)


def least_for_comparisons(study: Study) -> int:
    """Return the least number of replicates with which all comparisons of a study's table could
    show a difference, if there were no spread; 0 if there are none of random cells.
    """
    cells = _planned(study, (), in_real_time=False)
    compared = _random_comparisons(cells, next(iter(study.against), None))
    return _least_replicates({}, compared, ALPHA)


def too_few_in(study: Study, results: Results) -> list[TooFew]:
    """Return the questions that the replicates of these results cannot answer."""
    cells = [Planned(cell.factors, cell.is_random) for cell in results.cells]
    replicates = max((len(cell.runs) for cell in results.cells), default=0)
    against = next(iter(results.compared_by.against), None)
    return _too_few(study, cells, replicates, is_deciding=False, against=against)


def _too_few(
    study: Study, cells: Sequence[Planned], replicates: int, *, is_deciding: bool,
    against: str | None,
) -> list[TooFew]:  # fmt: skip
    expected = study.expectations
    found = (
        too_few_replicates(
            study.claims, cells, replicates, is_deciding=is_deciding, against=against,
            has_expectations=bool(expected),
        ),
        too_few_for_expectations(expected, cells, replicates, is_deciding=is_deciding),
    )  # fmt: skip
    return [each for each in found if each is not None]


def _last_look(first: int, questions: int) -> tuple[int, float]:
    """Return the number of replicates at the last interim test (look), and the test's error
    probability.
    """
    last = Staging().looks(first, questions)[-1]
    return last.replicates, ALPHA * last.share


def questions_of(study: Study, filters: Sequence[str] = (), *, in_real_time: bool = False) -> int:
    """Return how many questions of a study's largest family are about something random: its claims
    or expectations, or else its comparisons.
    """
    cells = _planned(study, filters, in_real_time=in_real_time)
    against = next(iter(study.against), None)
    expected = len(study.expectations)
    return max(
        expected, _questions(study.claims, cells, against, has_others=bool(study.expectations))
    )


def _questions(
    claims: Sequence[Claim], cells: Sequence[Planned], against: str | None, *, has_others: bool
) -> int:
    """Return the number of claims about something random, or, if the study has no claim to judge,
    of comparisons.
    """
    judged = [claim for claim in claims if claim.not_testable is None]
    if judged or has_others:
        return len(_needed_by_claims(judged, cells, ALPHA))
    return _random_comparisons(cells, against)


def _planned(study: Study, filters: Sequence[str], *, in_real_time: bool) -> list[Planned]:
    return [
        Planned(cell.levels, in_real_time or bool(randomness_of(cell)))
        for cell in filter_cells(study, filters)
    ]


def _needed_by_claims(
    claims: Sequence[Claim], cells: Sequence[Planned], alpha: float
) -> dict[str, int]:
    """Return the smallest number of replicates that could decide each claim about something random,
    by the claim's id.

    Of k claims, Holm's procedure tests the first at 1/k of the error probability. That counts for
    all of them, because all small differences have the same probability of an unseen mode, and all
    equivalences that of an unseen event.
    """
    tested = [each for each in claims if not each.of_one_run]
    random = [each for each in tested if any(c.is_random for c in _cells_of(each, cells))]
    same = [_tolerance(each) for each in random]
    differ = alpha / max(1, len(random))
    share = alpha / max(1, sum(each is not None for each in same))
    return {
        claim.id or "claim": unseen.least_different(differ)
        if tolerance is None
        else unseen.least_equivalent(share, tolerance)
        for claim, tolerance in zip(random, same, strict=True)
    }


def _tolerance(claim: Claim) -> float | None:
    """Return the tolerance of a claim of equality, as a logarithm; None for other claims.

    Gaps and deviations from a line have no logarithm, and no event is too small to matter for them.
    """
    if claim.equal is not None or claim.flat_over is not None or claim.published is not None:
        return math.log1p(claim.tolerance)
    return 0.0 if claim.stays_over is not None or claim.linear_over is not None else None


def _cells_of(claim: Claim, cells: Iterable[Planned]) -> list[Planned]:
    sides = claim.equal or [side for side in (claim.less, claim.than) if side is not None] or [{}]
    return [
        cell
        for cell in _cells_with(cells, [{**claim.where, **side} for side in sides])
        if not any(cell.factors.get(factor) in left for factor, left in claim.without.items())
    ]


def _cells_with(cells: Iterable[Planned], wanted: Sequence[Factors]) -> list[Planned]:
    """Return the cells that have all levels of at least one of these selections."""
    return [
        cell
        for cell in cells
        if any(
            all(cell.factors.get(factor) == level for factor, level in levels.items())
            for levels in wanted
        )
    ]


def _random_comparisons(cells: Sequence[Planned], against: str | None) -> int:
    """Return the number of comparisons in which something is random."""
    levels: dict[str, dict[str, None]] = {}
    for cell in cells:
        for name, level in cell.factors.items():
            levels.setdefault(name, {})[level] = None
    factor = contender_factor(levels, against)
    return sum(
        sum(first.is_random or each.is_random for each in others)
        for first, *others in grouped(cells, {factor}).values()
    )
