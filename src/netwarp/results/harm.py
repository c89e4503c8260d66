"""The harm that workloads do to each other: a workload's performance beside others is compared with
its performance alone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache

from netwarp.measure.sharing import harm
from netwarp.metrics import METRICS, metric_named
from netwarp.metrics.competing import HARM_RATIO
from netwarp.results.results import Results, RunResult
from netwarp.study.cells.competing_builder import WORKLOADS_FACTOR
from netwarp.workloads import WORKLOADS

Key = tuple[str, int, tuple[tuple[str, str], ...]]


def with_harm(results: Results) -> Results:
    """Add the metric of harm for each workload that also runs alone in the study.

    Each run is compared with the run of the same replicate, and so with the same seeds, in which
    the workload is alone and the other levels are the same.
    """
    alone = {
        _key(run, run.factors[WORKLOADS_FACTOR]): run
        for run in results.runs
        if WORKLOADS_FACTOR in run.factors
    }
    if not alone:
        return results
    runs = (
        replace(run, metrics={**run.metrics, **dict(_harms(run, _names(run), alone))})
        for run in results.runs
    )
    return replace(results, runs=tuple(runs))


@cache
def performance_metrics() -> tuple[str, ...]:
    """Return the names of the metrics of a workload's performance. Metrics of the workload's own
    kind come before general ones, because the first one that a run has is used.
    """
    own = {metric.name: metric for each in WORKLOADS.values() for metric in each.metrics}
    return tuple(name for name, each in {**own, **METRICS}.items() if each.is_performance)


def _names(run: RunResult) -> list[str]:
    """Return the names of the workloads for which a run has metrics."""
    return list(dict.fromkeys(name.partition(".")[0] for name in run.metrics if "." in name))


def _key(run: RunResult, workload: str) -> Key:
    others = tuple((k, v) for k, v in run.factors.items() if k != WORKLOADS_FACTOR)
    return workload, run.replicate, others


def _harms(
    run: RunResult, names: Sequence[str], alone: dict[Key, RunResult]
) -> Iterator[tuple[str, float]]:
    """Yield the harm done to each workload that also ran alone, by the name of its metric."""
    for name in names if len(names) > 1 else ():
        solo = alone.get(_key(run, name))
        metric = next(
            (f"{name}.{each}" for each in performance_metrics() if f"{name}.{each}" in run.metrics),
            "",
        )
        before, after = solo.value(metric) if solo else None, run.value(metric)
        if before is None or after is None:
            continue
        more_is_better = metric_named(metric).better == "higher"
        done = harm(before, after, more_is_better=more_is_better)
        if done is not None:
            yield f"{name}.{HARM_RATIO.name}", done
