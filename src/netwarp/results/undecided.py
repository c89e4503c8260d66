"""Texts on how many replicates would decide undecided comparisons, and why no more were run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from netwarp.estimate.comparison import ALPHA, Comparison, Verdict, replicates_needed
from netwarp.estimate.staging import TIMES, Staging
from netwarp.results.results import Results
from netwarp.wording import count

if TYPE_CHECKING:
    from netwarp.results.comparisons import Comparisons


def needed_text(needed: int | None, what: str = "it") -> str:
    """Return as text how many replicates would decide a verdict: an estimate, to two digits."""
    if needed is None:
        return f"no number of replicates would decide {what} soon, so near a limit"
    return f"about {count(int(float(f'{needed:.2g}')))} replicates would decide {what}"


def undecided_text(compared: Comparisons, results: Results) -> str | None:
    """Return as text how many replicates would decide a metric's undecided comparisons, and why
    they were not run.

    None if all comparisons are decided.
    """
    needed = _needed(compared.comparisons, compared.alpha)
    text = _open_text(compared.comparisons, needed)
    if text is None:
        return None
    most = max(each.n for each in compared.undecided)
    if results.criteria.looks == 1:
        last = Staging().looks(most, compared.tested)[-1].replicates
        if math.isinf(needed[-1]) or needed[-1] <= last:
            return f"{text}; --decide adds them, up to {TIMES} times as many."
        return f"{text}; --decide stops at {count(last)}: begin with more (--replicates)."
    return (
        f"{text}. It stopped at {count(most)} replicates: none are added where those of the last"
        " look would not decide, four times in five."
    )


def open_text(family: Sequence[Comparison]) -> str | None:
    """Return as text how many comparisons of a family are undecided, and how many replicates would
    decide them; None if all are decided.
    """
    return _open_text(family, _needed(family, ALPHA))


def _open_text(family: Sequence[Comparison], needed: Sequence[float]) -> str | None:
    if not needed:
        return None
    nearest, hardest = (None if math.isinf(each) else int(each) for each in (needed[0], needed[-1]))
    total = sum(each.verdict is not Verdict.NO_VALUE for each in family)
    if len(needed) == 1:
        return f"1 of {total} is undecided: {needed_text(hardest)}"
    start = f"{len(needed)} of {total} are undecided"
    if nearest is None or hardest is not None:
        return f"{start}: {needed_text(hardest, 'them' if nearest is None else 'them all')}"
    return f"{start}: {needed_text(nearest, 'the nearest')}, {needed_text(None, 'the hardest')}"


def _needed(family: Sequence[Comparison], alpha: float) -> list[float]:
    """Return, in ascending order, the numbers of replicates that would decide the undecided
    comparisons; infinity for those that no number would decide.
    """
    undecided = (each for each in family if each.verdict is Verdict.UNDECIDED)
    return sorted((replicates_needed(each, family, alpha) or math.inf) for each in undecided)
