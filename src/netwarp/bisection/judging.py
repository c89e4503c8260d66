"""Turns what a study's expectations say of a commit into an answer of the bisection."""

from collections.abc import Sequence

from netwarp.bisection.search import Answer, Examined
from netwarp.claims.expectations import ExpectationResult, Kept
from netwarp.claims.expected_sentences import WORDS, found_text
from netwarp.evaluation import RunData


def examined(commit: str, data: RunData) -> Examined:
    """Return what the runs on a commit's kernel say.

    It is good if every expectation holds, and bad if one does not. It is skipped if one is
    undecided and the others hold, and if no run at all succeeded, as where the kernel does not
    boot.
    """
    runs = data.results.runs
    if len(data.results.failed) == len(runs):
        why = f"all {len(runs)} runs failed, the first: {runs[0].reason}" if runs else "nothing ran"
        return Examined(commit, Answer.SKIP, why)
    results = data.expectations
    return Examined(commit, answer_of([each.kept for each in results]), answers_text(results))


def answer_of(kept: Sequence[Kept]) -> Answer:
    """Join the answers of expectations."""
    if Kept.BROKEN in kept:
        return Answer.BAD
    return Answer.SKIP if Kept.UNDECIDED in kept else Answer.GOOD


def answers_text(results: Sequence[ExpectationResult]) -> str:
    """Write the results of expectations, one a line, with values and intervals."""
    lines = (f"{each.text}: {WORDS[each.kept]}: {found_text(each)}" for each in results)
    # An error, which may quote it, shows no narrow spaces between digits.
    return "\n".join(lines).replace("\u202f", " ")
