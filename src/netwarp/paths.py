"""The ``[path]`` section: the first path, a second one beside it, and what happens to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from netwarp.fields import DurationNs, KeyValueError, Kind, Section
from netwarp.path import SinglePath
from netwarp.units import UnitError, parse_duration_ns

PathNumber = Annotated[int, Field(ge=1, le=2, strict=True), Kind("1 or 2")]
_BOTH_WAYS = ("delay", "jitter", "rate", "queue")
_DOWN = ("loss", "reorder", "duplicate", "corrupt")


class TimelineEntry(Section):
    """Something that happens to a path while the run goes on.

    Entries stand in the order of time. An outage loses every packet in both directions, and nobody
    is told: no link goes down, no ICMP message is sent.
    """

    at_ns: DurationNs = Field(alias="at")
    """When, counted from the moment the path is built."""
    change: Literal["outage", "restore"]
    """`outage`: from now on every packet is lost; `restore`: the path is as the study has it."""
    path: PathNumber = 1
    """Which path: 1, or 2 for `[path.second]`."""


class PathSection(SinglePath):
    """Client — router — server. netem sits on the router, never on a sender.

    `_down` is server to client, `_up` is client to server. A key without either stands for both
    directions where it shapes the path (delay, jitter, rate, queue), and for server to client
    alone where it harms packets (loss, reorder, duplicate, corrupt).
    """

    second: SinglePath | None = None
    """A second path with a router of its own, for `mptcp` and multihomed `sctp`: the same keys;
    what it does not give is as in `[path]`. Factors name it too, such as `"path.second.rtt"`."""
    timeline: tuple[TimelineEntry, ...] = ()
    """What happens to the paths while a run goes on, as `[[path.timeline]]`."""

    @model_validator(mode="before")
    @classmethod
    def _complete_second(cls, data: Any) -> Any:
        if not isinstance(data, Mapping) or not isinstance(data.get("second"), Mapping):
            return data
        first = {key: value for key, value in data.items() if key not in ("second", "timeline")}
        return {**data, "second": inherited(first, data["second"])}

    @model_validator(mode="after")
    def _refuse_impossible_timelines(self) -> Self:
        before_ns = 0
        out: set[int] = set()
        for index, entry in enumerate(self.timeline):
            where = f"timeline.{index}"
            if entry.at_ns < before_ns:
                raise KeyValueError(
                    f"{where}.at", None, "earlier than the entry before it", "sort them by time"
                )
            if entry.path == 2 and self.second is None:
                raise KeyValueError(
                    f"{where}.path", 2, "there is one path", "add [path.second], or drop path"
                )
            if (entry.change == "outage") == (entry.path in out):
                state = "lost already" if entry.change == "outage" else "whole already"
                raise KeyValueError(
                    f"{where}.change",
                    entry.change,
                    f"path {entry.path} is {state} at that time",
                    "alternate outage and restore, an outage first",
                )
            out ^= {entry.path}
            before_ns = entry.at_ns
        return self


def inherited(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Give the second path's table, completed by the first one's.

    A key that the second path gives takes the place of every key of the first that says the same
    in other words: ``delay`` of ``rtt``, ``loss`` of ``loss_down``.
    """
    below = _split_rtt(first, second)
    for stem in (*_BOTH_WAYS, *_DOWN):
        if stem in second:
            below.pop(f"{stem}_down", None)
        if stem in second and stem in _BOTH_WAYS:
            below.pop(f"{stem}_up", None)
        if f"{stem}_down" in second and stem in _DOWN:
            below.pop(stem, None)
        if {f"{stem}_down", f"{stem}_up"} <= below.keys() | second.keys():
            below.pop(stem, None)
    return {**below, **second}


def _split_rtt(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what contradicts the second path's delay; the other direction keeps its half."""
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
        return below  # the first path's own check refuses it, with its key
    if "delay" not in second:
        below["delay_up"] = f"{rtt_ns // 2}ns"
        below["delay_down"] = f"{rtt_ns - rtt_ns // 2}ns"
    return below
