"""Says how many replicates would decide what is undecided, and why no more were added."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netwarp.estimate.comparison import Verdict
from netwarp.estimate.staging import FUTILE, LOOKS
from netwarp.wording import count

if TYPE_CHECKING:
    from netwarp.results.comparisons import Comparisons
    from netwarp.results.results import Results

TIMES = 2 ** (LOOKS - 1)
"""Most times as many replicates as a study has that are added."""


def needed_text(needed: int | None, what: str = "it") -> str:
    """Write how many replicates would decide a verdict, to two digits; it is an estimate."""
    if needed is None:
        return f"no number of replicates would decide {what} soon, so near a limit"
    return f"about {count(int(float(f'{needed:.2g}')))} replicates would decide {what}"


def undecided_text(compared: Comparisons, results: Results) -> str | None:
    """Write what would decide the undecided comparisons of a metric, and why it was not done.

    None where all are decided.
    """
    undecided = compared.undecided
    if not undecided:
        return None
    nearest, hardest = (compared.replicates_needed(each) for each in (undecided[0], undecided[-1]))
    total = sum(each.verdict is not Verdict.NO_VALUE for each in compared.comparisons)
    if len(undecided) == 1:
        text = f"1 of {total} is undecided: {needed_text(hardest)}"
    elif nearest is None:
        text = f"{len(undecided)} of {total} are undecided: {needed_text(None, 'them')}"
    elif hardest is None:
        text = (
            f"{len(undecided)} of {total} are undecided: {needed_text(nearest, 'the nearest')},"
            f" {needed_text(None, 'the hardest')}"
        )
    else:
        text = f"{len(undecided)} of {total} are undecided: {needed_text(hardest, 'them all')}"
    if results.criteria.looks == 1:
        return f"{text}; --decide adds them, up to {TIMES} times as many."
    most = max(each.n for each in undecided)
    return (
        f"{text}. It stopped at {count(most)} replicates: no more than {TIMES} times the study's"
        f" are added, and none where over {FUTILE * TIMES} times would be needed."
    )
