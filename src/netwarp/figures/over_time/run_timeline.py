"""A run as lines, bands and marks over time, from its job and records. Pure.

Times are in s since the run's epoch. Lines are reduced to a chart's resolution without losing
peaks.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from netwarp.figures.lines import MOST_POINTS, Band, Line, Mark, Point, rebinned, thinned
from netwarp.figures.over_time.links import busiest_lines, link_index, link_lines
from netwarp.figures.over_time.paths import (
    attached_stretches,
    outages,
    outages_of_path,
    path_lines,
    rate_lines,
    rtt_ms,
)
from netwarp.figures.over_time.sampled import (
    SampledLine,
    WorkloadGoodput,
    acknowledged_mbit_s,
    sampled_lines,
    sampling_intervals_s,
    workload_goodputs,
)
from netwarp.figures.over_time.sent import Sent, sent_over_time
from netwarp.measure.run_records import RunRecords
from netwarp.metrics.causes import Part, attribution
from netwarp.metrics.competing import workload_views
from netwarp.transports import TRANSPORTS
from netwarp.units import NS_PER_S
from netwarp.wire import Attach, Connection, End, Goodput, Job, Record, TimelineEvent
from netwarp.workloads import Activity, Phase, Tone, workload_of

MOST_GOODPUT_STEPS = 300
"""Maximum number of time bins of goodput, each two pixels wide: narrower ones would show single
bursts rather than the rate."""


@dataclass(frozen=True)
class ItemBands:
    """The phases of one of several concurrent activities, such as loading a resource, as bands."""

    name: str
    bands: list[Band]


@dataclass(frozen=True)
class RunTimeline:
    """The data of a run over time, for a chart; lists are empty for what the run does not have."""

    end_s: float
    rtt_ms: list[Line] = field(default_factory=list)
    """Step lines: the round-trip time, without queueing, of each path on which the client is."""
    rate_mbit_s: list[Line] = field(default_factory=list)
    """Step lines: the sum of the rates of all paths in use, in the content's direction; none while
    one of them is unlimited."""
    is_sampled_alone: bool = True
    """Whether the run recorded nothing over time but samples: no timeline, player or page."""
    goodput_mbit_s: Line | None = None
    """Goodput as a step line."""
    workloads: list[WorkloadGoodput] = field(default_factory=list)
    """Goodput of each of several workloads; empty if there is one."""
    sampled: list[SampledLine] = field(default_factory=list)
    """Sampled values of queues and connections, one line for each."""
    sampling_intervals_s: tuple[float, float] | None = None
    """Shortest and longest time between samples, in s; what happened in between is not shown."""
    unsampled_stacks: tuple[str, ...] = ()
    """Stacks whose connections cannot be sampled, if other connections of the run were."""
    buffer_s: Line | None = None
    """Buffered play time, in s."""
    activity: str = ""
    """What `playback` shows the activity of, such as `The player`."""
    playback: list[Band] = field(default_factory=list)
    """The workload's activity without gaps, as names of qualities and waits."""
    tones: Mapping[str, Tone] = field(default_factory=dict)
    """Tone by label of `playback`; qualities in order from the lowest."""
    causes: tuple[Part, ...] = ()
    """Where the run's time went, in intervals; empty if its records do not determine it."""
    sent: tuple[Sent, ...] = ()
    """What the sender had sent over time, and how much of it was acknowledged; empty if samples do
    not count it."""
    outages: list[Band] = field(default_factory=list)
    """Outages of paths, and times in which the client was on no path."""
    handovers: list[Mark] = field(default_factory=list)
    """Times at which the client was attached to another path."""
    reconnections: list[Mark] = field(default_factory=list)
    """Times at which a connection that replaced another was ready."""
    seeks: list[Mark] = field(default_factory=list)
    """Times of the viewer's seeks."""
    items: list[ItemBands] = field(default_factory=list)
    """Concurrent activities of the workload, each in a row."""
    milestones: list[Mark] = field(default_factory=list)
    """Times of the workload's milestones."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing was recorded over time."""
        nothing_done = not self.playback and not self.items
        nothing_came = self.goodput_mbit_s is None and not self.workloads
        return nothing_came and nothing_done and not self.sampled


def link_timeline(job: Job, records: Sequence[Record], link: str) -> RunTimeline:
    """Return the samples of one link of a run's network, as lines over time.

    Raises:
        InputError: the network has no such link, or nothing of the link was sampled.
    """
    sampled = link_lines(job, records, link)
    end_ns = end_of_chart_ns(job, records)
    events = [each for each in records if isinstance(each, TimelineEvent) and each.at_ns < end_ns]
    return RunTimeline(
        end_ns / NS_PER_S,
        sampled=sampled,
        sampling_intervals_s=sampling_intervals_s(records),
        outages=outages_of_path(events, link_index(job, link), end_ns),
    )


def run_timeline(job: Job, records: Sequence[Record]) -> RunTimeline:
    """Return a run's records as lines, bands and marks over time, for failed runs, too."""
    end_ns = end_of_chart_ns(job, records)
    events = [each for each in records if isinstance(each, TimelineEvent) and each.at_ns < end_ns]
    goodput = next((each for each in records if isinstance(each, Goodput)), None)
    attached = [attached_stretches(job, events, path, end_ns) for path in _shown_paths(job)]
    own_paths = () if job.network else _shown_paths(job)
    sampled = [*busiest_lines(job, records), *sampled_lines(job, records, own_paths)]
    found = RunTimeline(
        end_s=end_ns / NS_PER_S,
        rtt_ms=path_lines(events, attached, lambda path: rtt_ms(job, path)),
        rate_mbit_s=rate_lines(job, events, _shown_paths(job), end_ns),
        goodput_mbit_s=(
            acknowledged_mbit_s(records)
            if goodput is None
            else Line(_goodput_points(goodput, end_ns))
        ),
        sampled=sampled,
        sampling_intervals_s=sampling_intervals_s(records) if sampled else None,
        unsampled_stacks=_stacks(job) if sampled else (),
        workloads=(workloads := workload_goodputs(job, records, end_ns)),
        is_sampled_alone=goodput is None and not workloads,
        outages=outages(events, attached, end_ns),
        handovers=[
            Mark(each.at_ns / NS_PER_S, f"path {each.event.path + 1}")
            for each in events
            if isinstance(each.event.change, Attach)
        ],
        reconnections=_reconnections(records),
    )
    if job.names_workloads:  # several workloads are shown by their goodput
        return replace(found, goodput_mbit_s=None)
    caused = replace(found, causes=_causes(job, records), sent=sent_over_time(job, records))
    return _with_activity(caused, workload_of(job).activity(job, records))


def _causes(job: Job, records: Sequence[Record]) -> tuple[Part, ...]:
    """Return what limited the transfer of a run in each interval of its time, such as the
    congestion window; empty for a failed run.
    """
    if not any(isinstance(each, End) and each.failure is None for each in records):
        return ()
    found = attribution(RunRecords(job, records, workload_of(job)))
    return () if found is None else found.parts


def _stacks(job: Job) -> tuple[str, ...]:
    """Return the stacks of a run whose connections cannot be sampled, because their state is in
    separate processes.
    """
    stacks = (stack for each in job.workloads for stack in each.transport.stacks)
    return tuple(dict.fromkeys(stack.name for stack in stacks))


def end_of_chart_ns(job: Job, records: Sequence[Record]) -> int:
    """Return the end of the chart in ns: the end of the workload, or the time of a failed run's
    last record.
    """
    ends_ns = [
        workload_of(view.job).chart_end_ns(view.records) for view in workload_views(job, records)
    ] or [workload_of(job).chart_end_ns(records)]
    end_ns = max((each for each in ends_ns if each is not None), default=None)
    broken_off_ns = (each.virtual_ns for each in records if isinstance(each, End))
    return max(broken_off_ns, default=1) if end_ns is None else end_ns


def _shown_paths(job: Job) -> range:
    """Return the indices of the paths that the transport can use."""
    several = job.timeline.has_handovers or any(
        TRANSPORTS[each.transport.kind].second_path == "needed" or each.transport.sctp.multihomed
        for each in job.workloads
    )
    return range(len(job.paths) if several else 1)


def _goodput_points(goodput: Goodput, end_ns: int) -> list[Point]:
    sums, width = rebinned(goodput.bytes, MOST_GOODPUT_STEPS)
    step_s = width * goodput.step_ns / NS_PER_S
    points = [(i * step_s, 8 * bytes_ / step_s / 1e6) for i, bytes_ in enumerate(sums)]
    last_s = max(end_ns / NS_PER_S, len(points) * step_s)
    # After the last arrival goodput is 0 up to the end.
    quiet = [(len(points) * step_s, 0.0)] if last_s > len(points) * step_s else []
    return [*points, *quiet, (last_s, 0.0)]


def _reconnections(records: Iterable[Record]) -> list[Mark]:
    """Return the times at which connections that replaced an abandoned one were ready."""
    clients = [each for each in records if isinstance(each, Connection) and each.side == "client"]
    clients.sort(key=lambda connection: connection.start_ns)
    # The connections not abandoned are as many as the initial ones, which are not replacements.
    late = clients[max(1, sum(not each.abandoned for each in clients)) :]
    return [
        Mark(
            each.connected_ns / NS_PER_S,
            f"ready {(each.connected_ns - each.start_ns) / 1e6:.4g} ms after it was dialled",
        )
        for each in late
    ]


def _with_activity(timeline: RunTimeline, activity: Activity) -> RunTimeline:
    points = [(at_ns / NS_PER_S, level_ns / NS_PER_S) for at_ns, level_ns in activity.buffered_ns]
    return replace(
        timeline,
        buffer_s=Line(thinned(points, MOST_POINTS)) if points else None,
        is_sampled_alone=timeline.is_sampled_alone and not (activity.phases or activity.items),
        activity=activity.title,
        playback=_merged(_bands(activity.phases), timeline.end_s),
        tones=activity.tones,
        seeks=[Mark(at_ns / NS_PER_S, label) for at_ns, label in activity.jumps],
        items=[ItemBands(each.name, _bands(each.phases)) for each in activity.items],
        milestones=[Mark(at_ns / NS_PER_S, label) for at_ns, label in activity.milestones],
    )


def _bands(phases: Iterable[Phase]) -> list[Band]:
    return [Band(each.start_ns / NS_PER_S, each.end_ns / NS_PER_S, each.label) for each in phases]


def _merged(bands: Sequence[Band], end_s: float) -> list[Band]:
    """Return bands in which neighbours with the same label are joined; if they are more than the
    chart can show, one band for each pixel.
    """
    if len(bands) > MOST_POINTS:
        step_s = end_s / MOST_POINTS
        moments = ((i * step_s, (i + 1) * step_s) for i in range(MOST_POINTS))
        bands = [
            Band(since_s, until_s, there[-1].label)
            for since_s, until_s in moments
            if (there := [b for b in bands if b.start_s <= (since_s + until_s) / 2 < b.end_s])
        ]
    joined: list[Band] = []
    for band in bands:
        before = joined[-1] if joined else None
        if before and before.label == band.label and band.start_s - before.end_s < 1e-9:
            joined[-1] = Band(before.start_s, band.end_s, band.label)
        else:
            joined.append(band)
    return joined
