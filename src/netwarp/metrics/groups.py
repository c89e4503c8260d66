"""Metrics of groups of workloads: a study gives them one name, and there is one for each of several
hosts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import mean

from netwarp.measure.metric import SHORTER, Metric, unmeasured
from netwarp.measure.ranks import nearest_rank
from netwarp.metrics.slowdown import SLOWDOWN_INDEX
from netwarp.metrics.times import TIME_METRICS

COMPLETION = next(each for each in TIME_METRICS if each.name == "completion_time_s")
_SHARES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "max": 1.0}


def _quantile_words(name: str) -> str:
    words = {"p50": "the median", "max": "the largest"}
    return words.get(name, f"the {name.removeprefix('p')}th percentile")


_COMPLETION_METRICS = tuple(
    Metric(
        f"{COMPLETION.name}_{name}", "s", "lower", f"Completion time, {name}",
        "Completion times of the workloads that a study names together, one for each of several"
        f" hosts: {_quantile_words(name)} of them in a run.",
        "of_workload", unmeasured, SHORTER, head=f"completion {name}", in_report=True,
    )
    for name in _SHARES
)  # fmt: skip
_SLOWDOWN_METRICS = tuple(
    replace(
        SLOWDOWN_INDEX,
        name=f"{SLOWDOWN_INDEX.name}_{name}",
        title=f"{SLOWDOWN_INDEX.title}, {name}",
        description="Slowdowns of the workloads that a study names together, one for each of"
        f" several hosts: {_quantile_words(name)} of them in a run. {SLOWDOWN_INDEX.description}",
        source="of_workload",
        head=f"slowdown {name}",
    )
    for name in _SHARES
)
_QUANTILES = {COMPLETION.name: _COMPLETION_METRICS, SLOWDOWN_INDEX.name: _SLOWDOWN_METRICS}
GROUP_METRICS = (*_COMPLETION_METRICS, *_SLOWDOWN_METRICS)
"""Flow completion times and slowdowns of a group of workloads."""


def metrics_of_group(
    metrics: Mapping[str, Metric], members: Sequence[Mapping[str, float | None]]
) -> dict[str, float | None]:
    """Return the metrics of a group of workloads: the sum of counts, and the mean of other metrics.

    Args:
        metrics: the metrics by name.
        members: the metrics of each workload of the group, by name.

    Returns:
        Values by name, None for those that the records of a member do not determine.
    """
    names = dict.fromkeys(name for each in members for name in each)
    found = {
        name: _sum_or_mean(metrics[name], [each.get(name) for each in members]) for name in names
    }
    for name, quantiles in _QUANTILES.items():
        values = [each.get(name) for each in members]
        known = [value for value in values if value is not None]
        if len(known) == len(members):
            for metric, share in zip(quantiles, _SHARES.values(), strict=True):
                found[metric.name] = nearest_rank(share, known)
    return found


def _sum_or_mean(metric: Metric, values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return None
    return sum(known) if metric.is_whole or metric.name == "share_ratio" else mean(known)
