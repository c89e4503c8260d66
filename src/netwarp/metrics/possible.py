"""Determines from a job, before it runs, which metrics its runs can have."""

from collections.abc import Iterable

from netwarp.measure.metric import Metric
from netwarp.metrics.competing import (
    JAIN_INDEX,
    OF_ALL,
    OF_ONE,
    SHARING_METRICS,
    own_metrics,
)
from netwarp.metrics.groups import GROUP_METRICS
from netwarp.metrics.handovers import HANDOVER_METRICS
from netwarp.metrics.links import LINK_METRICS, names_of_links
from netwarp.metrics.registry import METRICS
from netwarp.metrics.slowdown import SLOWDOWN_INDEX
from netwarp.metrics.times import COMPLETION_TIME_S
from netwarp.wire import Job
from netwarp.workloads import WORKLOADS, workload_of


def possible_metrics(job: Job) -> tuple[str, ...]:
    """Return the names of the metrics that a run of a job can have.

    Left out are those of other workloads, those of content that the workload does not transfer (a
    player has no completion time), and those of handovers, of several workloads, or of connections
    that the run does not have. A metric is not left out because of something that only the run
    shows, such as whether its transport counts retransmissions.
    """
    if not job.names_workloads:
        own = (each.name for each in workload_of(job).own_metrics(job))
        own_to_several = {*SHARING_METRICS, SLOWDOWN_INDEX, *GROUP_METRICS, *LINK_METRICS}
        shared = (each for each in METRICS.values() if each not in own_to_several)
        return (*own, *_possible(job, shared))
    names: dict[str, None] = {}
    for alone in job.each_alone:
        of_one = own_metrics(alone, between_hosts=job.network is not None)
        of_group = (*GROUP_METRICS, JAIN_INDEX) if alone.only.group else ()
        found = _possible(alone, (*of_one, *OF_ONE, *of_group))
        known_as = alone.only.group or alone.only.name
        names |= dict.fromkeys(f"{known_as}.{name}" for name in found)
    of_all = (*SHARING_METRICS, *OF_ALL)
    of_run = (metric.name for metric in of_all if metric not in OF_ONE)
    return (*of_run, *names, *names_of_links([job]))


def _possible(job: Job, metrics: Iterable[Metric]) -> list[str]:
    """Return the names of the metrics that the records of a job with one workload can determine."""
    workload = workload_of(job)
    others = {each for other in WORKLOADS.values() for each in other.metrics} - {*workload.metrics}
    if not job.timeline.has_handovers:
        others |= {*HANDOVER_METRICS}
    if workload.breaks_off(job):
        others |= {COMPLETION_TIME_S}
    contents = {kind for other in WORKLOADS.values() for kind in other.content_records}
    absent = contents - {*workload.content_records}
    if not workload.dials(job):
        absent |= {"connection"}

    def is_measured(metric: Metric) -> bool:
        sources = {*metric.source.split(", ")}
        content = sources & contents
        return not sources <= absent and (not content or bool(content - absent))

    return [each.name for each in metrics if each not in others and is_measured(each)]
