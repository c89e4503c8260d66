"""Metrics of runs with several workloads: those of each workload, including metrics that a study
defines on the output of programs, and those of how they share the path.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache

from netwarp.measure.metric import SHORTER, Metric, unmeasured
from netwarp.measure.run_records import Arrival, ContentReader, RunRecords
from netwarp.measure.select import of_kind, sender
from netwarp.measure.sharing import Arrived, convergence_ns, jain_index, shares
from netwarp.metrics.groups import GROUP_METRICS, metrics_of_group
from netwarp.metrics.limits import LIMIT_METRICS
from netwarp.metrics.links import metrics_of_links
from netwarp.metrics.path import PATH_METRICS, PATH_MIN_RTT_S
from netwarp.metrics.queueing import QUEUEING_METRICS
from netwarp.metrics.second_half import SECOND_HALF_METRICS, mean_delivery_rate_bit_s
from netwarp.metrics.slowdown import SLOWDOWN_INDEX, slowdown_index
from netwarp.metrics.stacks import CPU_METRICS, STACK_METRICS
from netwarp.metrics.times import COMPLETION_TIME_S, GAVE_UP, TIME_METRICS
from netwarp.units import NS_PER_S
from netwarp.wire import ConnectionSamples, GaveUp, Goodput, Job, OfWorkload, Record
from netwarp.workloads import WORKLOADS, workload_of

JAIN_INDEX = Metric(
    "jain_index", "index", "higher", "Jain's index",
    "(Σx)² ÷ (n · Σx²) of the content of each workload that arrived while all were there: 1 where"
    " all have the same, 1/n where one has everything (Jain, Chiu, Hawe 1984). Of workloads whose"
    " content goes the same way as the first one's; requests and responses have none.",
    "of_workload", unmeasured, head="Jain's index", in_report=True,
    beside=("*.share_ratio", "convergence_time_s"),
)  # fmt: skip
CONVERGENCE_TIME_S = Metric(
    "convergence_time_s", "s", "lower", "Convergence time",
    "Time from the start of the last workload until the first second (ten round-trip times where"
    " those are longer) in which each has its fair share within a tenth of it, and has it from"
    " there to the end as well: delta-fair convergence (RFC 5166, section 2.3). Missing where there"
    " is none.", "of_workload",
    unmeasured, SHORTER, in_report=True,
)  # fmt: skip
SHARE_RATIO = Metric(
    "share_ratio", "ratio", "neither", "Share of the goodput",
    "Share of the content that arrived while all workloads were there.", "of_workload", unmeasured,
    head="share", in_report=True,
)  # fmt: skip
SHARE_RATIO_SECOND_HALF = Metric(
    "share_ratio_second_half", "ratio", "neither", "Share of the goodput, second half",
    "Share of the content that arrived in the second half of the time in which all workloads were"
    " there.", "of_workload", unmeasured, head="share, 2nd half",
)  # fmt: skip
DELIVERY_RATE_SHARE_RATIO_LAST_MINUTE = Metric(
    "delivery_rate_share_ratio_last_minute", "ratio", "neither",
    "Share of the delivery rate, last minute",
    "Share of a workload in the sum of all workloads' mean delivery rates, as TCP estimates them"
    " (`delivery_rate_bit_s_second_half` says how), in the last 60 s in which all were there."
    " Missing if they were together for less, or if the stack of one does not report it.",
    "connection_samples", unmeasured, head="share of delivery rate, last minute",
)  # fmt: skip
LAST_MINUTE_NS = 60 * NS_PER_S
"""Length in ns of the time that the share of the delivery rate is of."""
HARM_RATIO = Metric(
    "harm_ratio", "ratio", "lower", "Harm",
    "How much worse a workload did than in the run of the same replicate in which it was alone (the"
    " factor `workloads`), by its goodput, or by the 95 % latency of its requests:"
    " (solo - together) ÷ solo of the goodput, (together - solo) ÷ together of the latency (Ware et"
    " al., HotNets 2019).", "of_workload", unmeasured, in_report=True,
)  # fmt: skip
CONFORMANCE_RATIO = Metric(
    "conformance_ratio", "ratio", "higher", "Conformance",
    "How far the performance envelope of a workload coincides with that of the transport that the"
    " study compares against, in the same place beside the same other workloads, in its next"
    " replicate: the share of both flows' points that lie in the other's convex hull. A point is"
    " the content's rate in Mbit/s and the mean queueing delay in ms of ten round-trip times; the"
    " last twentieth of the time, and the twentieth of the points that is furthest from their mean,"
    " are left out (Mishra, Lim, Leong, IMC 2022, as their program QUICbench does it, which counts"
    " packets where this counts content).", "of_workload", unmeasured, in_report=True,
)  # fmt: skip
OF_ONE = (
    SHARE_RATIO, SHARE_RATIO_SECOND_HALF, DELIVERY_RATE_SHARE_RATIO_LAST_MINUTE, HARM_RATIO,
    CONFORMANCE_RATIO,
)  # fmt: skip
"""Metrics of each workload that describe how it shares the path."""
SHARING_METRICS = (JAIN_INDEX, CONVERGENCE_TIME_S, *OF_ONE)
OF_ALL = (*PATH_METRICS, *QUEUEING_METRICS)
"""Metrics that are measured on the path, for all workloads together."""
_OWN = (*TIME_METRICS, *STACK_METRICS, *LIMIT_METRICS, *SECOND_HALF_METRICS, *CPU_METRICS)
"""Metrics that each workload has, of whatever kind it is."""
_BETWEEN_ITS_HOSTS = (PATH_MIN_RTT_S, SLOWDOWN_INDEX)
"""Metrics that each workload has in a network of several hosts."""


def own_metrics(job: Job, *, between_hosts: bool) -> tuple[Metric, ...]:
    """Return the metrics that one of several workloads has.

    Args:
        job: the job of this workload alone.
        between_hosts: whether the run has a network of several hosts.
    """
    between = _BETWEEN_ITS_HOSTS if between_hosts else ()
    workload = workload_of(job)
    return (*workload.own_metrics(job), *_OWN, *between, *workload.metrics)


def metrics_of_workloads(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names of all metrics that workloads with these names can have."""
    kinds = (metric for workload in WORKLOADS.values() for metric in workload.metrics)
    metrics = [*_OWN, *_BETWEEN_ITS_HOSTS, *kinds, *OF_ONE, *GROUP_METRICS, JAIN_INDEX]
    return tuple(f"{name}.{metric.name}" for name in names for metric in metrics)


def printed_by_workloads(jobs: Iterable[Job]) -> tuple[str, ...]:
    """Return the names of the metrics that a study defines on the output of its workloads'
    programs.

    Args:
        jobs: the jobs of the study's cells.
    """
    alone = (each for job in jobs for each in job.each_alone)
    names = (
        f"{each.only.name}.{metric.name}"
        for each in alone
        for metric in workload_of(each).own_metrics(each)
    )
    return tuple(dict.fromkeys(names))


def of_workload(metric: Metric, workload: str) -> Metric:
    """Return a copy of a metric for one of several workloads, with the workload's name in it."""
    over = metric.over
    return replace(
        metric,
        name=f"{workload}.{metric.name}",
        title=f"{metric.title}, {workload}",
        description=f"Of the workload {workload}. {metric.description}",
        head=f"{metric.head or metric.title.lower()}, {workload}",
        beside=None
        if metric.beside is None
        else tuple(f"{workload}.{each}" for each in metric.beside),
        over=None if over is None else lambda value: over(lambda own: value(f"{workload}.{own}")),
    )


@dataclass(frozen=True)
class WorkloadView:
    """The job and the records of one of a run's workloads, as if it had run alone."""

    name: str
    job: Job
    records: Sequence[Record]
    """Records of the workload and of its connections and the path."""
    of_run: Job
    """The run's job, with all its workloads and links."""

    @property
    def is_in_network(self) -> bool:
        """Whether the run has more hosts than its client and its server."""
        return self.of_run.network is not None

    @property
    def known_as(self) -> str:
        """The name under which the workload is evaluated. Workloads to which the study gives one
        name have the same.
        """
        return self.job.only.group or self.name

    @property
    def run(self) -> RunRecords:
        """The workload's records, in the form that metrics read."""
        return RunRecords(self.job, self.records, workload_of(self.job), self.of_run)

    @property
    def gave_up_ns(self) -> int | None:
        """Time at which the workload's transport gave up, in ns of the run's clock; None if it did
        not.
        """
        return next((each.at_ns for each in of_kind(self.records, GaveUp)), None)

    @property
    def span_ns(self) -> tuple[int, int]:
        """Start and end of the workload, in ns of the run's clock: first connect and completion, or
        the order to begin and the time at which its transport gave up.
        """
        if self.gave_up_ns is not None:
            return self.job.only.start_ns, self.gave_up_ns
        return self.run.whole_span_ns


def workload_views(job: Job, records: Sequence[Record]) -> list[WorkloadView]:
    """Return a run's records divided by workload; empty if there is a single workload without a
    name.
    """
    if not job.names_workloads:
        return []
    return [
        WorkloadView(each.only.name or "", each, _own_records(each, records), job)
        for each in job.each_alone
    ]


def _own_records(job: Job, records: Sequence[Record]) -> list[Record]:
    """Return those of a run's records that one workload needs: its own, the samples of its sender's
    connections, and those of the path.
    """
    side = sender(job)
    own: list[Record] = []
    for each in records:
        if isinstance(each, OfWorkload):
            own += [each.line] if each.workload == job.only.name else []
        elif not isinstance(each, ConnectionSamples) or (
            each.side == side and job.only.port == each.server_port
        ):
            own.append(each)
    return own


@dataclass(frozen=True)
class _AllWorkloads(ContentReader):
    """Reads when the workloads of a run, all together, started and ended: from the start of the
    first one to the end of the last one.
    """

    views: Sequence[WorkloadView]

    def start_ns(self, records: Sequence[Record]) -> int:
        """Return when the first client started, in ns of the run's clock."""
        return min(each.span_ns[0] for each in self.views)

    def arrivals(self, job: Job, records: Sequence[Record]) -> Sequence[Arrival]:
        """Return an empty list: arrivals belong to a single workload."""
        return ()

    def end_ns(self, job: Job, records: Sequence[Record]) -> int:
        """Return when the last workload ended, in ns of the run's clock."""
        return max(each.span_ns[1] for each in self.views)


def competing_metrics(job: Job, records: Sequence[Record]) -> dict[str, float | None]:
    """Return the metrics of a run whose workloads have names.

    Returns:
        Values by name, None for those that the records do not determine.
    """
    views = workload_views(job, records)
    gave_up = [view for view in views if view.gave_up_ns is not None]
    # If a workload was not completed, the shares are unknown.
    measured: dict[str, float | None] = {} if gave_up else dict(_sharing(job, views))
    for view in gave_up:
        key, at_s = f"{view.known_as}.{GAVE_UP.name}", GAVE_UP.measure(view.run)
        measured[key] = min(filter(None, (measured.get(key), at_s)), default=None)
    groups: dict[str, list[dict[str, float | None]]] = {}
    for view in (each for each in views if each.gave_up_ns is None):
        groups.setdefault(view.known_as, []).append(_of_one(view) | _slowdown(job, view))
    for name, members in groups.items():
        own = metrics_of_group(_by_name(), members) if len(members) > 1 else members[0]
        measured |= {f"{name}.{metric}": value for metric, value in own.items()}
    whole = RunRecords(job, records, _AllWorkloads(views))
    kinds = {each.record for each in records}
    for metric in OF_ALL:
        if kinds.intersection(metric.source.split(", ")):
            measured[metric.name] = metric.measure(whole)
    return measured | metrics_of_links(job, records, whole.whole_span_ns)


def _of_one(view: WorkloadView) -> dict[str, float | None]:
    """Return the metrics of one workload that do not depend on the others."""
    kinds, run = {each.record for each in view.records}, view.run
    return {
        metric.name: metric.measure(run)
        for metric in own_metrics(view.job, between_hosts=view.is_in_network)
        if kinds.intersection(metric.source.split(", "))
    }


def _slowdown(job: Job, view: WorkloadView) -> dict[str, float | None]:
    """Return the slowdown of a workload that completes content between two of several hosts."""
    completion_s = COMPLETION_TIME_S.measure(view.run) if view.is_in_network else None
    if completion_s is None:
        return {}
    bits = view.run.content_bits
    return {SLOWDOWN_INDEX.name: slowdown_index(job, view.job.only, completion_s, bits)}


@cache
def _by_name() -> dict[str, Metric]:
    kinds = (metric for workload in WORKLOADS.values() for metric in workload.metrics)
    return {metric.name: metric for metric in (*_OWN, *_BETWEEN_ITS_HOSTS, *kinds)}


def _sharing(job: Job, views: Sequence[WorkloadView]) -> Iterable[tuple[str, float | None]]:
    """Yield fairness, convergence time and shares of the workloads that transfer content."""
    sharing = [
        (view, Arrived.of(goodput))
        for view in views
        if view.job.direction == job.direction
        for goodput in view.run.of_kind(Goodput)
    ]
    spans = [view.span_ns for view, _ in sharing]
    if len(sharing) < 2:
        return
    span_ns = max(since for since, _ in spans), min(until for _, until in spans)
    if span_ns[1] <= span_ns[0]:
        return  # the workloads do not overlap in time
    arrived = [each for _, each in sharing]
    rtt_ns = max(view.job.paths[0].idle_rtt_ns for view in views)
    converged_ns = convergence_ns(arrived, span_ns, rtt_ns)
    came = [each.between(*span_ns) for each in arrived]
    yield JAIN_INDEX.name, jain_index(came)
    yield CONVERGENCE_TIME_S.name, None if converged_ns is None else converged_ns / NS_PER_S
    half_ns = (sum(span_ns) // 2, span_ns[1])
    for metric, counted_ns in ((SHARE_RATIO, span_ns), (SHARE_RATIO_SECOND_HALF, half_ns)):
        for name, share in _by_name_in_study(sharing, shares(arrived, *counted_ns) or ()).items():
            yield f"{name}.{metric.name}", sum(share)
    if span_ns[1] - span_ns[0] >= LAST_MINUTE_NS:
        yield from _delivery_rate_shares(sharing, span_ns[1])
    for name, bytes_ in _by_name_in_study(sharing, came).items():
        if len(bytes_) > 1:
            yield f"{name}.{JAIN_INDEX.name}", jain_index(bytes_)


def _delivery_rate_shares(
    sharing: Sequence[tuple[WorkloadView, Arrived]], until_ns: int
) -> Iterable[tuple[str, float]]:
    """Yield each workload's share of the delivery rate in the minute before a time, if the stacks
    of all report theirs.
    """
    since_ns = until_ns - LAST_MINUTE_NS
    rates = [mean_delivery_rate_bit_s(view.run, since_ns, until_ns) for view, _ in sharing]
    reported = [rate for rate in rates if rate is not None]
    if len(reported) < len(sharing):
        return
    in_all_bit_s = sum(reported)
    for name, of_name in _by_name_in_study(sharing, reported).items():
        metric = f"{name}.{DELIVERY_RATE_SHARE_RATIO_LAST_MINUTE.name}"
        yield metric, sum(of_name) / in_all_bit_s


def _by_name_in_study(
    sharing: Sequence[tuple[WorkloadView, Arrived]], values: Iterable[float]
) -> dict[str, list[float]]:
    """Return the values of several workloads, grouped by the names that the study gives the
    workloads.
    """
    found: dict[str, list[float]] = {}
    for (view, _), value in zip(sharing, values, strict=False):
        found.setdefault(view.known_as, []).append(value)
    return found
