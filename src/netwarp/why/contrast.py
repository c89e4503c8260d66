"""Finds the limits that make two cells differ: the cells come closer together when such a limit is
removed in both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from netwarp.backends.base import Backend
from netwarp.estimate.comparison import Comparison, Sample, compare, holm
from netwarp.why.answer import Answer, BaseRun, draws_itself, explain, paired, repeated
from netwarp.why.lifts import Lift


@dataclass(frozen=True)
class Contrast:
    """The comparison of two cells after the same limit has been removed in both."""

    lift: Lift
    ratio: float
    """Geometric mean of the ratios of the second cell's values to the first one's, without the
    limit.
    """
    comparison: Comparison
    """Comparison of the cells' ratio without the limit with their ratio with all limits, in pairs
    of runs.
    """


@dataclass(frozen=True)
class Contrasts:
    """The limits that make two cells differ, and how much each contributes."""

    one: Answer
    other: Answer
    ratio: float
    comparison: Comparison
    """The second cell compared with the first one, with all limits."""
    found: tuple[Contrast, ...]
    """Limits, beginning with the one without which the cells come closest together."""
    failed: Mapping[str, str]
    """Limits without which a run failed in one of the cells, and which therefore explain nothing:
    the reasons, by the limit's name."""

    def makes(self, each: Contrast) -> bool:
        """Return whether the confidence interval shows that a limit causes the difference or a part
        of it: the cells differ, and come closer together without it.
        """
        if not (self.comparison.verdict.decided and each.comparison.verdict.decided):
            return False
        return abs_log(each.ratio) < abs_log(self.ratio)


def abs_log(ratio: float) -> float:
    """Return a ratio or its inverse, whichever is larger, as a measure of how far the ratio is from
    1.
    """
    return max(ratio, 1 / ratio)


def contrast(
    one: Sequence[BaseRun],
    other: Sequence[BaseRun],
    metric: str,
    relevant: float,
    backend: Backend,
    on_done: Callable[[int], None] = lambda _: None,
) -> Contrasts:
    """Determine which limits make two cells differ: each is removed in both cells, or in the only
    one that has it.
    """
    pairs = min(len(one), len(other))
    one, other = one[:pairs], other[:pairs]
    answers = [explain(runs, metric, relevant, backend, on_done) for runs in (one, other)]
    by_lift = [{each.lifts[0].name: each for each in answer.alone} for answer in answers]
    runs = [
        BaseRun(a.job, a.records, _joined_sample(a, b)) for a, b in zip(one, other, strict=True)
    ]
    was = [_ratio(a.sample.value, b.sample.value) for a, b in zip(one, other, strict=True)]
    failed = {**answers[1].failed, **answers[0].failed}
    names = dict.fromkeys(name for of in by_lift for name in of if name not in failed)
    made: list[tuple[Lift, list[float | None]]] = []
    for name in names:
        values = [
            repeated(its[name].values, runs_of)
            if name in its
            else tuple(run.sample.value for run in runs_of)
            for its, runs_of in zip(by_lift, (one, other), strict=True)
        ]
        lift = next(its[name].lifts[0] for its in by_lift if name in its)
        made.append((lift, [_ratio(a, b) for a, b in zip(*values, strict=True)]))

    def compared(
        before: Sequence[float | None], after: Sequence[float | None], *lifts: Lift
    ) -> Comparison:
        draws = draws_itself(one, lifts) or draws_itself(other, lifts)
        return compare(
            paired(runs, before, draws=draws), paired(runs, after, draws=draws), relevant
        )

    whole = compared([1.0] * pairs, was)
    family = holm([compared(was, ratios, lift) for lift, ratios in made])
    ratio = whole.effect or 1.0
    found = [
        Contrast(lift, ratio * (one_of.effect or 1.0), one_of)
        for (lift, _), one_of in zip(made, family, strict=True)
    ]
    made_up = Contrasts(answers[0], answers[1], ratio, whole, (), failed)
    ordered = sorted(found, key=lambda each: (not made_up.makes(each), abs_log(each.ratio)))
    return Contrasts(answers[0], answers[1], ratio, holm([whole])[0], tuple(ordered), failed)


def _joined_sample(one: BaseRun, other: BaseRun) -> Sample:
    random = one.sample.random or other.sample.random
    return Sample(one.sample.value, one.sample.seed, False, random)


def _ratio(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None or one <= 0 else other / one
