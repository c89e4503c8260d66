"""Attributes all time of a transfer, from the first connect to the last byte, to one cause each.

The time is that of the receiver. While the bottleneck sends the transfer's packets, the cause is
the link: its counter of bytes says for how long. While the bottleneck is idle, the cause is what
limited the sender one delay of the path earlier, by the kernel's counters and the samples. Time for
which neither shows a cause is `not_told`, and never divided among the other causes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal, get_args

from netwarp.measure.bottleneck import Bottleneck
from netwarp.measure.run_records import RunRecords
from netwarp.measure.select import connections, sender
from netwarp.metrics.held_back import HeldBack, held_back
from netwarp.metrics.redials import Redial, redials
from netwarp.metrics.timer_waits import Span, joined, overlap_ns
from netwarp.transports import TRANSPORTS, TransportTraits
from netwarp.wire import Connection, GaveUp, Transfer

Cause = Literal[
    "connecting", "handshake", "application", "rwnd", "sndbuf", "slow_start", "avoidance",
    "recovery", "pacing", "timeout", "link", "queue", "propagation", "not_told",
]  # fmt: skip
CAUSES: tuple[Cause, ...] = get_args(Cause)


@dataclass(frozen=True)
class Part:
    """An interval of a run, with the time that each cause (such as slow start) had in it. The order
    of the causes within the interval is not known.
    """

    start_ns: int
    end_ns: int
    spent_ns: Mapping[Cause, int]
    """Time for each cause, in ns; the sum is the length of the interval."""

    def joined(self, following: Part) -> Part:
        """Return this interval and the one that follows it as one."""
        spent = dict(self.spent_ns)
        for cause, spent_ns in following.spent_ns.items():
            spent[cause] = spent.get(cause, 0) + spent_ns
        return Part(self.start_ns, following.end_ns, spent)


@dataclass(frozen=True)
class Attribution:
    """What the time of a transfer was spent on: the causes in each interval of the run, which are
    without gaps.
    """

    parts: tuple[Part, ...]

    @cached_property
    def spent_ns(self) -> Mapping[Cause, int]:
        """Time for each cause in the whole run, in ns."""
        return {cause: sum(part.spent_ns.get(cause, 0) for part in self.parts) for cause in CAUSES}

    @property
    def whole_ns(self) -> int:
        """Length of all intervals together, in ns."""
        return self.parts[-1].end_ns - self.parts[0].start_ns

    @property
    def shares(self) -> Mapping[Cause, float]:
        """Share of the time for each cause; the shares add up to 1."""
        return {cause: spent / self.whole_ns for cause, spent in self.spent_ns.items()}


def attribution(run: RunRecords) -> Attribution | None:
    """Attribute the time of a run of one workload; None if its bottleneck was not sampled, if it
    has several workloads or hosts, if no connection was recorded, or if it was not completed.
    """
    if run.job.names_workloads or run.job.network is not None or not _is_completed(run):
        return None
    dialled = connections(run.measured, "client")
    bottleneck = Bottleneck.of(run.job, run.records, run.whole_span_ns[1])
    if bottleneck is None or not dialled or run.span_ns[1] <= run.span_ns[0]:
        return None
    return _Transfer(run, dialled, bottleneck).attribution


def _is_completed(run: RunRecords) -> bool:
    """Return whether the records are of a whole transfer, of which the end is known."""
    return not run.of_kind(GaveUp) and run.reader.difference(run.job, run.records) is None


class _Transfer:
    """Attributes the time of a transfer to causes, phase after phase."""

    def __init__(
        self, run: RunRecords, dialled: Sequence[Connection], bottleneck: Bottleneck
    ) -> None:
        self.run, self.dialled, self.bottleneck = run, dialled, bottleneck
        self.start_ns, self.end_ns = run.span_ns
        self.parts: list[Part] = []
        self.until_ns = self.start_ns

    @cached_property
    def attribution(self) -> Attribution | None:
        self._connecting()
        self._request()
        self._sending()
        return Attribution(tuple(self.parts)) if self.parts else None

    def _add(self, until_ns: int, spent: Mapping[Cause, float], rest: Cause) -> None:
        """Add an interval that ends at a time. Causes fill it in the order given, each with its
        time, until it is full; what remains is attributed to `rest`.
        """
        until_ns = min(until_ns, self.end_ns)
        left_ns = until_ns - self.until_ns
        if left_ns <= 0:
            return
        taken: dict[Cause, int] = {}
        for cause, asked_ns in spent.items():
            taken[cause] = min(max(0, round(asked_ns)), left_ns)
            left_ns -= taken[cause]
        taken[rest] = taken.get(rest, 0) + left_ns
        shown = {cause: spent_ns for cause, spent_ns in taken.items() if spent_ns}
        self.parts.append(Part(self.until_ns, until_ns, shown))
        self.until_ns = until_ns

    def _connecting(self) -> None:
        """Add the time until the first connections are ready, divided into round trips, time-outs
        and queueing.
        """
        ready_ns = min(each.connected_ns for each in self.dialled)
        crossed_ns = self._tcp_connected_ns()
        rtt_ns = self.bottleneck.delay_ns(self.start_ns, "both")
        if crossed_ns is not None:
            self._round_trips(crossed_ns, "connecting", rtt_ns)
        own: Cause = "handshake" if self._traits.is_encrypted else "connecting"
        self._round_trips(ready_ns, own, rtt_ns)

    @property
    def _traits(self) -> TransportTraits:
        return TRANSPORTS[self.run.job.only.transport.kind]

    def _tcp_connected_ns(self) -> int | None:
        """Return when the client's TCP handshake below TLS was complete, in ns: one delay from
        client to server before the server accepted, or a round-trip time after the start if the
        server's end has no record, as of a connection that the client left when it moved. None
        without TLS over TCP.
        """
        accepted = connections(self.run.measured, "server")
        if not (self._traits.is_encrypted and self._traits.runs_over_tcp and accepted):
            return None
        up_ns = self.bottleneck.delay_ns(self.start_ns, "up")
        crossed_ns = min(each.start_ns for each in accepted) - up_ns
        if crossed_ns <= min(each.connected_ns for each in self.dialled):
            return crossed_ns
        return self.start_ns + self.bottleneck.delay_ns(self.start_ns, "both")

    def _round_trips(self, until_ns: int, own: Cause, rtt_ns: int) -> None:
        """Add the time of a handshake. Time beyond whole round trips is attributed to a time-out if
        it is at least as long as one, and otherwise to queueing.
        """
        lasted_ns = until_ns - self.until_ns
        timer_ns = self._first_timer_ns
        over_ns = lasted_ns - rtt_ns if rtt_ns else 0
        if over_ns >= 0.9 * timer_ns:
            self._add(until_ns, {own: rtt_ns}, "timeout")
        else:
            trips = max(1, round(lasted_ns / rtt_ns)) if rtt_ns else 0
            self._add(until_ns, {own: trips * rtt_ns if trips else lasted_ns}, "queue")

    @property
    def _first_timer_ns(self) -> int:
        transport = self.run.job.only.transport
        return self._traits.first_timer_ns or transport.sctp.rto_initial_ns

    def _request(self) -> None:
        """Add the time in which the request is sent to the sender, and the first byte comes
        back.
        """
        of_sender = sender(self.run.job)
        began = [
            each.first_byte_ns
            for each in self.run.measured
            if isinstance(each, Transfer) and each.side == of_sender
        ]
        if not began and not self.run.received:
            return
        is_download = of_sender == "server"
        asked_ns = self.bottleneck.delay_ns(self.until_ns, "up") if is_download else 0
        # A sender whose transfer was aborted has no record: it begins when it is asked.
        began = began or [self.until_ns + asked_ns]
        arrived_ns = min((each.first_byte_ns for each in self.run.received), default=0)
        # If a client that moved repeats a request, the server's record covers only the last part.
        if 0 < arrived_ns < min(began):
            began = [min(self.until_ns + asked_ns, arrived_ns)]
        repeated = is_download and any(each.stats.retransmitted_packets for each in self.dialled)
        left_ns = max(0, min(began) - self.until_ns - asked_ns)
        dials = {} if repeated else self._dialling(self.until_ns, min(began), left_ns)
        rest: Cause = "timeout" if repeated else "application"
        self._add(min(began), {"propagation": asked_ns, **dials}, rest)
        delay_ns = self.bottleneck.delay_ns(min(began), "content")
        self._add(min(began) + delay_ns, {"propagation": delay_ns}, "application")

    def _sending(self) -> None:
        """Add the time from the arrival of the first byte to that of the last one, sample by
        sample.
        """
        senders = held_back(self.run)
        for since_ns, until_ns in pairwise(self.bottleneck.moments(self.until_ns, self.end_ns)):
            length_ns = until_ns - since_ns
            link_ns = min(self.bottleneck.busy_ns(since_ns, until_ns), length_ns)
            earlier_ns = self.bottleneck.delay_ns(since_ns, "content")
            own = _shares(senders, since_ns - earlier_ns, until_ns - earlier_ns)
            moving = self._moving(since_ns, until_ns, length_ns - link_ns)
            idle_ns = length_ns - link_ns - sum(moving.values())
            spent: dict[Cause, float] = {cause: share * idle_ns for cause, share in own.items()}
            spent |= self._dialling(since_ns, until_ns, spent.get("application", 0.0))
            for cause, moving_ns in ((k, v) for k, v in moving.items() if v):
                spent[cause] = spent.get(cause, 0.0) + moving_ns
            spent = {"link": link_ns, **spent}
            caused = [cause for cause in spent if cause != "link"]
            largest: Cause = max(caused, key=lambda cause: spent[cause], default="not_told")
            self._add(until_ns, {k: v for k, v in spent.items() if k != largest}, largest)

    def _dialling(self, since_ns: int, until_ns: int, asked_ns: float) -> Mapping[Cause, float]:
        """Divide the time in which the sender had no request: the part in which the client set up
        connections, and the rest, which is the application's. Empty if the client set up none.
        """
        spent = _covered_ns(self._dials, since_ns, until_ns, asked_ns)
        asked_ns -= sum(spent.values())
        return {**spent, "application": asked_ns} if any(spent.values()) else {}

    def _moving(self, since_ns: int, until_ns: int, idle_ns: float) -> Mapping[Cause, float]:
        """Return the time between two times in which the client, after a handover, set up
        connections and repeated requests, by cause. At most `idle_ns` counts, the time in which the
        bottleneck was idle.
        """
        return _covered_ns(self._moves, since_ns, until_ns, idle_ns)

    @cached_property
    def _moves(self) -> Mapping[Cause, list[Span]]:
        way_ns = self.bottleneck.delay_ns(self.start_ns, "content")
        if sender(self.run.job) == "server":
            way_ns += self.bottleneck.delay_ns(self.start_ns, "up")
        first = [min(each.dialled, key=lambda one: one.connected_ns) for each in self._redials]
        asking = [(each.connected_ns, each.connected_ns + way_ns) for each in first]
        return {**self._dial_spans(first), "propagation": joined(asking)}

    @cached_property
    def _redials(self) -> list[Redial]:
        return redials(self.run)

    @cached_property
    def _dials(self) -> Mapping[Cause, list[Span]]:
        """Return the intervals in which the client set up connections, other than after a
        handover.
        """
        anew = [each for redial in self._redials for each in redial.dialled]
        return self._dial_spans([each for each in self.dialled if each not in anew])

    def _dial_spans(self, dialled: Sequence[Connection]) -> Mapping[Cause, list[Span]]:
        """Return the intervals in which connections were set up, by cause. TCP below TLS connects
        in the first round trip of each.
        """
        found: dict[Cause, list[Span]] = {"connecting": [], "handshake": []}
        for each in dialled:
            rtt_ns = self.bottleneck.delay_ns(each.start_ns, "both")
            crossed_ns = each.connected_ns
            if self._traits.is_encrypted:
                over_tcp = self._traits.runs_over_tcp
                crossed_ns = min(each.start_ns + rtt_ns * over_tcp, each.connected_ns)
            found["connecting"].append((each.start_ns, crossed_ns))
            found["handshake"].append((crossed_ns, each.connected_ns))
        return {cause: joined(spans) for cause, spans in found.items()}


def _covered_ns(
    spans_of: Mapping[Cause, Sequence[Span]], since_ns: int, until_ns: int, left_ns: float
) -> dict[Cause, float]:
    """Return the time in ns between two times that the intervals of each cause cover; of all causes
    together at most `left_ns`.
    """
    spent: dict[Cause, float] = {}
    for cause, spans in spans_of.items():
        spent[cause] = min(left_ns, overlap_ns(spans, since_ns, until_ns))
        left_ns -= spent[cause]
    return spent


def _shares(senders: Sequence[HeldBack], since_ns: int, until_ns: int) -> Mapping[Cause, float]:
    """Return each cause's share of the senders' time. Connections that have something to send have
    equal weight; if none has, the cause is the application.
    """
    spent: dict[Cause, float] = {}
    for each in senders:
        for cause, ns in each.spent_ns(since_ns, until_ns).items():
            spent[cause] = spent.get(cause, 0.0) + ns
    waiting = {cause: ns for cause, ns in spent.items() if cause != "application" and ns > 0}
    chosen = waiting if len(senders) > 1 and waiting else spent
    whole = sum(chosen.values())
    return {cause: ns / whole for cause, ns in chosen.items() if ns} if whole else {}
