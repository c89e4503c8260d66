"""The sections of a study for changes of the paths during a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import takewhile
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from netwarp.fields import DurationNs, KeyValueError, Kind, PeriodNs, RateBitS, Section
from netwarp.study.sections.mahimahi import RateTrace
from netwarp.units import UnitError, format_duration
from netwarp.wire import Direction

PathNumber = Annotated[int, Field(ge=1, le=2, strict=True), Kind("1 or 2")]
Times = Annotated[int, Field(ge=0, le=10_000, strict=True), Kind("a whole number from 0 to 10000")]
StepNs = Annotated[DurationNs, Field(ge=1_000_000)]
SHORTEST_REDRAW_NS = 1_000_000
"""Shortest time between draws of a delay, in ns."""
FARTHEST_DEVIATIONS = 6
"""Largest distance of a random delay from the mean, in standard deviations."""
LATEST_NS = 2**63 - 1
"""Latest time that a study can set, in ns."""
DEFAULT_STEP_NS = 100_000_000
TRACE_KEYS = frozenset({"label", "file", "step_ns", "rates_bit_s"})
"""Keys of the table with which :func:`netwarp.study.outside.with_contents` replaces a file name."""
Change = Literal["outage", "restore", "delay", "rate", "handover"]
Lateness = Callable[[Literal["handover", "outage"], int, int], int]
"""A function that returns by how much an event is later than its periodic time, in ns. Its
arguments are the kind of event, its number from 0, and the `jitter` that bounds the delay, in ns.
"""

# Attributes of an entry that only some changes have.
_OF_ONE_CHANGE: dict[str, Change] = {
    "rtt_ns": "delay",
    "rate_bit_s": "rate",
    "direction": "rate",
    "overlap_ns": "handover",
    "gap_ns": "handover",
}
_NEEDED: dict[Change, tuple[str, str]] = {
    "delay": ("rtt", 'add the round-trip time from then on, such as rtt = "80ms"'),
    "rate": ("rate", 'add the rate from then on, such as rate = "10mbit"'),
}


class TimelineEntry(Section):
    """An event of a path at a fixed time.

    Entries are in order of time. During an outage every packet that is sent is lost in both
    directions, while those on their way arrive, and hosts are not notified: no link goes down, no
    ICMP message is sent. In a handover the client moves from one path to the other: it gets a new
    address there, and the old one is removed.
    """

    at_ns: DurationNs = Field(alias="at")
    """Time of the event, counted from when the path has been built."""
    change: Change
    """`outage`: from now on every packet is lost; `restore`: the outage ends; `delay` and `rate`:
    the path's delay or rate changes; `handover`: the client moves to another path."""
    path: PathNumber | None = None
    """Path of the event: 1, or 2 for `[path.second]`. Default: 1; of a handover, the one the client
    is not on."""
    rtt_ns: DurationNs | None = Field(default=None, alias="rtt")
    """`delay`: the round-trip time from now on, half of it in each direction. When it becomes
    smaller, packets wait for those before them; if the rate is unlimited, they overtake
    them."""
    rate_bit_s: RateBitS = Field(default=None, alias="rate")
    """`rate`: the rate from now on."""
    direction: Direction = "down"
    """`rate`: the direction whose rate changes."""
    overlap_ns: DurationNs = Field(default=0, alias="overlap")
    """`handover`: how long the old address still works after the client has the new one."""
    gap_ns: DurationNs = Field(default=0, alias="gap")
    """`handover`: how long the client has no address at all; replaces `overlap`."""

    @model_validator(mode="after")
    def _refuse_what_the_change_does_not_have(self) -> Self:
        for name, change in _OF_ONE_CHANGE.items():
            if name in self.model_fields_set and self.change != change:
                key = type(self).model_fields[name].alias or name
                raise KeyValueError(key, None, f"a change of {change} has it, not {self.change}")
        key, remedy = _NEEDED.get(self.change, ("", ""))
        if key and not {f"{key}_ns", f"{key}_bit_s"} & self.model_fields_set:
            raise KeyValueError(key, None, f"a change of {self.change} without it", remedy)
        if self.change == "rate" and self.rate_bit_s is None:
            raise KeyValueError("rate", None, "a path cannot lose its bottleneck", "give a rate")
        _refuse_overlap_and_gap(self)
        return self


class HandoversSection(Section):
    """Periodic handovers, in which the client moves back and forth between two access points: the
    first path and the second.

    The server has one address, which the client reaches over its present path. Without
    `[path.second]` the second path is like the first. `transport.reconnect` decides what happens to
    connections.
    """

    every_ns: PeriodNs = Field(alias="every")
    """Time from one handover to the next."""
    count: Times
    """Number of handovers; with 0 the client never moves. Those after `limits.virtual_s` are left
    out."""
    first_ns: DurationNs | None = Field(default=None, alias="first")
    """Time at which the first handover begins. Default: after `every`."""
    overlap_ns: DurationNs = Field(default=0, alias="overlap")
    """Time for which the old address still works after the client has the new one."""
    gap_ns: DurationNs = Field(default=0, alias="gap")
    """Time for which the client has no address at all; replaces `overlap`."""
    jitter_ns: DurationNs = Field(default=0, alias="jitter")
    """Each handover begins later than its periodic time by a random time below this, uniformly
    distributed, drawn for each replicate and the same for all cells. At most `every`, less
    `overlap` or `gap`."""

    @model_validator(mode="after")
    def _one_way_to_move(self) -> Self:
        _refuse_overlap_and_gap(self)
        lasts_ns = self.overlap_ns + self.gap_ns
        if self.jitter_ns and self.jitter_ns + lasts_ns > self.every_ns:
            raise KeyValueError(
                "jitter",
                None,
                "a handover could begin before the one before it is over",
                f"choose at most {format_duration(max(0, self.every_ns - lasts_ns))}, or a longer"
                " every",
            )
        return self

    def starts_ns(self, lateness: Lateness) -> tuple[int, ...]:
        """Return the time at which each handover begins, in ns of the run's clock."""
        return _periodic_ns(self, "handover", lateness)


class OutagesSection(Section):
    """Periodic outages: every packet that is sent is lost in both directions, while those on their
    way arrive, and hosts are not notified.
    """

    every_ns: PeriodNs = Field(alias="every")
    """Time from the beginning of one outage to the beginning of the next."""
    length_ns: PeriodNs = Field(alias="length")
    """Length of each outage."""
    count: Times
    """Number of outages; those after `limits.virtual_s` are left out."""
    first_ns: DurationNs | None = Field(default=None, alias="first")
    """Time at which the first outage begins. Default: after `every`."""
    path: PathNumber | None = None
    """Path that is affected: 1, or 2 for `[path.second]`. Default: all paths at once."""
    jitter_ns: DurationNs = Field(default=0, alias="jitter")
    """Each outage begins later than its periodic time by a random time below this, uniformly
    distributed, drawn for each replicate and the same for all cells. Less than `every` without
    `length`."""

    @model_validator(mode="after")
    def _one_at_a_time(self) -> Self:
        if self.jitter_ns and self.jitter_ns + self.length_ns >= self.every_ns:
            reason = "an outage could begin before the one before it is over"
            raise KeyValueError("jitter", None, reason, "choose a shorter one, or a longer every")
        return self

    def starts_ns(self, lateness: Lateness) -> tuple[int, ...]:
        """Return the time at which each outage begins, in ns of the run's clock."""
        return _periodic_ns(self, "outage", lateness)


class RedrawSection(Section):
    """Random changes of the delay at a fixed period.

    Each draw is a round-trip time from a normal distribution truncated at 0; each direction has
    half of it. When the delay becomes smaller, packets wait for those before them; if the rate is
    unlimited, they overtake them.
    """

    period_ns: PeriodNs = Field(alias="period")
    """Time between draws, at least 1 ms; the first is made when the run begins."""
    mean_ns: DurationNs | None = Field(default=None, alias="mean")
    """Mean of the round-trip times. Default: the path's `rtt`; only one of them may be given. With
    a mean of 0 nothing is drawn, and the delay is 0. With other means, draws below 0 are set to 0,
    which increases the mean of the delays if it is less than about two deviations."""
    deviation_ns: DurationNs = Field(alias="deviation")
    """Standard deviation of the round-trip times."""

    @model_validator(mode="after")
    def _draws_leave_time_to_send(self) -> Self:
        if self.period_ns < SHORTEST_REDRAW_NS:
            reason = (
                "each draw is a change of the path, and a run that makes more than one in a"
                " millisecond does nothing else"
            )
            raise KeyValueError("period", None, reason, "choose 1ms or more")
        return self

    @model_validator(mode="after")
    def _draws_fit_the_kernel(self) -> Self:
        if (self.mean_ns or 0) + FARTHEST_DEVIATIONS * self.deviation_ns > LATEST_NS:
            raise KeyValueError(
                "deviation", None, "delays would be longer than netem's", "choose a smaller one"
            )
        return self


def _read_trace(value: object) -> RateTrace:
    if not isinstance(value, Mapping) or set(value) != TRACE_KEYS:
        raise UnitError("not a trace file", 'name a file in mahimahi\'s format, such as "4g.down"')
    file, step_ns, rates_bit_s = value["file"], value["step_ns"], value["rates_bit_s"]
    # netwarp itself made the table, but a damaged `study.json` can contain anything.
    whole = [step_ns, *rates_bit_s] if isinstance(rates_bit_s, list) and rates_bit_s else [None]
    if not isinstance(file, str) or not all(type(each) is int and each >= 0 for each in whole):
        raise UnitError("not the rates of a trace", "give the study file itself again")
    return RateTrace(file, step_ns, tuple(rates_bit_s))


RateTraceField = Annotated[
    RateTrace, BeforeValidator(_read_trace), Kind("a file in mahimahi's format")
]


class TraceSection(Section):
    """Rates that follow a recorded trace, which repeats.

    Files are in mahimahi's format, relative to the study file: a line is a whole number of
    milliseconds at which 1504 bytes may leave, none smaller than the one before; after the last
    line the trace repeats. A shaper with the path's `queue` enforces the rate: a packet is sent at
    the rate at the beginning of its transmission, and no transmission begins while the rate is 0.
    Where a step is too short for a full-size packet, its rate is the mean of the steps that such a
    packet takes, also for smaller ones: beside an MTU above 1500 choose steps of many
    opportunities. A BDP is computed with the trace's mean rate. `netwarp trace` generates such
    files from models of links.
    """

    down: RateTraceField | None = None
    """Trace of the rate from server to client; replaces `rate_down`."""
    up: RateTraceField | None = None
    """Trace of the rate from client to server; replaces `rate_up`."""
    step_ns: StepNs = Field(default=DEFAULT_STEP_NS, alias="step")
    """Longest time for which a rate is in force: the trace is divided into the fewest equal steps
    that are not longer than this, and the opportunities in each determine its rate; one at the end
    of a step is of that step. It cannot be a factor."""

    @model_validator(mode="after")
    def _one_direction_at_least(self) -> Self:
        if self.down is None and self.up is None:
            raise KeyValueError("down", None, "neither down nor up is given", "name a file")
        return self

    def impairments(self, direction: Direction) -> RateTrace | None:
        """Return the trace for a direction; None if there is none."""
        return self.down if direction == "down" else self.up


def halves_ns(rtt_ns: int) -> tuple[int, int]:
    """Return the one-way delays, down and up, into which a round-trip time is divided."""
    return rtt_ns - rtt_ns // 2, rtt_ns // 2


def _periodic_ns(
    section: HandoversSection | OutagesSection,
    what: Literal["handover", "outage"],
    lateness: Lateness,
) -> tuple[int, ...]:
    first_ns = section.every_ns if section.first_ns is None else section.first_ns
    starts_ns = (first_ns + number * section.every_ns for number in range(section.count))
    possible = takewhile(lambda start_ns: start_ns <= LATEST_NS, starts_ns)
    if section.jitter_ns == 0:
        return tuple(possible)
    return tuple(
        start_ns + lateness(what, number, section.jitter_ns)
        for number, start_ns in enumerate(possible)
    )


def _refuse_overlap_and_gap(section: TimelineEntry | HandoversSection) -> None:
    if {"overlap_ns", "gap_ns"} <= section.model_fields_set:
        raise KeyValueError("gap", None, "overlap and gap are both given", "keep one of them")
