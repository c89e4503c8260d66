"""The registry of all metrics by name; each is defined next to the function that computes it."""

from netwarp.measure.metric import Metric
from netwarp.measure.printed import printed_metric
from netwarp.metrics.attribution import ATTRIBUTION_METRICS
from netwarp.metrics.competing import SHARING_METRICS, of_workload
from netwarp.metrics.groups import GROUP_METRICS
from netwarp.metrics.handovers import HANDOVER_METRICS
from netwarp.metrics.limits import LIMIT_METRICS
from netwarp.metrics.links import LINK_METRICS, link_metric_named
from netwarp.metrics.loss_response import LOSS_RESPONSE_METRICS
from netwarp.metrics.path import PATH_METRICS
from netwarp.metrics.queueing import QUEUEING_METRICS
from netwarp.metrics.second_half import SECOND_HALF_METRICS
from netwarp.metrics.slowdown import SLOWDOWN_INDEX
from netwarp.metrics.stacks import CPU_METRICS, STACK_METRICS
from netwarp.metrics.times import TIME_METRICS
from netwarp.metrics.without_harm import MetricRegistry
from netwarp.plugins import Registry
from netwarp.workloads import WORKLOADS

METRICS: Registry[Metric] = MetricRegistry(
    "metrics",
    {
        metric.name: metric
        for metric in (
            *TIME_METRICS,
            *HANDOVER_METRICS,
            *(metric for workload in WORKLOADS.own.values() for metric in workload.metrics),
            *PATH_METRICS,
            *QUEUEING_METRICS,
            *LOSS_RESPONSE_METRICS,
            *STACK_METRICS,
            *LIMIT_METRICS,
            *ATTRIBUTION_METRICS,
            *SECOND_HALF_METRICS,
            *CPU_METRICS,
            *SHARING_METRICS,
            SLOWDOWN_INDEX,
            *GROUP_METRICS,
            *LINK_METRICS,
        )
    },
    lambda added: isinstance(added, Metric),
)
"""All metrics by name, including those that packages add. Times and the stacks' counters are those
of the run's last transfer; the path's counters are those of the whole run. A metric that the
records do not determine is missing, never 0.
"""


def metric_named(name: str) -> Metric:
    """Return the metric with a name: one of `METRICS`, a metric of one of several workloads
    (`NAME.goodput_bit_s`) or of a link (`link.NAME.packets_down`), or a metric that a study defines
    on the output of programs.

    Raises:
        KeyError: there is no such metric, and the name does not end in a unit.
    """
    of_network = link_metric_named(name)
    if of_network is not None:
        return of_network
    workload, own = workload_and_metric(name)
    of_one = METRICS.get(own) or printed_metric(own)
    if workload and of_one is not None:
        return of_workload(of_one, workload)
    found = METRICS.get(name) or printed_metric(name)
    if found is None:
        raise KeyError(name)
    return found


def workload_and_metric(name: str) -> tuple[str, str]:
    """Split the name of a metric into its workload's name and the name of the metric itself. The
    former is empty for a metric of a whole run or of a link.
    """
    if link_metric_named(name) is not None:
        return "", name
    workload, _, own = name.rpartition(".")
    return workload, own


MAIN_METRICS = tuple(
    metric.name
    for metric in METRICS.own.values()
    if metric.beside is not None and metric not in QUEUEING_METRICS
)
"""Metrics of which the first that the runs have is the main one, if a study names none."""
