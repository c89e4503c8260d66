"""Decides whether a commit is good or bad for a bisection: by the study's expectations, or by a
comparison with the good commit.
"""

from collections.abc import Collection, Sequence

from netwarp.bisection.search import Answer, Examined
from netwarp.claims.expectations import ExpectationResult, Kept
from netwarp.claims.expected_sentences import WORDS, found_text
from netwarp.evaluation import RunData
from netwarp.output.baseline import (
    BaselineComparison,
    Standing,
    baseline_of,
    compare_with_baseline,
)
from netwarp.output.baseline_lines import counts_text, standing_text
from netwarp.wording import cell_text


def examined(commit: str, data: RunData) -> Examined:
    """Judge a commit by the expectations of its runs: good, bad or skipped.

    It is good if every expectation holds, and bad if one does not. It is skipped if one is
    undecided and the others hold, and if no run at all succeeded, for example because the kernel
    does not boot.
    """
    if untold := _no_answer_text(data):
        return Examined(commit, Answer.SKIP, untold)
    results = data.expectations
    return Examined(commit, answer_of([each.kept for each in results]), answers_text(results))


def differing(commit: str, good: RunData, data: RunData) -> Examined:
    """Judge a commit by whether its runs differ from those of the good commit: good, bad or
    skipped.

    Cells are compared as with a baseline, by the study's main metrics. The commit is good if every
    cell is unchanged, or changed by less than the smallest relevant difference, and bad if one is
    better or worse. It is skipped if one is undecided and no other differs, and if no run at all
    succeeded.

    Raises:
        InputError: runs of the good commit failed.
    """
    if untold := _no_answer_text(data):
        return Examined(commit, Answer.SKIP, untold)
    found = compare_with_baseline(baseline_of(good), data, str(good.directory))
    return Examined(commit, answer_of_standings(found.standings), differences_text(found))


def answer_of_standings(standings: Collection[Standing]) -> Answer:
    """Return whether a commit is good or bad, from how its cells compare with those of the good
    commit.
    """
    if {Standing.BETTER, Standing.WORSE} & set(standings):
        return Answer.BAD
    is_same = set(standings) <= {Standing.UNCHANGED, Standing.WITHIN}
    return Answer.GOOD if is_same else Answer.SKIP


def differences_text(found: BaselineComparison) -> str:
    """Return as text, for each metric, how many cells differ from those of the good commit, with a
    line for each cell that does.
    """
    lines = []
    for by_metric in found.metrics:
        lines.append(counts_text(by_metric, found.relevant))
        for cell in by_metric.cells:
            if cell.standing not in (Standing.UNCHANGED, Standing.WITHIN):
                words = standing_text(cell, by_metric)
                lines.append(": ".join(filter(None, (cell_text(cell.factors, ", "), words))))
    return _plain("\n".join(lines))


def _no_answer_text(data: RunData) -> str:
    """Return the reason why the runs of a commit do not show whether it is good or bad; "" if they
    do.
    """
    runs = data.results.runs
    if len(data.results.failed) < len(runs):
        return ""
    return f"all {len(runs)} runs failed, the first: {runs[0].reason}" if runs else "nothing ran"


def answer_of(kept: Sequence[Kept]) -> Answer:
    """Return whether a commit is good or bad, from the results of all expectations."""
    if Kept.BROKEN in kept:
        return Answer.BAD
    return Answer.SKIP if Kept.UNDECIDED in kept else Answer.GOOD


def answers_text(results: Sequence[ExpectationResult]) -> str:
    """Return as text what a commit's runs say about each expectation of the bisection: a line for
    each, with values and intervals.
    """
    lines = (f"{each.text}: {WORDS[each.kept]}: {found_text(each)}" for each in results)
    return _plain("\n".join(lines))


def _plain(text: str) -> str:
    # The text may be quoted in an error, where narrow spaces between digits are escaped.
    return text.replace("\u202f", " ")
