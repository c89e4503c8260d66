"""Finds the limits that make two cells differ: lifted in both, they bring the cells together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from netwarp.backends.base import Backend
from netwarp.estimate.comparison import Comparison, Sample, compare, holm
from netwarp.why.answer import Answer, BaseRun, draws_itself, explain, paired, repeated
from netwarp.why.lifts import Lift


@dataclass(frozen=True)
class Contrast:
    """One limit lifted in both cells."""

    lift: Lift
    ratio: float
    """Geometric mean of the second cell's values to the first one's, with the limit lifted."""
    comparison: Comparison
    """The ratio with the limit lifted against the ratio as it was, pair by pair."""


@dataclass(frozen=True)
class Contrasts:
    """What was found out about the difference of two cells."""

    one: Answer
    other: Answer
    ratio: float
    comparison: Comparison
    """The second cell against the first as they were."""
    found: tuple[Contrast, ...]
    """Limits by how much their lifting brings the cells together, the most first."""
    failed: Mapping[str, str]
    """Lifts of which a run failed in one of the cells, with the reason: they explain nothing."""

    def makes(self, each: Contrast) -> bool:
        """Return whether the interval shows that a limit makes the difference, or a part of it: the
        cells differ, and lifting it brings them together.
        """
        if not (self.comparison.verdict.decided and each.comparison.verdict.decided):
            return False
        return abs_log(each.ratio) < abs_log(self.ratio)


def abs_log(ratio: float) -> float:
    """Return how far a ratio is from 1, by which a ratio and its inverse are the same."""
    return max(ratio, 1 / ratio)


def contrast(
    one: Sequence[BaseRun],
    other: Sequence[BaseRun],
    metric: str,
    relevant: float,
    backend: Backend,
    on_done: Callable[[int], None] = lambda _: None,
) -> Contrasts:
    """Lift each limit in both cells; a limit that only one of them has is lifted there alone."""
    pairs = min(len(one), len(other))
    one, other = one[:pairs], other[:pairs]
    answers = [explain(runs, metric, relevant, backend, on_done) for runs in (one, other)]
    by_lift = [{each.lifts[0].name: each for each in answer.alone} for answer in answers]
    runs = [BaseRun(a.job, a.records, _either(a, b)) for a, b in zip(one, other, strict=True)]
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


def _either(one: BaseRun, other: BaseRun) -> Sample:
    random = one.sample.random or other.sample.random
    return Sample(one.sample.value, one.sample.seed, False, random)


def _ratio(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None or one <= 0 else other / one
