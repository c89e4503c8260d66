"""Lists the checks of results as test cases, as JUnit has them: runs, expectations, claims, a
baseline.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from netwarp.claims import ClaimVerdict, Kept
from netwarp.claims.expected_sentences import found_text
from netwarp.output.baseline import Standing
from netwarp.output.baseline_lines import command_of, standing_text
from netwarp.wording import cell_text

if TYPE_CHECKING:
    from netwarp.evaluation import RunData
    from netwarp.output.baseline import BaselineComparison

Outcome = Literal["passed", "failed", "undecided", "skipped"]
Suite = Literal["runs", "expectations", "claims", "baseline"]

_OF_EXPECTATIONS: Mapping[Kept, Outcome] = {
    Kept.HOLDS: "passed",
    Kept.BROKEN: "failed",
    Kept.UNDECIDED: "undecided",
}
_OF_CLAIMS: Mapping[ClaimVerdict, Outcome] = {
    ClaimVerdict.REPRODUCED: "passed",
    ClaimVerdict.DEPENDS: "failed",
    ClaimVerdict.PARTLY_REVERSED: "failed",
    ClaimVerdict.REVERSED: "failed",
    ClaimVerdict.FAILED: "failed",
}
"""Outcomes of claims as test cases; a claim that is neither supported nor contradicted is
skipped.
"""
_OF_CELLS: Mapping[Standing, Outcome] = {
    Standing.WORSE: "failed",
    Standing.MISSING: "failed",
    Standing.UNDECIDED: "undecided",
}
"""Outcomes as test cases of cells compared with a baseline; answers that are not listed have
passed.
"""


@dataclass(frozen=True)
class Case:
    """One check of the results, as a test case."""

    suite: Suite
    name: str
    outcome: Outcome
    word: str
    """The outcome in one or two words, such as `does not hold`."""
    found: str
    """What the check found, in one line."""


def cases(data: RunData, compared: BaselineComparison | None = None) -> list[Case]:
    """Return the test cases of a study's results.

    Args:
        data: the results.
        compared: the results compared with a baseline; None if there is none.
    """
    return [*_runs(data), *_expectations(data), *_claims(data), *_cells(data, compared)]


def _runs(data: RunData) -> Iterator[Case]:
    """Yield a test case for all runs of the plan, and one for each run that failed."""
    failed = data.results.failed
    planned = len(data.results.runs) + len(data.not_done)
    found = f"{len(data.results.runs) - len(failed)} of {planned} runs succeeded"
    outcome: Outcome = "failed" if failed else "passed"
    if data.not_done:
        found += f"; {len(data.not_done)} were not done"
        outcome = "failed" if failed else "undecided"
    yield Case("runs", "every run succeeds", outcome, outcome, found)
    for run in failed:
        name = f"{run.run} ({cell_text(run.factors, ', ')})"
        yield Case("runs", name, "failed", "failed", run.reason or "no reason is known")


def _expectations(data: RunData) -> Iterator[Case]:
    for result in data.expectations if data.raw.get("expect") else ():
        word = result.kept.value.replace("-", " ")
        yield Case(
            "expectations", result.text, _OF_EXPECTATIONS[result.kept], word, found_text(result)
        )


def _claims(data: RunData) -> Iterator[Case]:
    for result in data.claims if data.raw.get("claim") else ():
        outcome = _OF_CLAIMS.get(result.verdict, "skipped")
        name = f"{result.id}: {result.claim.text}"
        yield Case("claims", name, outcome, result.word.replace("-", " "), result.found)


def _cells(data: RunData, compared: BaselineComparison | None) -> Iterator[Case]:
    """Yield a test case for each cell that was compared with a baseline."""
    if compared is None:
        return
    for by_metric in compared.metrics:
        for cell in by_metric.cells:
            outcome = _OF_CELLS.get(cell.standing, "passed")
            name = f"{by_metric.difference.metric}: {cell_text(cell.factors, ', ')}"
            found = standing_text(cell, by_metric)
            if cell.standing is not Standing.UNCHANGED:
                found = "; ".join(filter(None, (found, command_of(cell, data.directory))))
            yield Case("baseline", name, outcome, cell.standing.value, found)
