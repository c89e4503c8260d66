"""What the paths of one run could carry at each moment, all together. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from netwarp.figures.over_time.lines import MOST_POINTS, Line, thinned
from netwarp.figures.over_time.paths import AT_ONCE_NS
from netwarp.units import NS_PER_S
from netwarp.wire import Attach, Detach, Outage, Rate, Restore

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from netwarp.wire import Change, Direction, Job, TimelineEvent


@dataclass
class _Bottleneck:
    """A path as it is at some moment."""

    is_at_hand: bool
    """The client has its address on it."""
    rate_bit_s: int | None
    """None is unlimited."""
    is_out: bool = False

    def meet(self, change: Change, direction: Direction) -> None:
        """Become what a change makes of it."""
        match change:
            case Attach() | Detach():
                self.is_at_hand = isinstance(change, Attach)
            case Outage() | Restore():
                self.is_out = isinstance(change, Outage)
            case Rate(direction=changed, rate_bit_s=rate_bit_s) if changed == direction:
                self.rate_bit_s = rate_bit_s


def rate_lines(
    job: Job, happenings: Iterable[TimelineEvent], paths: Collection[int], end_ns: int
) -> list[Line]:
    """Add up the bottleneck rates, in Mbit/s, of the paths that the client is on and that are up.

    A transport that uses several paths at once gets that much; one that moves while its old path is
    still there gets the rest of the old path's beside the new one's.

    Args:
        job: what was asked.
        happenings: in order of time.
        paths: indices of those that the transport can use.
        end_ns: where the lines end.

    Returns:
        Step lines: none where a path that is up has no bottleneck, 0 where no path is up.
    """
    direction = job.direction
    now = {
        path: _Bottleneck(job.paths[path].attached, getattr(job.paths[path], direction).rate_bit_s)
        for path in paths
    }
    are_limited = any(each.rate_bit_s is not None for each in now.values())
    steps = [(0, _together_mbit_s(now.values()))]
    for each in happenings:
        if each.event.path not in now:
            continue
        now[each.event.path].meet(each.event.change, direction)
        are_limited |= isinstance(each.event.change, Rate)
        value = _together_mbit_s(now.values())
        since_ns = steps[-1][0]
        if each.at_ns <= since_ns + AT_ONCE_NS:
            steps[-1] = (since_ns, value)
        elif value != steps[-1][1]:
            steps.append((each.at_ns, value))
    return _lines(steps, end_ns) if are_limited else []


def _together_mbit_s(paths: Iterable[_Bottleneck]) -> float | None:
    rates_bit_s = [path.rate_bit_s for path in paths if path.is_at_hand and not path.is_out]
    known_bit_s = [rate for rate in rates_bit_s if rate is not None]
    return sum(known_bit_s) / 1e6 if len(known_bit_s) == len(rates_bit_s) else None


def _lines(steps: Sequence[tuple[int, float | None]], end_ns: int) -> list[Line]:
    """Make a line of each stretch of steps that have a value, up to where the next begins."""
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
