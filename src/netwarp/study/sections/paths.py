"""The ``[path]`` section: the first path, an optional second one, and their events."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Self

from pydantic import model_validator

from netwarp import wire
from netwarp.fields import KeyValueError
from netwarp.path_properties import BY_KEY, OF_EACH_DIRECTION
from netwarp.study.sections.events import at_its_period, merged_events
from netwarp.study.sections.path import SinglePath
from netwarp.study.sections.timeline import (
    HandoversSection,
    Lateness,
    OutagesSection,
    TimelineEntry,
    halves_ns,
)
from netwarp.units import UnitError, parse_duration_ns

_DELAYS = frozenset({*BY_KEY["rtt"].keys, *BY_KEY["delay"].keys})
_OF_ALL_PATHS = ("second", "timeline", "handovers", "outages")


class PathSection(SinglePath):
    """The path: client — router — server. netem is on the router, never on a sender.

    `_down` is server to client, `_up` is client to server. A key without either stands for both
    directions where it shapes the path (delay, jitter, rate, queue), and for server to client
    alone where it harms packets (loss, reorder, duplicate, corrupt).
    """

    second: SinglePath | None = None
    """A second path with a router of its own, as `[path.second]`: the same keys; what it does not
    give is as in `[path]`. `mptcp` and multihomed `sctp` use it beside the first; transports that
    are compared with them have the first alone. With handovers it is the access point that clients
    of any transport move to. Factors name it too, such as `"path.second.rtt"`."""
    timeline: tuple[TimelineEntry, ...] = ()
    """Events of the paths during a run, as `[[path.timeline]]`."""
    handovers: HandoversSection | None = None
    """Periodic moves of the client between the paths, as `[path.handovers]`."""
    outages: OutagesSection | None = None
    """Periodic outages of the paths, as `[path.outages]`."""

    @cached_property
    def may_hand_over(self) -> bool:
        """Whether the study has handovers in any cell, be their number 0."""
        return self.handovers is not None or any(
            entry.change == "handover" for entry in self.timeline
        )

    @property
    def all_paths(self) -> tuple[SinglePath, ...]:
        """All paths, the first one first; of a client that may move, its access points."""
        if self.second is None:
            return (self, self) if self.may_hand_over else (self,)
        return (self, self.second)

    @cached_property
    def events(self) -> tuple[wire.Event, ...]:
        """All events in order of time; those at random times as if they were not late."""
        return self.events_of_replicate(at_its_period)

    def events_of_replicate(self, lateness: Lateness) -> tuple[wire.Event, ...]:
        """Give all events of a replicate, in order of time."""
        return merged_events(
            self.timeline,
            self.outages,
            self.handovers,
            paths=len(self.all_paths),
            lateness=lateness,
        )

    @property
    def has_random_times(self) -> bool:
        """Whether any event is at a random time, which each replicate draws."""
        handovers, outages = self.handovers, self.outages
        return bool((handovers and handovers.jitter_ns) or (outages and outages.jitter_ns))

    @model_validator(mode="before")
    @classmethod
    def _complete_second(cls, data: Any) -> Any:
        if not isinstance(data, Mapping) or not isinstance(data.get("second"), Mapping):
            return data
        first = {key: value for key, value in data.items() if key not in _OF_ALL_PATHS}
        return {**data, "second": inherited(first, data["second"])}

    @model_validator(mode="after")
    def _refuse_impossible_timelines(self) -> Self:
        before_ns = 0
        for index, entry in enumerate(self.timeline):
            where = f"timeline.{index}"
            if entry.at_ns < before_ns:
                raise KeyValueError(
                    f"{where}.at", None, "earlier than the entry before it", "sort them by time"
                )
            before_ns = entry.at_ns
            if entry.path == 2 and len(self.all_paths) == 1:
                raise KeyValueError(
                    f"{where}.path", 2, "there is one path", "add [path.second], or drop path"
                )
            _refuse_lost_effect(entry, where, self.all_paths[(entry.path or 1) - 1])
        if self.outages is not None and self.outages.path == 2 and len(self.all_paths) == 1:
            raise KeyValueError(
                "outages.path", 2, "there is one path", "add [path.second], or drop path"
            )
        if self.has_random_times:
            self._refuse_random_times_among_fixed_ones()
        _ = self.events
        return self

    def _refuse_random_times_among_fixed_ones(self) -> None:
        """Refuse random times beside timeline entries of the same kind: they might collide."""
        for key, section, changes in (
            ("handovers.jitter", self.handovers, {"handover"}),
            ("outages.jitter", self.outages, {"outage", "restore"}),
        ):
            met = changes & {entry.change for entry in self.timeline}
            if section is not None and section.jitter_ns and met:
                raise KeyValueError(
                    key,
                    None,
                    f"a random time could meet an entry of the timeline ({min(met)})",
                    "drop jitter, or those entries",
                )


def _refuse_lost_effect(entry: TimelineEntry, where: str, path: SinglePath) -> None:
    if entry.change == "delay":
        if path.redraw is not None:
            raise KeyValueError(
                f"{where}.change", "delay", "the next redraw undoes it", "drop it, or path.redraw"
            )
        if entry.rtt_ns is not None and max(path.down.jitter_ns, path.up.jitter_ns) > min(
            halves_ns(entry.rtt_ns)
        ):
            raise KeyValueError(
                f"{where}.rtt",
                None,
                "the path's jitter is larger than half of it: packets would arrive before being"
                " sent",
                "choose a longer rtt, or less jitter",
            )
    if entry.change == "rate" and path.impairments(entry.direction).trace is not None:
        raise KeyValueError(
            f"{where}.change",
            "rate",
            f"the trace's next step undoes it ({entry.direction})",
            "drop it, or path.trace",
        )
    if entry.change == "rate" and path.impairments(entry.direction).rate_bit_s is None:
        raise KeyValueError(
            f"{where}.rate",
            None,
            f"the path has no bottleneck to begin with ({entry.direction})",
            "give path.rate too",
        )


def inherited(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Complete the second path's table with the first path's values.

    A key of the second path replaces every key of the first that sets the same property: ``delay``
    replaces ``rtt``, ``loss`` replaces ``loss_down``.
    """
    below = _split_rtt(first, second)
    for row in OF_EACH_DIRECTION:
        plain, down, up = row.keys
        covered = {f"{plain}_{direction}" for direction in row.plain_key_covers}
        if plain in second:
            for key in covered:
                below.pop(key, None)
        if covered <= second.keys() or {down, up} <= below.keys() | second.keys():
            below.pop(plain, None)
    return _with_redraw(_with_trace(below, second), second)


def _with_trace(below: dict[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Merge the traces; a path's own rate replaces an inherited trace, and vice versa."""
    theirs, own = below.get("trace", {}), second.get("trace", {})
    if not isinstance(theirs, Mapping) or not isinstance(own, Mapping) or not (theirs or own):
        return below
    trace = dict(theirs)
    for direction in ("down", "up"):
        if {"rate", f"rate_{direction}"} & second.keys():
            trace.pop(direction, None)
        if direction in own:
            other = "up" if direction == "down" else "down"
            below = dict(below)
            below.pop(f"rate_{direction}", None)
            rate = below.pop("rate", None)
            if rate is not None and "rate" not in second:
                below.setdefault(f"rate_{other}", rate)
    merged = {**trace, **own}
    if not {"down", "up"} & merged.keys():
        return {key: value for key, value in below.items() if key != "trace"}
    return {**below, "trace": merged}


def _with_redraw(below: dict[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Merge the redraws; a path's own delay replaces an inherited mean, and vice versa."""
    theirs, own = below.get("redraw", {}), second.get("redraw", {})
    if not isinstance(theirs, Mapping) or not isinstance(own, Mapping) or not (theirs or own):
        return {**below, **second}
    redraw = dict(theirs)
    if _DELAYS & second.keys():
        redraw.pop("mean", None)
    if "mean" in own:
        below = {key: value for key, value in below.items() if key not in _DELAYS}
    return {**below, **second, "redraw": {**redraw, **own}}


def _split_rtt(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Drop what contradicts the second path's delay; the other direction keeps half of `rtt`."""
    delays = {"delay", "delay_down", "delay_up"}
    below = dict(first)
    if "rtt" in second:
        return {key: value for key, value in below.items() if key not in delays}
    if "rtt" not in first or not delays & second.keys():
        return below
    rtt = below.pop("rtt")
    try:
        rtt_ns = parse_duration_ns(rtt)
    except UnitError:
        return below  # the check of the first path refuses it, with its key
    if "delay" not in second:
        below["delay_up"] = f"{rtt_ns // 2}ns"
        below["delay_down"] = f"{rtt_ns - rtt_ns // 2}ns"
    return below
