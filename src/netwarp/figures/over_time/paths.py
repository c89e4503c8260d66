"""The paths of a run over time: delays, rates, outages, and the path on which the client was.

Pure: makes lines and bands from a job and its timeline events.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from netwarp.figures.lines import MOST_POINTS, Band, Line, thinned
from netwarp.units import NS_PER_S
from netwarp.wire import (
    Attach,
    Change,
    Delay,
    Detach,
    Direction,
    Job,
    Outage,
    Rate,
    Restore,
    TimelineEvent,
)

AT_ONCE_NS = 1_000_000
"""Longest time in ns between events that count as simultaneous: the messages that cause them take
time."""

Stretches = list[tuple[int, int]]
"""Intervals of time: start and end of each, in ns."""


def attached_stretches(
    job: Job, events: Sequence[TimelineEvent], path: int, end_ns: int
) -> Stretches:
    """Return the intervals of time in which the client had its address on a path."""
    return _stretches(events, path, Attach, Detach, end_ns, from_the_start=job.paths[path].attached)


def _stretches(
    events: Sequence[TimelineEvent],
    path: int,
    begins: type[Change],
    ends: type[Change],
    end_ns: int,
    *,
    from_the_start: bool = False,
) -> Stretches:
    """Return the intervals of time in which a path was in a state, from the events that begin and
    end the state.
    """
    found: Stretches = []
    since_ns = 0 if from_the_start else None
    for each in events:
        if each.event.path != path:
            continue
        if isinstance(each.event.change, begins) and since_ns is None:
            since_ns = each.at_ns
        elif isinstance(each.event.change, ends) and since_ns is not None:
            found.append((since_ns, each.at_ns))
            since_ns = None
    return found if since_ns is None else [*found, (since_ns, end_ns)]


Reading = tuple[float | None, "Callable[[Change], float | None]"]
"""How to follow a value over time: its initial value, and a function that returns the new value
after an event, or None if the event does not set it."""


def rtt_ms(job: Job, path: int) -> Reading:
    """Return a path's round-trip time in ms at the start, and a function that returns it after a
    change.
    """

    def after(change: Change) -> float | None:
        return (change.down_ns + change.up_ns) / 1e6 if isinstance(change, Delay) else None

    return job.paths[path].idle_rtt_ns / 1e6, after


def path_lines(
    events: Sequence[TimelineEvent],
    attached: Sequence[Stretches],
    reading: Callable[[int], Reading],
) -> list[Line]:
    """Return a step line for each interval of time in which the client was on a path."""
    lines = []
    for path, stretches in enumerate(attached):
        start, after = reading(path)
        changes = [
            (each.at_ns, value)
            for each in events
            if each.event.path == path and (value := after(each.event.change)) is not None
        ]
        for since_ns, until_ns in stretches:
            before = [value for at_ns, value in changes if at_ns <= since_ns + AT_ONCE_NS]
            value = before[-1] if before else start
            points = [] if value is None else [(since_ns / NS_PER_S, value)]
            points += [
                (at_ns / NS_PER_S, value)
                for at_ns, value in changes
                if since_ns + AT_ONCE_NS < at_ns < until_ns
            ]
            if points:
                points.append((until_ns / NS_PER_S, points[-1][1]))
                lines.append(Line(thinned(points, MOST_POINTS), path))
    return lines


def outages(
    events: Sequence[TimelineEvent], attached: Sequence[Stretches], end_ns: int
) -> list[Band]:
    """Return the outages of paths, and the times in which the client was on no path."""
    several = len(attached) > 1
    found = [
        band
        for path in range(len(attached))
        for band in outages_of_path(
            events, path, end_ns, f"path {path + 1} out" if several else "out"
        )
    ]
    on_a_path = sorted(stretch for stretches in attached for stretch in stretches)
    reached_ns = 0
    for since_ns, until_ns in [*on_a_path, (end_ns, end_ns)]:
        if since_ns > reached_ns + AT_ONCE_NS:
            found.append(Band(reached_ns / NS_PER_S, since_ns / NS_PER_S, "no path"))
        reached_ns = max(reached_ns, until_ns)
    return sorted(found, key=lambda band: band.start_s)


def outages_of_path(
    events: Sequence[TimelineEvent], path: int, end_ns: int, label: str = "out"
) -> list[Band]:
    """Return the outages of one path, or of one link of a network."""
    return [
        Band(since_ns / NS_PER_S, until_ns / NS_PER_S, label)
        for since_ns, until_ns in _stretches(events, path, Outage, Restore, end_ns)
    ]


@dataclass
class _Bottleneck:
    """The state of a path's bottleneck at a time."""

    is_attached: bool
    """Whether the client has its address on the path."""
    rate_bit_s: int | None
    """Rate of the bottleneck in bit/s; None if it is unlimited."""
    is_out: bool = False

    def apply(self, change: Change, direction: Direction) -> None:
        """Change the state according to an event of the timeline."""
        match change:
            case Attach() | Detach():
                self.is_attached = isinstance(change, Attach)
            case Outage() | Restore():
                self.is_out = isinstance(change, Outage)
            case Rate(direction=changed, rate_bit_s=rate_bit_s) if changed == direction:
                self.rate_bit_s = rate_bit_s


def rate_lines(
    job: Job, events: Iterable[TimelineEvent], paths: Collection[int], end_ns: int
) -> list[Line]:
    """Return the sum, in Mbit/s, of the bottleneck rates of all paths that are up and on which the
    client has its address.

    A transport with several paths can use this rate. One that moves while the old path still works
    gets the packets in flight there in addition to the new path's rate.

    Args:
        job: the run's job.
        events: the events in order of time.
        paths: indices of the paths that the transport can use.
        end_ns: time at which the lines end.

    Returns:
        Step lines: without a value while a path that is up has no bottleneck, 0 while no path is
            up.
    """
    direction = job.direction
    now = {
        path: _Bottleneck(job.paths[path].attached, getattr(job.paths[path], direction).rate_bit_s)
        for path in paths
    }
    are_limited = any(each.rate_bit_s is not None for each in now.values())
    steps = [(0, _together_mbit_s(now.values()))]
    for each in events:
        if each.event.path not in now:
            continue
        now[each.event.path].apply(each.event.change, direction)
        are_limited |= isinstance(each.event.change, Rate)
        value = _together_mbit_s(now.values())
        since_ns = steps[-1][0]
        if each.at_ns <= since_ns + AT_ONCE_NS:
            steps[-1] = (since_ns, value)
        elif value != steps[-1][1]:
            steps.append((each.at_ns, value))
    return _lines(steps, end_ns) if are_limited else []


def _together_mbit_s(paths: Iterable[_Bottleneck]) -> float | None:
    rates_bit_s = [path.rate_bit_s for path in paths if path.is_attached and not path.is_out]
    known_bit_s = [rate for rate in rates_bit_s if rate is not None]
    return sum(known_bit_s) / 1e6 if len(known_bit_s) == len(rates_bit_s) else None


def _lines(steps: Sequence[tuple[int, float | None]], end_ns: int) -> list[Line]:
    """Return a line for each uninterrupted sequence of steps that have a value."""
    untils_ns = [at_ns for at_ns, _ in steps[1:]] + [end_ns]
    spans = zip(steps, untils_ns, strict=True)
    lines = []
    for is_unlimited, stretch in groupby(spans, key=lambda span: span[0][1] is None):
        if is_unlimited:
            continue
        known = [(at_ns, until_ns, value or 0.0) for (at_ns, value), until_ns in stretch]
        points = [(at_ns / NS_PER_S, value) for at_ns, _, value in known]
        points.append((known[-1][1] / NS_PER_S, known[-1][2]))
        lines.append(Line(thinned(points, MOST_POINTS)))
    return lines
