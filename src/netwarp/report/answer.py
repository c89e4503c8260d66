"""The answer at the top of the report, for each main metric: sentences, and the grid of verdicts by
condition.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netwarp.estimate.comparison import Comparison
from netwarp.metrics import metric_named
from netwarp.results.comparisons import Comparisons, ContenderResult
from netwarp.results.undecided import undecided_text
from netwarp.verdict_wording import effect_text, favourable, outcome_text, verdict_text
from netwarp.wording import condition_text, contender_text, quantity

if TYPE_CHECKING:
    from netwarp.evaluation import RunData


@dataclass(frozen=True)
class Answer:
    """The answer to the study's question for one metric: its sentences and its grid of verdicts."""

    metric: str
    """Title of the metric that the answer is about."""
    sentences: list[str]
    grid: VerdictGrid | None
    open: str | None
    """Text on how many replicates would decide the comparisons that are undecided; None if all are
    decided."""


def answers(data: RunData) -> list[Answer]:
    """Return the answer to the study's question for each main metric, if there is one."""
    return [
        Answer(
            metric_named(compared.metric).title,
            sentences,
            verdict_grid(compared.with_values),
            undecided_text(compared, data.results),
        )
        for compared in data.answers
        if (sentences := answer_sentences(compared.with_values))
    ]


def answer_sentences(compared: Comparisons) -> list[str]:
    """Return sentences that answer the question, one for each contender."""
    first = contender_text(compared.factor, compared.first)
    sentences = []
    for label, results in _by_contender(compared).items():
        by_outcome: dict[str, list[Comparison]] = {}
        for contender in results:
            if contender.comparison is not None:
                outcome = outcome_text(contender.comparison, compared.metric)
                by_outcome.setdefault(outcome, []).append(contender.comparison)
        groups = sorted(by_outcome.items(), key=lambda group: not group[1][0].verdict.decided)
        parts = [
            f"{outcome} {_where(len(found), len(results))}{_span(found, compared)}"
            for outcome, found in groups
        ]
        name = contender_text(compared.factor, label)
        sentences.append(f"{name} against {first}: {', '.join(part.strip() for part in parts)}.")
    return sentences


@dataclass(frozen=True)
class GridCell:
    """One contender's verdict under one condition."""

    head: str
    """Heading of the cell's column; a narrow screen shows it beside the verdict."""
    mark: str
    """CSS class that colours the cell: better, worse, other or even."""
    short: str
    full: str


@dataclass(frozen=True)
class VerdictGrid:
    """All verdicts, with a row for each contender and a column for each condition. If there are
    many conditions, each is a row and each contender a column.
    """

    metric: str
    first: str
    heads: list[list[str]]
    """Heading of each column, as lines."""
    rows: list[tuple[str, list[GridCell | None]]]
    """Title and cells of each row; None where the grid has no cell."""


MOST_CONDITIONS_ACROSS = 8
"""Maximum number of conditions that are columns; more would be too wide for the page."""


def verdict_grid(compared: Comparisons) -> VerdictGrid | None:
    """Return the verdicts as a grid; None if there is nothing to compare, or only one condition."""
    levels: dict[str, set[str]] = {}
    for group in compared.groups:
        for factor, level in group.condition.items():
            levels.setdefault(factor, set()).add(level)
    verdicts = {
        (contender_text(compared.factor, contender.label), condition_text(varied)): contender
        for group in compared.groups
        if (varied := {f: level for f, level in group.condition.items() if len(levels[f]) > 1})
        for contender in group.contenders
        if contender.comparison is not None
    }
    if not verdicts or len(compared.groups) < 2:
        return None
    down, across = (list(dict.fromkeys(names)) for names in zip(*verdicts, strict=True))
    if len(across) > MOST_CONDITIONS_ACROSS:
        down, across = across, down
        verdicts = {(condition, name): found for (name, condition), found in verdicts.items()}
    return VerdictGrid(
        quantity(compared.metric, 1).title,
        contender_text(compared.factor, compared.first),
        [head.split(", ") for head in across],
        [
            (name, [_grid_cell(verdicts.get((name, head)), head, compared) for head in across])
            for name in down
        ],
    )


SLIGHT, STRONG = 1.1, 2.0
"""Ratios of a difference: below the first its colour is faint, from the second on it is full."""


def mark_class(contender: ContenderResult, compared: Comparisons) -> str:
    """Return the CSS classes of a verdict: better, worse or, if neither is, another; and the size
    of the difference.
    """
    comparison = contender.comparison
    if comparison is None or not comparison.verdict.decided:
        return "even"
    side = {True: "better", False: "worse", None: "other"}[favourable(comparison, compared.metric)]
    if comparison.scale == "difference" or not comparison.effect:
        return side
    ratio = max(comparison.effect, 1 / comparison.effect)
    size = " slight" if ratio < SLIGHT else " strong" if ratio >= STRONG else ""
    return side + size


def _grid_cell(
    contender: ContenderResult | None, head: str, compared: Comparisons
) -> GridCell | None:
    if contender is None or contender.comparison is None:
        return None
    full = verdict_text(contender.comparison, compared.metric)
    return GridCell(head, mark_class(contender, compared), _short_text(contender, compared), full)


def _short_text(contender: ContenderResult, compared: Comparisons) -> str:
    """Return a verdict as short text for the grid, such as `1.3× slower` or `≈`."""
    if contender.comparison is None:
        return ""
    if contender.comparison.verdict.decided:
        size = effect_text(contender.comparison, compared.metric)
        return f"{size} {outcome_text(contender.comparison, compared.metric)}"
    return {"equivalent": "≈", "identical": "=", "undecided": "?"}.get(
        contender.comparison.verdict.value, "not tested"
    )


def _by_contender(compared: Comparisons) -> dict[str, list[ContenderResult]]:
    found: dict[str, list[ContenderResult]] = {}
    for group in compared.groups:
        for contender in group.contenders:
            if contender.comparison is not None:
                found.setdefault(contender.label, []).append(contender)
    return found


def _where(count: int, conditions: int) -> str:
    if conditions == 1:
        return ""
    return "in every condition" if count == conditions else f"in {count} of {conditions} conditions"


def _span(found: Sequence[Comparison], compared: Comparisons) -> str:
    """Return as text the smallest and the largest of the decided differences; "" if none is
    decided.
    """
    decided = [c for c in found if c.verdict.decided and c.scale == "ratio"]
    texts = [
        effect_text(c, compared.metric)
        for c in sorted(decided, key=lambda c: abs(math.log(c.effect or 1.0)))
    ]
    if not texts:
        return ""
    return f" ({texts[0]})" if texts[0] == texts[-1] else f" ({texts[0]} to {texts[-1]})"
