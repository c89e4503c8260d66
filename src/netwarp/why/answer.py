"""Measures what a cell's transfers gain if a limit, such as the receive window, is removed
(lifted). Runs with the same seeds are compared in pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from netwarp.backends.base import Backend
from netwarp.errors import ResultError
from netwarp.estimate.comparison import Comparison, Sample, compare, holm
from netwarp.estimate.location import is_constant
from netwarp.execution.outcome import Outcome
from netwarp.measure.run_records import RunRecords
from netwarp.metrics.causes import Cause, attribution
from netwarp.plan.randomness import own_draws
from netwarp.why.experiment import outcomes
from netwarp.why.lifts import Lift, applicable
from netwarp.wire import Job, Record
from netwarp.wording import less_is_better
from netwarp.workloads import workload_of

RunJobs = Callable[[Backend, Sequence[Job], Callable[[], None]], Sequence[Outcome]]
"""A function that runs jobs on a backend, calls a function after each, and returns their
outcomes.
"""

MOST_TOGETHER = 2
"""Maximum number of limits that are removed at the same time: those whose removal gains most."""


@dataclass(frozen=True)
class BaseRun:
    """A run as it was measured, without the removal of any limit."""

    job: Job
    records: Sequence[Record]
    sample: Sample


@dataclass(frozen=True)
class Lifted:
    """Runs with one or several limits removed (lifted), compared with the runs as they were."""

    lifts: tuple[Lift, ...]
    comparison: Comparison
    values: tuple[float | None, ...]
    """The value of the metric in each run; None if it has none."""
    is_less_better: bool = True

    @property
    def gains(self) -> bool:
        """Whether the interval shows that the metric is better by a relevant difference without the
        limit.
        """
        return self.comparison.verdict.decided and self.is_better

    @property
    def is_better(self) -> bool:
        """Whether the metric's estimate is better without the limit, even if the difference is not
        significant.
        """
        effect = self.comparison.effect
        return effect is not None and (effect < 1) == self.is_less_better


@dataclass(frozen=True)
class Answer:
    """Which limits determine how long a cell's transfers take, and how much the removal of each
    gains.
    """

    metric: str
    shares: Mapping[Cause, float] | None
    """Share of the time for each cause, as the mean over the runs; None if the records do not
    determine it."""
    alone: tuple[Lifted, ...]
    """The results of removing each limit by itself: those that gain come first, the largest gain
    first."""
    together: Lifted | None
    """The result of removing the limits that gain most at the same time; None if fewer than two
    gain."""
    failed: Mapping[str, str]
    """Limits without which a run failed: the reasons, by the limit's name."""

    @property
    def first(self) -> Lifted | None:
        """The removed limit that the answer names first; None if no removal gains, or if one that
        may gain more is undecided.

        Of those that gain it is the one that gains most. A limit is named before a substitute,
        unless the latter is shown to gain more; a yardstick is named only if nothing else gains
        (see `Lift`).
        """
        return self._largest if self.before_it is None else None

    @property
    def before_it(self) -> Lifted | None:
        """The limit that may have to be named first although its gain is undecided, because its
        estimated gain is larger than the largest one that is shown; None if there is none.
        """
        shown = self._largest
        if shown is None:
            return None
        size = _size(shown.comparison.effect, shown.is_less_better)
        found = [
            each
            for each in self.alone
            if not each.comparison.verdict.decided
            and not each.lifts[0].is_substitute
            and not each.lifts[0].is_yardstick
            and _size(each.comparison.effect, each.is_less_better) < size
        ]
        return min(
            found, key=lambda one: _size(one.comparison.effect, one.is_less_better), default=None
        )

    @property
    def _largest(self) -> Lifted | None:
        shown = [each for each in self.alone if each.gains]
        return shown[0] if shown else None


def explain(
    runs: Sequence[BaseRun],
    metric: str,
    relevant: float,
    backend: Backend,
    on_done: Callable[[int], None] = lambda _: None,
    *,
    run_jobs: RunJobs | None = None,
    yardsticks: bool = True,
) -> Answer:
    """Remove each limit of a cell's runs by itself, then those that gain most together.

    Args:
        runs: the cell's runs that succeeded, by replicate.
        metric: the metric that is compared.
        relevant: the smallest relevant difference, as a ratio.
        backend: where jobs are run.
        on_done: called with the number of further runs, as a negative number, once it is known, and
            with 1 after each run.
        run_jobs: the function that runs jobs; by default :func:`outcomes`.
        yardsticks: whether to remove yardsticks as well, such as limits of the network (see
            `Lift`).
    """
    run_jobs = run_jobs or outcomes
    fixed = is_one_value(runs)
    shares = mean_shares(runs[:1] if fixed else runs)
    tried = []
    for lift, _ in applicable(runs[0].job, shares):
        if yardsticks or not lift.is_yardstick:
            needed = runs[:1] if fixed and not draws_itself(runs, (lift,)) else runs
            jobs_of = (lift.change(run.job) for run in needed)
            tried.append((lift, [job for job in jobs_of if job is not None]))
    jobs = [runs[0].job, *(job for _, of_lift in tried for job in of_lift)]
    on_done(-len(jobs))
    again, *found = run_jobs(backend, jobs, lambda: on_done(1))
    _check_same(again, runs[0], metric)
    failed: dict[str, str] = {}
    values: list[tuple[tuple[Lift, ...], tuple[float | None, ...]]] = []
    for lift, of_lift in tried:
        its, found = found[: len(of_lift)], found[len(of_lift) :]
        bad = next((each for each in its if each.failed), None)
        if bad is not None:
            failed[lift.name] = bad.status.reason or "no reason is known"
        else:
            values.append(((lift,), tuple(each.metrics.get(metric) for each in its)))
    alone = _ranked(runs, _compared(runs, values, relevant, less_is_better(metric)), relevant)
    together = _together(
        runs,
        metric,
        relevant,
        alone,
        lambda jobs: run_jobs(backend, jobs, lambda: on_done(1)),
        on_done,
    )
    alone = _limit_before_remedy(runs, alone, together, relevant)
    return Answer(metric, shares, tuple(alone), together, failed)


def _check_same(again: Outcome, kept: BaseRun, metric: str) -> None:
    """Check that a kept run gives the same value when it is repeated, so that it can be paired with
    runs without a limit.

    Raises:
        ResultError: the repeated run fails, or gives another value.
    """
    if again.failed:
        raise ResultError(f"why: {kept.job.run} fails when it is repeated: {again.status.reason}")
    if again.metrics.get(metric) != kept.sample.value:
        raise ResultError(
            f"why: {kept.job.run} gives {metric} = {again.metrics.get(metric)} here, and"
            f" {kept.sample.value} in the directory: another version of netwarp or of the kernel"
            " made it, or its programs found other files; run the study again"
        )


def is_one_value(runs: Sequence[BaseRun]) -> bool:
    """Return whether one run represents all replicates, because nothing in them is random."""
    values = [run.sample.value for run in runs if run.sample.value is not None]
    is_random = any(run.sample.random for run in runs)
    return not is_random and len(values) == len(runs) and is_constant(values)


def mean_shares(runs: Sequence[BaseRun]) -> Mapping[Cause, float] | None:
    """Return the share of time of each cause, as the mean over runs; None if the records of a run
    do not determine it.
    """
    found = [
        attribution(RunRecords(each.job, each.records, workload_of(each.job))) for each in runs
    ]
    told = [each.shares for each in found if each is not None]
    if not told or len(told) < len(found):
        return None
    return {cause: sum(each[cause] for each in told) / len(told) for cause in told[0]}


def _compared(
    runs: Sequence[BaseRun],
    values: Sequence[tuple[tuple[Lift, ...], tuple[float | None, ...]]],
    relevant: float,
    is_less_better: bool,
) -> list[Lifted]:
    """Compare the runs without each limit with the runs as they were. The p-values are adjusted for
    the number of comparisons.
    """

    def compared(lifts: tuple[Lift, ...], its: Sequence[float | None]) -> Comparison:
        draws = draws_itself(runs, lifts)
        base = paired(runs, [run.sample.value for run in runs[: len(its)]], draws=draws)
        return compare(base, paired(runs, its, draws=draws), relevant)

    family = holm([compared(lifts, its) for lifts, its in values])
    return [
        Lifted(lifts, one, its, is_less_better)
        for (lifts, its), one in zip(values, family, strict=True)
    ]


def draws_itself(runs: Sequence[BaseRun], lifts: Sequence[Lift] = ()) -> bool:
    """Return whether a stack draws its own random numbers, with or without the limits, so that one
    run does not represent all.
    """
    job = runs[0].job
    return bool(own_draws(job) or own_draws(_lifted(job, lifts)))


def _lifted(job: Job, lifts: Sequence[Lift]) -> Job:
    for lift in lifts:
        job = lift.change(job) or job
    return job


def paired(
    runs: Sequence[BaseRun], values: Sequence[float | None], *, draws: bool
) -> dict[int, Sample]:
    """Return samples for a comparison by replicate, of as many replicates as there are values. A
    single sample in which nothing is random is returned twice, because a second run would be equal.
    """
    found = {
        place: Sample(value, run.sample.seed, False, run.sample.random)
        for place, (run, value) in enumerate(zip(runs[: len(values)], values, strict=True))
    }
    is_exact = len(found) == 1 and not found[0].random and not draws
    return found | {1: found[0]} if is_exact else found


def repeated(values: Sequence[float | None], others: Sequence[object]) -> Sequence[float | None]:
    """Return as many values as `others` has; a single value is repeated, because it represents all
    replicates.
    """
    return [values[0]] * len(others) if len(values) == 1 else values


def _against(runs: Sequence[BaseRun], one: Lifted, other: Lifted, relevant: float) -> Comparison:
    """Compare the runs without one limit with the runs without another one."""
    draws = draws_itself(runs, one.lifts) or draws_itself(runs, other.lifts)
    base = paired(runs, repeated(other.values, one.values), draws=draws)
    its = paired(runs, repeated(one.values, other.values), draws=draws)
    return compare(base, its, relevant)


def _ranked(runs: Sequence[BaseRun], found: Sequence[Lifted], relevant: float) -> list[Lifted]:
    """Sort by gain, the largest first: limits whose removal gains, then the others, and among both
    the yardsticks last. A substitute comes before a limit only if pairs of runs show that it gains
    more. Yardsticks and substitutes are explained in `Lift`.
    """

    def key(each: Lifted) -> tuple[bool, bool, float]:
        size = _size(each.comparison.effect, each.is_less_better)
        return (not each.gains, each.lifts[0].is_yardstick, size)

    def gains_more(one: Lifted, other: Lifted) -> bool:
        against = _against(runs, one, other, relevant)
        return Lifted(one.lifts, against, one.values, one.is_less_better).gains

    by_size = sorted(found, key=key)
    substitutes = [each for each in by_size if each.gains and each.lifts[0].is_substitute]
    ranked: list[Lifted] = []
    for each in by_size:
        if each in substitutes:
            continue
        is_rival = each.gains and not each.lifts[0].is_yardstick
        while substitutes and not (is_rival and not gains_more(substitutes[0], each)):
            ranked.append(substitutes.pop(0))
        ranked.append(each)
    return ranked + substitutes


def _limit_before_remedy(
    runs: Sequence[BaseRun], alone: Sequence[Lifted], together: Lifted | None, relevant: float
) -> list[Lifted]:
    """Move a limit before a substitute (a remedy), if the substitute gains less without the limit
    than the removal of the limit gains: then the substitute gains mostly because it copes with the
    limit.
    """
    ranked = list(alone)
    if together is None or not ranked[0].lifts[0].is_substitute:
        return ranked
    limit = next((each for each in ranked if each.lifts[0] == together.lifts[1]), None)
    if limit is None or limit.lifts[0].is_substitute:
        return ranked
    left = _against(runs, together, limit, relevant)
    own, its = (_size(each.effect, limit.is_less_better) for each in (left, limit.comparison))
    if own <= its:
        return ranked
    ranked.remove(limit)
    return [limit, *ranked]


def _size(effect: float | None, is_less_better: bool) -> float:
    """Return an effect as a ratio that is smaller for a larger gain."""
    return 1.0 if effect is None else effect if is_less_better else 1 / effect


def _together(
    runs: Sequence[BaseRun],
    metric: str,
    relevant: float,
    alone: Sequence[Lifted],
    run_jobs: Callable[[Sequence[Job]], Sequence[Outcome]],
    on_done: Callable[[int], None],
) -> Lifted | None:
    """Return what is gained if the limits whose removals gain most are removed at the same time;
    None if fewer than two removals gain, or if the runs fail.
    """
    best: list[Lift] = []
    needed = 1
    for each in alone:
        (lift,) = each.lifts
        if each.gains and not lift.is_yardstick and all(lift.limit != one.limit for one in best):
            best.append(lift)
            if len(best) <= MOST_TOGETHER:
                needed = max(needed, len(each.values))
    best = best[:MOST_TOGETHER]
    if len(best) < MOST_TOGETHER:
        return None
    jobs = [_lifted(run.job, best) for run in runs[:needed]]
    on_done(-len(jobs))
    found = run_jobs(jobs)
    if any(each.failed for each in found):
        return None
    values = tuple(each.metrics.get(metric) for each in found)
    return _compared(runs, [(tuple(best), values)], relevant, less_is_better(metric))[0]
