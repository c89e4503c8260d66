"""What limited a sender over time, from the samples of one connection.

The kernel's TCP counts how long its peer's window and its send buffer limited it, and how long it
recovered from time-outs; for SCTP and QUIC each sample represents the time since the one before.
For the rest of the time, the state of congestion control in the samples is the cause.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from netwarp.measure.limits import has_room
from netwarp.measure.run_records import RunRecords
from netwarp.measure.select import sender
from netwarp.metrics.counted_limits import Counted, counted_between, shares_after
from netwarp.metrics.redials import redials
from netwarp.metrics.timer_waits import (
    LINUX_RTO_MIN_NS,
    Span,
    joined,
    overlap_ns,
    stood_at_end,
    timer_waits,
    waits_at_end,
)
from netwarp.transports import TRANSPORTS
from netwarp.wire import Connection, ConnectionSamples, Stats, Transfer

Held = Literal[
    "application", "rwnd", "sndbuf", "slow_start", "avoidance", "recovery", "pacing", "timeout",
    "not_told",
]  # fmt: skip


@dataclass(frozen=True)
class HeldBack:
    """A connection of a sender. Determines from the connection's samples what limited it, and for
    how long.
    """

    samples: ConnectionSamples
    mtu_bytes: int
    paced: bool
    nagles: bool
    """Whether Nagle's algorithm is on: a small write waits until the one before is acknowledged
    (RFC 896).
    """
    tells_repair: bool
    """Whether the stack reports recoveries and time-outs. If it does not, a round-trip time for
    each retransmitted packet is attributed to no cause instead of slow start or avoidance."""
    writes_at_once: bool
    """Whether the connection's application writes all that it has as soon as the send buffer has
    room.
    """
    rto_min_ns: int
    """Minimum in ns by which TCP's retransmission timeout exceeds the smoothed round-trip time."""
    gone_ns: int | None = None
    """Time in ns at which the connection was found to be closed: when other connections were first
    sampled after its last sample, or when the client had moved and replaced it. None if it was
    not."""
    came_ns: int = 0
    """Time in ns at which the connection did not exist yet: when other connections were last
    sampled before its first sample, or the handover after which it was opened. 0 if there is no
    such time."""
    at_end: Stats | None = None
    """The connection's counters at its end; None if the run has several connections."""

    def spent_ns(self, since_ns: int, until_ns: int) -> dict[Held, float]:
        """Return for how long, in ns, each cause limited the connection between two times; empty if
        it did not exist then.
        """
        times = self.samples.at_ns
        found: dict[Held, float] = {}
        first = max(0, bisect_right(times, since_ns) - 1)
        for before in range(first, len(times) - 1):
            if times[before] >= until_ns:
                break
            shared_ns = min(until_ns, times[before + 1]) - max(since_ns, times[before])
            if shared_ns <= 0:
                continue
            part = shared_ns / (times[before + 1] - times[before])
            for cause, spent_ns in self._between(before).items():
                found[cause] = found.get(cause, 0.0) + part * spent_ns
        for index, outside_ns in self._outside(since_ns, until_ns):
            for cause, spent_ns in self._while_outside(index, outside_ns).items():
                found[cause] = found.get(cause, 0.0) + spent_ns
        return found

    def _while_outside(self, index: int, outside_ns: int) -> dict[Held, float]:
        """Return the time in ns of each cause before the first sample (index 0) or after the last
        one (index -1).
        """
        if index == 0:
            return {self._own(0): outside_ns}
        if self._stood_at_end or waits_at_end(self.samples):
            return {"timeout": outside_ns}
        of_rwnd, of_sndbuf = self._shares_after
        rwnd_ns, sndbuf_ns = of_rwnd * outside_ns, of_sndbuf * outside_ns
        own_ns = outside_ns - rwnd_ns - sndbuf_ns
        return {"rwnd": rwnd_ns, "sndbuf": sndbuf_ns, self._own(-1): own_ns}

    @cached_property
    def _shares_after(self) -> tuple[float, float]:
        return shares_after(self.samples, self.at_end)

    @cached_property
    def _counted(self) -> list[Counted]:
        return counted_between(self.samples)

    def _outside(self, since_ns: int, until_ns: int) -> list[tuple[int, int]]:
        """Return the times in ns before the first sample and after the last one, each with the
        index of that sample.

        Times at which the connection did not exist are left out.
        """
        times = self.samples.at_ns
        before_ns = min(until_ns, times[0]) - max(since_ns, self.came_ns)
        if self.gone_ns is not None:
            until_ns = min(until_ns, self.gone_ns)
        after_ns = until_ns - max(since_ns, times[-1])
        return [(index, ns) for index, ns in ((0, before_ns), (-1, after_ns)) if ns > 0]

    def _between(self, index: int) -> dict[Held, float]:
        """Return the time in ns of each cause between a sample and the next."""
        seen, after = self.samples, index + 1
        lasted_ns = seen.at_ns[after] - seen.at_ns[index]
        counted = self._counted[index]
        busy_ns = lasted_ns if self._ends_busy(index) else counted.busy_ns
        rwnd_ns, sndbuf_ns = counted.rwnd_ns, counted.sndbuf_ns
        own_ns = busy_ns - rwnd_ns - sndbuf_ns
        waited_ns = overlap_ns(self._timer_waits, seen.at_ns[index], seen.at_ns[after])
        timeout_ns = min(waited_ns, own_ns)
        found: dict[Held, float] = {
            "application": lasted_ns - busy_ns, "rwnd": rwnd_ns, "sndbuf": sndbuf_ns,
            "timeout": timeout_ns,
        }  # fmt: skip
        half_ns = (own_ns - timeout_ns) / 2
        untold_ns = min(half_ns, self._longest_repair_ns(index) / 2)
        for at in (index, after):
            own = self._own(at)
            own_untold_ns = untold_ns if own in ("slow_start", "avoidance") else 0.0
            found[own] = found.get(own, 0.0) + half_ns - own_untold_ns
            if own_untold_ns:
                found["not_told"] = found.get("not_told", 0.0) + own_untold_ns
        return found

    def _longest_repair_ns(self, index: int) -> float:
        """Return the longest time in ns that recoveries can have lasted between a sample and the
        next, if the stack does not report them.

        A recovery ends when what was sent in it is acknowledged, after a round trip (RFC 9002,
        section 7.3.2; RFC 9260, section 7.2.4), and each repeats at least one packet.
        """
        seen = self.samples
        repeated = 0
        if not self.tells_repair and seen.retrans_packets:
            repeated = seen.retrans_packets[index + 1] - seen.retrans_packets[index]
        rtt_ns = max(seen.rtt_ns[index : index + 2], default=0)
        return repeated * (rtt_ns or math.inf) if repeated else 0.0

    def _ends_busy(self, index: int) -> bool:
        """Return whether the sender had unacknowledged data until its content was complete.

        The last sample, at which everything is acknowledged, does not show what was before it,
        unless a kernel counts the sender's busy time.
        """
        seen = self.samples
        is_last = index == len(seen.at_ns) - 2
        counts = self.tells_repair
        return self.writes_at_once and not counts and is_last and seen.unacked_bytes[index] > 0

    @cached_property
    def _timer_waits(self) -> list[tuple[int, int]]:
        waits = timer_waits(
            self.samples, acks_packets=not self.tells_repair, rto_min_ns=self.rto_min_ns
        )
        return joined([*waits, self._stood_at_end]) if self._stood_at_end else waits

    @cached_property
    def _stood_at_end(self) -> Span | None:
        """The time up to the last sample in which the sender sent nothing and waited for its timer;
        None if it did not.
        """
        if self.gone_ns is not None or not self.writes_at_once:
            return None
        return stood_at_end(self.samples, acks_packets=not self.tells_repair)

    def _own(self, index: int) -> Held:
        """Return the cause for which the sender limited itself at a sample, such as slow start."""
        seen = self.samples
        if seen.has_sent_all[index] and not self.writes_at_once:
            return "application"
        if seen.recovering and seen.recovering[index]:
            return "recovery"
        if has_room(seen, index, self.mtu_bytes) and not seen.has_sent_all[index]:
            if self.paced:
                return "pacing"
            if self.nagles:
                return "not_told"
        begins = not seen.ssthresh_bytes[index]
        return (
            "slow_start"
            if begins or seen.cwnd_bytes[index] < seen.ssthresh_bytes[index]
            else "avoidance"
        )


def held_back(run: RunRecords) -> list[HeldBack]:
    """Return the sampled connections of a run's sender, from which the causes that limited it are
    determined.
    """
    of_sender = sender(run.job)
    own = [
        each
        for each in run.records
        if isinstance(each, ConnectionSamples) and each.side == of_sender and each.at_ns
    ]
    moved_ns = [each.moved_ns for each in redials(run)]
    lives = [_samples_and_times(each, own, moved_ns) for each in own]
    paced = any(each.settings.paced for each in run.of_kind(Connection) if each.side == of_sender)
    only = run.job.only
    closed = [each.stats for each in run.of_kind(Connection) if each.side == of_sender]
    at_end = closed[0] if len(own) == len(closed) == 1 else None
    return [
        HeldBack(
            each, run.job.paths[0].mtu_bytes, paced, not only.transport.nodelay,
            tells_repair=TRANSPORTS[only.transport.kind].runs_over_tcp,
            writes_at_once=bool(run.of_kind(Transfer)),
            rto_min_ns=only.transport.tcp.tcp_rto_min_ns or LINUX_RTO_MIN_NS,
            gone_ns=gone_ns, came_ns=came_ns, at_end=at_end,
        )
        for each, came_ns, gone_ns in lives
    ]  # fmt: skip


def _samples_and_times(
    seen: ConnectionSamples, of_all: Sequence[ConnectionSamples], moved_ns: Sequence[int]
) -> tuple[ConnectionSamples, int, int | None]:
    """Return a connection's samples, with when it began and when it ended.

    A server continues to send to a client that has moved until its timers give up; that belongs to
    no transfer.

    Args:
        seen: the connection's samples.
        of_all: the samples of all connections, which are taken at the same times.
        moved_ns: times in ns at which the client had moved and replaced its connections, in order.
    """
    moments = sorted({at_ns for each in of_all for at_ns in each.at_ns})
    first, last = bisect_left(moments, seen.at_ns[0]), bisect_right(moments, seen.at_ns[-1])
    came_ns = moments[first - 1] if first else 0
    gone_ns = moments[last] if last < len(moments) else None
    replaced = bisect_right(moved_ns, seen.at_ns[0])
    if replaced:
        came_ns = max(came_ns, moved_ns[replaced - 1])
    if replaced < len(moved_ns):
        replaced_ns = moved_ns[replaced]
        seen = _samples_until(seen, replaced_ns)
        gone_ns = replaced_ns if gone_ns is None else min(gone_ns, replaced_ns)
    return seen, came_ns, gone_ns


def _samples_until(seen: ConnectionSamples, until_ns: int) -> ConnectionSamples:
    """Return the samples up to a time in ns."""
    kept = bisect_right(seen.at_ns, until_ns)
    columns = {name: column[:kept] for name, column in seen if isinstance(column, tuple)}
    return seen.model_copy(update=columns)
