"""The sections of one cell (path, transport, workload, limits), checked against each other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from netwarp import wire
from netwarp.fields import Duplex, KeyValueError
from netwarp.study.cells.cell_transport import CellTransport
from netwarp.study.sections.limits import LimitsSection
from netwarp.study.sections.path import SinglePath
from netwarp.study.sections.paths import PathSection
from netwarp.study.sections.timeline import Lateness
from netwarp.transports import QUIC_DATAGRAM_HEADERS_BYTES, is_simulated
from netwarp.units import NS_PER_S
from netwarp.wire import Reconnect
from netwarp.workloads import WorkloadSection

ALWAYS_MARK = frozenset({"cake", "dualpi2"})
"""Queueing disciplines in which ECN marking cannot be switched off."""
_HALF_DUPLEX = "model = ns3default, whose CSMA link is half duplex"
LINKS: Mapping[wire.Model, tuple[str, Duplex, str]] = {
    "kernel": (
        "links of the kernel (veth pairs with netem) have a rate and a queue for each direction",
        "full",
        _HALF_DUPLEX,
    ),
    "ns3": (
        "ns-3's point-to-point links have a rate and a queue for each direction",
        "full",
        _HALF_DUPLEX,
    ),
    "ns3default": (
        "ns-3's CSMA link carries one packet at a time for both directions",
        "half",
        "model = ns3, whose point-to-point links are full duplex",
    ),
}
"""For each `transport.model`: a description of its links, their duplex, and the remedy for a study
with the other duplex.
"""


@dataclass(frozen=True)
class Crossing:
    """How a workload uses a path that is one of several links between its hosts: with which
    round-trip time, and in which direction.
    """

    rtt_ns: int
    """Round-trip time of all links between the hosts, in ns."""
    is_forward: bool
    """Whether the client is on the side of the link's first end."""


@dataclass(frozen=True)
class CellSections:
    """The sections of one cell, which are consistent with each other.

    Raises:
        KeyValueError: they contradict each other.
    """

    path: PathSection
    transport: CellTransport
    workload: WorkloadSection
    limits: LimitsSection
    crossing: Crossing | None = None
    """How the workload for which the path is sized uses it, if the path is one of several links;
    else None.
    """
    has_small_packets_beside: bool = False
    """Whether other workloads of the cell can fill the path with small packets."""

    def __post_init__(self) -> None:
        self._refuse_hosts_of_no_network()
        self._refuse_what_the_stack_lacks()
        self._refuse_more_streams_than_the_workload_opens()
        self._refuse_packets_beyond_the_path()
        self._refuse_paths_of_another_transport()
        self._refuse_workloads_of_another_transport()
        self._refuse_misfit_messages()
        self._refuse_datagrams_beyond_the_buffer()
        self._refuse_impossible_reconnections()
        self._refuse_late_entries()
        self._refuse_impossible_disciplines()
        self._refuse_another_duplex()
        self.workload.refuse_transport(self.transport.kind, moves=self.path.may_hand_over)
        self.workload.refuse_misfit(self.limits.virtual_s * NS_PER_S, self.parts)
        self._refuse_resumption_of_nothing()

    @cached_property
    def paths(self) -> tuple[SinglePath, ...]:
        """The paths that the cell uses. The second path is left out if nothing could use it: the
        client never moves and the transport uses one path.
        """
        if self.path.may_hand_over:
            uses_second = self.has_handovers
        else:
            uses_second = self.transport.uses_two_paths
        return self.path.all_paths if uses_second else self.path.all_paths[:1]

    @property
    def content_direction(self) -> wire.Direction:
        """Direction in which the content crosses the path."""
        direction = self.workload.content_direction
        if self.crossing is None or self.crossing.is_forward:
            return direction
        return "up" if direction == "down" else "down"

    def queued_rtt_ns(self, path: SinglePath) -> int:
        """Return the round-trip time in ns from which the size of the path's queue follows."""
        return path.base_rtt_ns if self.crossing is None else self.crossing.rtt_ns

    @cached_property
    def events(self) -> tuple[wire.Event, ...]:
        """The events before the run's limit of virtual time, on paths that the cell uses."""
        return self._within_the_run(self.path.events)

    def events_of_replicate(self, lateness: Lateness) -> tuple[wire.Event, ...]:
        """Return the `events` of one replicate, with its random times."""
        return self._within_the_run(self.path.events_of_replicate(lateness))

    def _within_the_run(self, events: Sequence[wire.Event]) -> tuple[wire.Event, ...]:
        if not events:
            return ()
        end_ns = self.limits.virtual_s * NS_PER_S
        before = [event for event in events if event.at_ns <= end_ns]
        moves = any(isinstance(event.change, wire.Attach | wire.Detach) for event in before)
        if not moves and (self.path.may_hand_over or not self.transport.uses_two_paths):
            before = [event for event in before if event.path == 0]
        return tuple(before)

    @cached_property
    def has_handovers(self) -> bool:
        """Whether the client moves between the paths."""
        return any(isinstance(event.change, wire.Attach | wire.Detach) for event in self.events)

    @cached_property
    def disciplines(self) -> frozenset[wire.DisciplineKind]:
        """Queueing disciplines of the paths' bottlenecks, FIFO not included."""
        return frozenset(
            kind
            for path in self.path.all_paths
            for each in (path.down, path.up)
            if (kind := each.discipline) is not None
        )

    @property
    def reconnect(self) -> Reconnect:
        """What happens to connections when the client moves; `new` if it never moves."""
        return self.transport.resolved_reconnect if self.has_handovers else "new"

    @property
    def parts(self) -> int:
        """Number of parts of the content that are transferred at the same time."""
        return self.workload.parts(self.transport.resolved_sctp.streams)

    @property
    def connections(self) -> int:
        """Number of connections over which the parts are transferred."""
        return 1 if self.transport.multiplexes else self.parts

    def _refuse_hosts_of_no_network(self) -> None:
        further = self.workload.further_hosts
        if further and self.crossing is None:
            reason = "there is one client and one server"
            remedy = "drop it, or give [topology] or [[host]], and write [[workload]]"
            raise KeyValueError("workload.program.0.host", further[0], reason, remedy)

    def _refuse_more_streams_than_the_workload_opens(self) -> None:
        streams = self.transport.resolved_sctp.streams
        most = self.workload.most_streams
        if most is not None and streams > most:
            reason = f"a {self.workload.kind} opens all of them at once, at most {most}"
            raise KeyValueError("transport.streams", streams, reason, f"choose {most} or fewer")

    def _refuse_what_the_stack_lacks(self) -> None:
        stack = self.transport.stack
        case = self.workload.runners_case
        if case is not None and (stack is None or not stack.decides_alone):
            reason = "test cases of the interop runner are for programs by its contract"
            remedy = 'give the transport such a stack: { kind = "quic", stack = { interop = "…" } }'
            raise KeyValueError("workload.case", case, reason, remedy)
        if stack is None:
            return
        if self.workload.kind not in stack.workloads:
            carried = " and ".join(stack.workloads)
            reason = f"{stack.name} carries {carried}"
            raise KeyValueError("workload.kind", self.workload.kind, reason, "choose another stack")
        if self.parts > 1 and not stack.chunks:
            reason = f"{stack.name} carries a content in one piece"
            raise KeyValueError("workload.chunks", None, reason, "drop it")
        if stack.decides_alone and self.workload.content_direction == "up":
            reason = f"{stack.name} is a server of files by the interop runner's contract"
            raise KeyValueError("workload.direction", "up", reason, "send it down")
        if stack.decides_alone and self.workload.dials_again:
            reason = f"{stack.name} makes the connections, and ends with the file"
            raise KeyValueError("workload.transfers", None, reason, "drop it")
        if self.workload.merges:
            reason = f"{stack.name}'s role hashes what it receives and writes no file"
            raise KeyValueError("workload.merge", True, reason, "drop it")
        if not self.workload.confirms_parts:
            reason = f"{stack.name}'s role confirms each part"
            raise KeyValueError("workload.done", "transfer", reason, "drop it")
        if self.workload.breaks_off:
            reason = f"{stack.name}'s role does not break a content off"
            raise KeyValueError("workload.duration", None, reason, "give a size instead")
        if self.path.may_hand_over:
            reason = f"{stack.name}'s role does not take notice of a client that moves"
            raise KeyValueError("path.handovers", None, reason, "drop it, or choose another stack")

    def _refuse_packets_beyond_the_path(self) -> None:
        for key, path in zip(("path", "path.second"), self.path.all_paths, strict=False):
            _refuse_misfit(self.transport, path, key)

    def _refuse_paths_of_another_transport(self) -> None:
        transport = self.transport
        if self.path.may_hand_over:
            if transport.resolved_sctp.multihomed:
                reason = "a client that moves has one address at a time"
                remedy = 'drop it, and choose reconnect = "migrate" to keep its associations'
                raise KeyValueError("transport.multihomed", None, reason, remedy)
            return
        if transport.uses_two_paths and self.path.second is None:
            needed = transport.traits.second_path == "needed"
            key = "transport.kind" if needed else "transport.multihomed"
            remedy = 'add [path.second], such as rtt = "30ms" (or --set path.second.rtt=30ms)'
            raise KeyValueError(key, None, "there is one path", remedy)

    def _refuse_workloads_of_another_transport(self) -> None:
        traits, workload = self.transport.traits, self.workload
        if not traits.repeats_what_is_lost and not workload.takes_losses:
            raise KeyValueError(
                "transport.kind",
                self.transport.kind,
                f"{traits.name} repeats nothing that is lost, and a {workload.kind} has to arrive"
                " whole",
                'choose another transport, or workload.kind = "flow"',
            )
        sctp = self.transport.resolved_sctp
        if workload.uses_stream_both_ways and (sctp.streams > 1 or sctp.unordered):
            key = "streams" if sctp.streams > 1 else "unordered"
            reason = f"a {workload.kind} goes over the one stream of an association, in order"
            raise KeyValueError(f"transport.{key}", None, reason, "drop it")
        if self.path.may_hand_over and any(
            path.known_neighbours == "cold" for path in self.path.all_paths
        ):
            reason = "a client that moves is told of its new neighbours"
            remedy = "drop it, or drop path.handovers"
            raise KeyValueError("path.neighbours", "cold", reason, remedy)
        if self.path.may_hand_over and not workload.follows_client:
            reason = f"a {workload.kind} does not follow a client that moves"
            remedy = "drop it, or choose another workload"
            raise KeyValueError("path.handovers", None, reason, remedy)

    def _refuse_misfit_messages(self) -> None:
        transport, message_bytes = self.transport, self.workload.lone_message_bytes
        key = transport.key_of_lone_messages
        if key is None or (message_bytes is None and key == "unordered"):
            return
        if message_bytes is None:
            reason = f"it holds for the messages of a flow, and this is a {self.workload.kind}"
            remedy = 'drop it, or choose workload.kind = "flow"'
            raise KeyValueError(f"transport.{key}", None, reason, remedy)
        if key == "datagrams":
            header_bytes = transport.traits.header_bytes_over(self.path.ip_version)
            packet_bytes = self.path.mtu_bytes - header_bytes
            packet_bytes = min(packet_bytes, transport.mss_bytes or packet_bytes)
            room_bytes = packet_bytes - QUIC_DATAGRAM_HEADERS_BYTES
            reason = f"a QUIC packet has room for a datagram of {room_bytes} bytes"
            remedy = "send less, raise path.mtu, or drop transport.datagrams"
        else:
            room_bytes = transport.resolved_sctp.max_message_bytes
            reason = f"the largest message of SCTP has {room_bytes} bytes"
            remedy = "send less, or raise transport.max_message"
        if message_bytes > room_bytes:
            raise KeyValueError("workload.payload", message_bytes, reason, remedy)

    def _refuse_datagrams_beyond_the_buffer(self) -> None:
        room_bytes = self.transport.buffer_bytes
        if room_bytes is None or self.transport.traits.repeats_what_is_lost:
            return
        for key, datagram_bytes in self.workload.datagrams_bytes.items():
            if datagram_bytes > room_bytes:
                reason = f"a datagram has no room in a socket's buffer of {room_bytes} bytes"
                remedy = "send less, or raise transport.buffer"
                raise KeyValueError(f"workload.{key}", datagram_bytes, reason, remedy)

    def _refuse_impossible_reconnections(self) -> None:
        transport = self.transport
        if transport.reconnect is not None and not self.path.may_hand_over:
            reason, remedy = "the client never moves", "give [path.handovers], or drop it"
            raise KeyValueError("transport.reconnect", transport.reconnect, reason, remedy)
        if (
            self.path.may_hand_over
            and transport.resolved_reconnect == "new"
            and self.workload.content_direction == "up"
        ):
            raise KeyValueError(
                "workload.direction",
                "up",
                "over a new connection a content goes on at the byte reached, which only its"
                " receiver knows and a dialling sender would have to be told",
                'send it down, or choose reconnect = "migrate" where the transport can',
            )

    def _refuse_late_entries(self) -> None:
        if self.workload.start_jitter_ns >= self.limits.virtual_s * NS_PER_S:
            reason = f"the run is given up after {self.limits.virtual_s}s, perhaps before it begins"
            remedy = "choose a shorter one, or raise limits.virtual_s"
            raise KeyValueError("workload.start_jitter", None, reason, remedy)
        for index, entry in enumerate(self.path.timeline):
            if entry.at_ns > self.limits.virtual_s * NS_PER_S:
                reason = f"the run is given up after {self.limits.virtual_s}s"
                remedy = "choose an earlier time, or raise limits.virtual_s"
                raise KeyValueError(f"path.timeline.{index}.at", None, reason, remedy)

    def _refuse_impossible_disciplines(self) -> None:
        transport = self.transport
        if not self.disciplines:
            return
        if is_simulated(transport.model):
            reason = f"ns-3's router has a queue that is first in, first out ({transport.model})"
            raise KeyValueError("path.discipline", None, reason, "choose fifo, or model = kernel")
        if transport.stack is not None and not transport.ecn and self.disciplines & ALWAYS_MARK:
            raise KeyValueError(
                "path.discipline",
                None,
                f"it marks whatever is offered, and whether {transport.stack.name} offers ECN is"
                " its own to say",
                "set transport.ecn = true, or choose another discipline",
            )
        for index, event in ((event.path, event) for event in self.path.events):
            changed = isinstance(event.change, wire.Rate) and self.path.all_paths[
                index
            ].impairments(event.change.direction)
            if changed and changed.discipline == "cake":
                reason = "cake keeps one rate by its own shaper"
                remedy = "drop the changes of rate, or choose another discipline"
                raise KeyValueError("path.discipline", "cake", reason, remedy)

    def _refuse_another_duplex(self) -> None:
        """Refuse a model of transports whose links have another duplex than the study needs."""
        links, duplex, remedy = LINKS[self.transport.model]
        for key, path in zip(("path", "path.second"), self.path.all_paths, strict=False):
            if path.asked_duplex not in (None, duplex):
                raise KeyValueError(
                    f"{key}.duplex", path.asked_duplex, links, f"drop it, or choose {remedy}"
                )

    def _refuse_resumption_of_nothing(self) -> None:
        self.workload.refuse_resume(self.transport.kind, self.transport.resume)
        dials_once = not self.workload.dials_again and not self.path.may_hand_over
        if self.transport.resume != "none" and dials_once:
            reason = "the run's only transfer has nothing to resume"
            remedy = "set workload.transfers = 2, or let the client move with [path.handovers]"
            raise KeyValueError("transport.resume", self.transport.resume, reason, remedy)


def _refuse_misfit(transport: CellTransport, path: SinglePath, table: str) -> None:
    kind, traits, mtu_bytes = transport.kind, transport.traits, path.mtu_bytes
    header_bytes = traits.header_bytes_over(path.ip_version)
    largest_bytes = mtu_bytes - header_bytes
    if transport.mss_bytes is not None and transport.mss_bytes > largest_bytes:
        reason = f"more than {largest_bytes} bytes of {kind} do not fit an MTU of {mtu_bytes}"
        remedy = f"lower mss or raise {table}.mtu"
        raise KeyValueError("transport.mss", transport.mss_bytes, reason, remedy)
    packet_bytes = min(largest_bytes, transport.mss_bytes or largest_bytes)
    if traits.most_packet_bytes is not None and packet_bytes > traits.most_packet_bytes:
        raise KeyValueError(
            f"{table}.mtu",
            mtu_bytes,
            f"{kind} would fill it with packets of {packet_bytes} bytes, and"
            f" {traits.most_packet_reason}",
            f"choose at most {traits.most_packet_bytes + header_bytes}, or"
            f" transport.mss = {traits.most_packet_bytes}",
        )
    if largest_bytes < traits.least_packet_bytes:
        raise KeyValueError(
            f"{table}.mtu",
            mtu_bytes,
            f"{traits.name} needs packets of {traits.least_packet_bytes} bytes"
            " (RFC 9000, section 14)",
            f"choose at least {traits.least_packet_bytes + header_bytes}",
        )
