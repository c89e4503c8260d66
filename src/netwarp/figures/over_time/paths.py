"""What happened to the paths of one run: where the client was, delays, outages. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netwarp.figures.over_time.lines import MOST_POINTS, Band, Line, thinned
from netwarp.units import NS_PER_S
from netwarp.wire import Attach, Delay, Detach, Outage, Restore

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from netwarp.wire import Change, Job, TimelineEvent

AT_ONCE_NS = 1_000_000
"""What follows something so soon happened together with it: messages take their time."""

Stretches = list[tuple[int, int]]
"""From and until, in nanoseconds."""


def attached_stretches(
    job: Job, happenings: Sequence[TimelineEvent], path: int, end_ns: int
) -> Stretches:
    """Find when the client had its address on a path."""
    return _stretches(
        happenings, path, Attach, Detach, end_ns, from_the_start=job.paths[path].attached
    )


def _stretches(
    happenings: Sequence[TimelineEvent],
    path: int,
    begins: type[Change],
    ends: type[Change],
    end_ns: int,
    *,
    from_the_start: bool = False,
) -> Stretches:
    """Find when a path was in a state that one kind of change begins and another ends."""
    found: Stretches = []
    since_ns = 0 if from_the_start else None
    for each in happenings:
        if each.event.path != path:
            continue
        if isinstance(each.event.change, begins) and since_ns is None:
            since_ns = each.at_ns
        elif isinstance(each.event.change, ends) and since_ns is not None:
            found.append((since_ns, each.at_ns))
            since_ns = None
    return found if since_ns is None else [*found, (since_ns, end_ns)]


Reading = tuple[float | None, "Callable[[Change], float | None]"]
"""A value at the start, and what a change makes of it; None where it has none."""


def rtt_ms(job: Job, path: int) -> Reading:
    """Read a path's round-trip time in milliseconds."""
    asked = job.paths[path]
    start_ms = (asked.down.delay_ns + asked.up.delay_ns) / 1e6

    def after(change: Change) -> float | None:
        return (change.down_ns + change.up_ns) / 1e6 if isinstance(change, Delay) else None

    return start_ms, after


def path_lines(
    happenings: Sequence[TimelineEvent],
    attached: Sequence[Stretches],
    reading: Callable[[int], Reading],
) -> list[Line]:
    """Make a step line for each stretch of time that the client was on a path."""
    lines = []
    for path, stretches in enumerate(attached):
        start, after = reading(path)
        changes = [
            (each.at_ns, value)
            for each in happenings
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
    happenings: Sequence[TimelineEvent], attached: Sequence[Stretches], end_ns: int
) -> list[Band]:
    """Find when a path lost everything, and when the client was on none."""
    several = len(attached) > 1
    found = [
        Band(since_ns / NS_PER_S, until_ns / NS_PER_S, f"path {path + 1} out" if several else "out")
        for path in range(len(attached))
        for since_ns, until_ns in _stretches(happenings, path, Outage, Restore, end_ns)
    ]
    on_a_path = sorted(stretch for stretches in attached for stretch in stretches)
    reached_ns = 0
    for since_ns, until_ns in [*on_a_path, (end_ns, end_ns)]:
        if since_ns > reached_ns + AT_ONCE_NS:
            found.append(Band(reached_ns / NS_PER_S, since_ns / NS_PER_S, "no path"))
        reached_ns = max(reached_ns, until_ns)
    return sorted(found, key=lambda band: band.start_s)
