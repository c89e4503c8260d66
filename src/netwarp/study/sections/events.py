"""Merges a study's timeline entries, outages and handovers into one sequence of events, in order of
time.

Pure. An outage belongs to its path: it begins and ends whether or not the client is on that path.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from netwarp import wire
from netwarp.fields import KeyValueError
from netwarp.study.sections.timeline import (
    HandoversSection,
    Lateness,
    OutagesSection,
    TimelineEntry,
    halves_ns,
)
from netwarp.units import format_duration

_OUTAGE = wire.Outage(kind="outage")
_RESTORE = wire.Restore(kind="restore")
_ATTACH = wire.Attach(kind="attach")
_DETACH = wire.Detach(kind="detach")


@dataclass(frozen=True)
class _KeyedEvent:
    """An event of a path, with the study key from which it comes."""

    at_ns: int
    path: int
    change: wire.Change
    key: str


@dataclass(frozen=True)
class _Handover:
    at_ns: int
    overlap_ns: int
    gap_ns: int
    to: int | None
    """Index of the path to which the client moves; None for the other one of two paths."""
    key: str

    @property
    def over_ns(self) -> int:
        return self.at_ns + self.overlap_ns + self.gap_ns


def at_its_period(what: Literal["handover", "outage"], number: int, jitter_ns: int) -> int:
    """Return a lateness of 0 ns, for events at their earliest times: random times are drawn only
    for each replicate.
    """
    del what, number, jitter_ns
    return 0


def merged_events(
    entries: Sequence[TimelineEntry],
    outages: OutagesSection | None,
    handovers: HandoversSection | None,
    *,
    paths: int,
    lateness: Lateness = at_its_period,
) -> tuple[wire.Event, ...]:
    """Return all events of the paths, in order of time.

    Args:
        entries: timeline entries, in order of time.
        outages: periodic outages.
        handovers: periodic handovers. Each handover, periodic or an entry, moves the client to the
            other path.
        paths: number of paths.
        lateness: returns by how much a handover or outage at a random time is later than its
            period, in ns.

    Raises:
        KeyValueError: an outage begins during an outage, a restoration has no outage, or a handover
            is to the client's own path or during another handover; keys are relative to ``[path]``.
    """
    if not entries and outages is None and handovers is None:
        return ()
    in_order = sorted(_handovers(entries, handovers, lateness), key=lambda each: each.at_ns)
    keyed = [
        *_of_entries(entries),
        *_of_outages(outages, paths, lateness),
        *_of_handovers(in_order),
    ]
    keyed.sort(key=lambda each: each.at_ns)
    _refuse_what_changes_nothing(keyed)
    return tuple(wire.Event(at_ns=each.at_ns, path=each.path, change=each.change) for each in keyed)


def _of_entries(entries: Sequence[TimelineEntry]) -> Iterator[_KeyedEvent]:
    for index, entry in enumerate(entries):
        if entry.change != "handover":
            path = (entry.path or 1) - 1
            yield _KeyedEvent(entry.at_ns, path, _change(entry), f"timeline.{index}.change")


def _change(entry: TimelineEntry) -> wire.Change:
    """Convert an entry of the timeline to a change of one path."""
    match entry.change:
        case "outage":
            return _OUTAGE
        case "restore":
            return _RESTORE
        case "delay":
            down_ns, up_ns = halves_ns(entry.rtt_ns or 0)
            return wire.Delay(kind="delay", down_ns=down_ns, up_ns=up_ns)
        case "rate":
            rate_bit_s = entry.rate_bit_s or 0
            return wire.Rate(kind="rate", direction=entry.direction, rate_bit_s=rate_bit_s)
    raise AssertionError(f"{entry.change} is no change of one path")


def _of_outages(
    outages: OutagesSection | None, paths: int, lateness: Lateness
) -> Iterator[_KeyedEvent]:
    if outages is None:
        return
    hit = range(paths) if outages.path is None else (outages.path - 1,)
    for start_ns in outages.starts_ns(lateness):
        for path in hit:
            yield _KeyedEvent(start_ns, path, _OUTAGE, "outages.every")
            yield _KeyedEvent(start_ns + outages.length_ns, path, _RESTORE, "outages.length")


def _handovers(
    entries: Sequence[TimelineEntry], handovers: HandoversSection | None, lateness: Lateness
) -> Iterator[_Handover]:
    """Yield all handovers: those of the timeline, and the periodic ones."""
    for index, entry in enumerate(entries):
        if entry.change == "handover":
            to = None if entry.path is None else entry.path - 1
            key = f"timeline.{index}.at"
            yield _Handover(entry.at_ns, entry.overlap_ns, entry.gap_ns, to, key)
    if handovers is not None:
        key = "handovers.overlap" if handovers.overlap_ns else "handovers.gap"
        key = key if handovers.overlap_ns + handovers.gap_ns else "handovers.every"
        for start_ns in handovers.starts_ns(lateness):
            yield _Handover(start_ns, handovers.overlap_ns, handovers.gap_ns, None, key)


def _of_handovers(handovers: Sequence[_Handover]) -> Iterator[_KeyedEvent]:
    here = 0
    before: _Handover | None = None
    for handover in handovers:
        if before and (handover.at_ns < before.over_ns or handover.at_ns == before.at_ns):
            raise KeyValueError(
                handover.key,
                None,
                f"a handover begins {format_duration(handover.at_ns)} into the run, when the one"
                f" of {format_duration(before.at_ns)} is not over",
                "leave more time between them, or less for overlap or gap",
            )
        there = 1 - here if handover.to is None else handover.to
        if there == here:
            reason = f"the client is on path {there + 1} at that time"
            remedy = "move it to the other path, or drop path"
            raise KeyValueError(handover.key.replace(".at", ".path"), there + 1, reason, remedy)
        attached_ns = handover.at_ns + handover.gap_ns
        detached_ns = handover.at_ns + handover.overlap_ns
        leave = _KeyedEvent(detached_ns, here, _DETACH, handover.key)
        arrive = _KeyedEvent(attached_ns, there, _ATTACH, handover.key)
        yield from (leave, arrive) if handover.gap_ns else (arrive, leave)
        here, before = there, handover


def _refuse_what_changes_nothing(keyed: Sequence[_KeyedEvent]) -> None:
    out: set[int] = set()
    for each in keyed:
        if isinstance(each.change, wire.Outage | wire.Restore):
            goes_out = isinstance(each.change, wire.Outage)
            if (each.path in out) == goes_out:
                raise _nothing_changes(each, goes_out)
            out ^= {each.path}


def _nothing_changes(each: _KeyedEvent, goes_out: bool) -> KeyValueError:
    state = "lost already" if goes_out else "whole already"
    at = f"{format_duration(each.at_ns)} into the run"
    if each.key.startswith("outages"):
        return KeyValueError(
            each.key,
            None,
            f"path {each.path + 1} is {state} {at}",
            "let each outage end before the next one, those of [[path.timeline]] included",
        )
    return KeyValueError(
        each.key,
        each.change.kind,
        f"path {each.path + 1} is {state} at that time",
        "alternate outage and restore, an outage first",
    )
