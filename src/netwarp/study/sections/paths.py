"""The ``[path]`` section: the first path, an optional second one, and their events."""

from functools import cached_property
from typing import Self

from pydantic import model_validator

from netwarp import wire
from netwarp.fields import KeyValueError
from netwarp.study.sections.events import at_its_period, merged_events
from netwarp.study.sections.path import SinglePath
from netwarp.study.sections.timeline import (
    HandoversSection,
    Lateness,
    OutagesSection,
    TimelineEntry,
    halves_ns,
)


class PathSection(SinglePath):
    """The path between client, router and server. netem runs on the router, never on a sender.

    `_down` is server to client, `_up` is client to server. A key without either applies to both
    directions if it shapes the path (delay, jitter, rate, queue), and to server to client alone if
    it harms packets (loss, reorder, duplicate, corrupt).
    """

    second: SinglePath | None = None
    """A second path with its own router, as `[path.second]`: it has the same keys, and those that
    it does not set are as in `[path]`. `mptcp` and multihomed `sctp` use it in addition to the
    first; transports that are compared with them have only the first. With handovers it is the
    access point that clients of any transport move to. Factors name it too, such as
    `"path.second.rtt"`."""
    timeline: tuple[TimelineEntry, ...] = ()
    """Events of the paths during a run, as `[[path.timeline]]`."""
    handovers: HandoversSection | None = None
    """Periodic moves of the client between the paths, as `[path.handovers]`."""
    outages: OutagesSection | None = None
    """Periodic outages of the paths, as `[path.outages]`."""

    @cached_property
    def may_hand_over(self) -> bool:
        """Whether the study has handovers in at least one cell; also if their number is 0."""
        return self.handovers is not None or any(
            entry.change == "handover" for entry in self.timeline
        )

    @property
    def all_paths(self) -> tuple[SinglePath, ...]:
        """All paths, the first one first; if the client can move, each is an access point."""
        if self.second is None:
            return (self, self) if self.may_hand_over else (self,)
        return (self, self.second)

    @cached_property
    def events(self) -> tuple[wire.Event, ...]:
        """All events in order of time; those at random times are as early as possible."""
        return self.events_of_replicate(at_its_period)

    def events_of_replicate(self, lateness: Lateness) -> tuple[wire.Event, ...]:
        """Return all events of a replicate, in order of time."""
        return merged_events(
            self.timeline,
            self.outages,
            self.handovers,
            paths=len(self.all_paths),
            lateness=lateness,
        )

    @property
    def has_random_times(self) -> bool:
        """Whether an event has a random time, which each replicate draws."""
        handovers, outages = self.handovers, self.outages
        return bool((handovers and handovers.jitter_ns) or (outages and outages.jitter_ns))

    @model_validator(mode="after")
    def _refuse_what_ipv6_lacks_on_two_paths(self) -> Self:
        if self.ip_version == 6 and self.may_hand_over:
            reason = (
                "a client that moves has a routing table for each of its addresses, and the"
                " guest's kernel has such tables for IPv4 alone (CONFIG_IPV6_MULTIPLE_TABLES)"
            )
            raise KeyValueError("ip", self.ip, reason, "choose 4, or drop the handovers")
        if self.second is not None and self.second.ip != self.ip:
            reason = "hosts have addresses of the same versions of IP on both paths"
            raise KeyValueError("second.ip", self.second.ip, reason, "drop it")
        return self

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
        """Refuse random times together with timeline entries of the same kind, because they could
        be at the same time.
        """
        for key, section, changes in (
            ("handovers.jitter", self.handovers, {"handover"}),
            ("outages.jitter", self.outages, {"outage", "restore"}),
        ):
            met = changes & {entry.change for entry in self.timeline}
            if section is not None and section.jitter_ns and met:
                reason = f"a random time could meet an entry of the timeline ({min(met)})"
                raise KeyValueError(key, None, reason, "drop jitter, or those entries")


def _refuse_lost_effect(entry: TimelineEntry, where: str, path: SinglePath) -> None:
    if entry.change == "delay":
        if path.redraw is not None:
            raise KeyValueError(
                f"{where}.change", "delay", "the next redraw undoes it", "drop it, or redraw"
            )
        if entry.rtt_ns is not None and max(path.down.jitter_ns, path.up.jitter_ns) > min(
            halves_ns(entry.rtt_ns)
        ):
            reason = (
                "the path's jitter is larger than half of it: packets would arrive before being"
                " sent"
            )
            raise KeyValueError(f"{where}.rtt", None, reason, "choose a longer rtt, or less jitter")
    if entry.change == "rate" and path.impairments(entry.direction).trace is not None:
        reason = f"the trace's next step undoes it ({entry.direction})"
        raise KeyValueError(f"{where}.change", "rate", reason, "drop it, or path.trace")
    if entry.change == "rate" and path.impairments(entry.direction).rate_bit_s is None:
        reason = f"the path has no bottleneck to begin with ({entry.direction})"
        raise KeyValueError(f"{where}.rate", None, reason, "give rate too")
