"""Computes the limits of a path's queues: netem's in packets, and a shaper's in bytes.

netem's ``limit`` counts both the packets in its delay line and those queued for the bottleneck. A
study states only the queue, which is therefore in a second netem behind the delay line, or in a
shaper. Where neither can be, the delay line is added here. Packets are frames of the direction:
full-size frames in the direction of the data, and bare acknowledgements in the other. A limit
computed from full-size frames would drop acknowledgements there that a real router would not.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import Literal

from netwarp import wire
from netwarp.fields import KeyValueError
from netwarp.study.cells.cell_sections import CellSections
from netwarp.study.sections.impairments import AskedImpairments
from netwarp.study.sections.path import SinglePath
from netwarp.study.sections.timeline import halves_ns
from netwarp.transports import TCP_HEADER_BYTES, UDP_HEADER_BYTES, ip_header_bytes
from netwarp.units import ETHERNET_HEADER_BYTES, NS_PER_S
from netwarp.wire import Direction

UNLIMITED_LIMIT_PACKETS = 1_000_000
"""Packet limit of netem if the rate is unlimited: no queue forms, so that it is never reached."""
DEFAULT_QUEUE_MIN_PACKETS = 20
"""Minimum size of the default queue in packets: two initial windows, however short the path is."""
LARGEST_LIMIT_PACKETS = 2**32 - 1
"""Largest limit of netem in packets, and largest queue of a shaper in bytes."""
SMALLEST_RATE_BIT_S = 8
"""Smallest rate of a shaper in bit/s: one byte per second."""
DEVIATIONS = 4
"""Number of jitters or standard deviations by which delays may exceed the mean before the delay
line is full."""
LONGEST_DEBT_S = 60
"""Longest transmission time of a packet, in s, that a shaper takes into account (`mbuffer` in
net/sched/sch_htb.c). After a packet that takes longer, the next one would be sent too early.
"""


@dataclass(frozen=True)
class PathDirection:
    """One direction of a path of a cell: its rates and delays, and the limits of its queues."""

    cell: CellSections
    direction: Direction
    index: int = 0
    """Index of the path among all of the study, also of one that the client of this cell never
    uses.
    """

    @cached_property
    def path(self) -> SinglePath:
        """The path's section."""
        return self.cell.path.all_paths[self.index]

    @cached_property
    def impairments(self) -> AskedImpairments:
        """What the study asks for in this direction."""
        return self.path.impairments(self.direction)

    @cached_property
    def limit_packets(self) -> int:
        """Packet limit of the netem that has the delay line.

        If the queue is in a second netem or in a shaper behind it, no packet is dropped in the
        delay line. Otherwise the limit counts both, and the packet that is being transmitted. If
        packets are reordered, the shaper comes before netem, whose limit counts the delay line and
        the queue.

        Raises:
            KeyValueError: there is a queue without a bottleneck, or it has no room, or is beyond
                netem's range.
        """
        impairments = self.impairments
        if impairments.usual_rate_bit_s is None:
            if impairments.queue is not None:
                key = self._key("queue")
                raise KeyValueError(
                    key,
                    None,
                    "no queue forms where the rate is unlimited",
                    "give rate too",
                    missing=_sibling_key(key, "rate"),
                )
            return UNLIMITED_LIMIT_PACKETS
        if self.is_shaped and not impairments.reorders:
            return UNLIMITED_LIMIT_PACKETS
        if self.waiting_packets is not None:
            return UNLIMITED_LIMIT_PACKETS
        rate_bit_s = self.peak_rate_bit_s if self.is_shaped else impairments.usual_rate_bit_s
        delay_line_bytes = Fraction(rate_bit_s * self.longest_delay_ns, 8 * NS_PER_S)
        frame = self._smallest_frame_bytes
        packets = ceil(delay_line_bytes / frame) + self._queue_packets(frame)
        return self._checked_packets(packets if self.is_shaped else packets + 1)

    @cached_property
    def waiting_packets(self) -> int | None:
        """How many packets can wait at a bottleneck whose FIFO queue counts packets.

        None if it counts bytes or is a queueing discipline's, or if one netem has the queue and the
        delay line: there is no delay, the shaper is before a netem that reorders packets, or what
        the netem collects or duplicates must stay on one device.

        Raises:
            KeyValueError: the queue has no room, or is beyond netem's range.
        """
        impairments = self.impairments
        if impairments.discipline is not None or impairments.policer_bytes is not None:
            return None
        if self.is_shaped:
            return None if impairments.reorders else impairments.asked_packets
        if impairments.rate_bit_s is None or self.longest_delay_ns == 0:
            return None
        if impairments.collects or (impairments.duplicates and self._stays_on_device):
            return None
        return self._checked_packets(self._queue_packets(self._smallest_frame_bytes))

    def _checked_packets(self, packets: int) -> int:
        if packets > LARGEST_LIMIT_PACKETS:
            reason = f"{packets} packets are more than netem can hold"
            raise KeyValueError(self._key("queue"), None, reason, "lower queue, rate or delay")
        return packets

    @cached_property
    def is_shaped(self) -> bool:
        """Whether a shaper instead of netem enforces the rate: the rate changes, there is a
        queueing discipline or a policer, or the FIFO queue has to be in a shaper.
        """
        impairments = self.impairments
        if impairments.trace is not None or impairments.discipline is not None:
            return True
        if impairments.policer_bytes is not None:
            return True
        return bool(self._changed_rates_bit_s) or self._is_fifo_shaped

    @property
    def _is_fifo_shaped(self) -> bool:
        """Whether a FIFO queue at a fixed rate is in a shaper: it is stated in bytes or BDPs, and
        packets have several sizes, so that bytes are counted; or packets are collected behind it.

        netem keeps queues that are stated in packets, and those of packets of one size, whose bytes
        are as many packets.
        """
        cell, impairments = self.cell, self.impairments
        rate_bit_s = impairments.rate_bit_s
        if rate_bit_s is None or impairments.reorders or cell.transport.model != "kernel":
            return False
        if rate_bit_s < self._least_shaped_bit_s or self._stays_on_device:
            return False
        if impairments.collects:
            return True
        if impairments.asked_packets is not None:
            return False
        if cell.has_small_packets_beside:
            return True
        return cell.workload.has_packets_below(self.path.mtu_bytes - self._datagram_header_bytes)

    @property
    def _stays_on_device(self) -> bool:
        """Whether packets must not leave the router's device for another one: those of a flow over
        SCTP would return with another checksum, and could not be followed through the router.
        """
        workload = self.cell.workload
        is_followed = (
            workload.lone_message_bytes is not None and not self.cell.has_small_packets_beside
        )
        return is_followed and not self.cell.transport.traits.keeps_packets_in_shapers

    @property
    def _datagram_header_bytes(self) -> int:
        return ip_header_bytes(self.path.ip_version) + UDP_HEADER_BYTES

    @property
    def _least_shaped_bit_s(self) -> int:
        """The lowest rate that a shaper can enforce for full-size packets, in bit/s."""
        return ceil(8 * self._full_frame_bytes / LONGEST_DEBT_S)

    @property
    def _full_frame_bytes(self) -> int:
        return self.path.mtu_bytes + ETHERNET_HEADER_BYTES

    @cached_property
    def keeps_order(self) -> bool:
        """Whether netem is set to keep packets in order although their delays differ, as there is
        jitter, or a rate and a delay that changes.

        A netem with a delay line and a rate always keeps the order.

        Raises:
            KeyValueError: the study asks for reordering in this direction.
        """
        impairments = self.impairments
        has_jitter = impairments.jitter_ns > 0 or impairments.longest_repair_ns > 0
        has_rate = impairments.usual_rate_bit_s is not None
        if not has_jitter and not (has_rate and self._changes_delay):
            return False
        is_elsewhere = self.waiting_packets is not None or self.is_shaped or impairments.reorders
        if impairments.rate_bit_s is None or is_elsewhere:
            return impairments.in_order
        if not impairments.in_order:
            reason = f"netem keeps the {self.direction} rate, and packets in order with it"
            remedy = "drop jitter_order or rate, or choose a discipline"
            raise KeyValueError(self._key("jitter_order"), "free", reason, remedy)
        return False

    @property
    def _changes_delay(self) -> bool:
        """Whether the path's delay changes during a run, by its timeline or by redraws."""
        if self.path.redraw is not None:
            return True
        events = self.cell.path.events
        return any(
            event.path == self.index and isinstance(event.change, wire.Delay) for event in events
        )

    @cached_property
    def shaper_queue_bytes(self) -> int | None:
        """The queue limit of the direction's shaper in bytes; None if netem limits the rate.

        A queue that the study gives in packets is converted with full-size packets. The default is
        one BDP at the usual rate.

        Raises:
            KeyValueError: the queue is too small for a packet, or beyond the range of the shaper's
                bucket, or the rate is lower than the shaper can enforce.
        """
        if not self.is_shaped:
            return None
        impairments = self.impairments
        frame = self._full_frame_bytes
        least_bit_s = self._least_shaped_bit_s
        rates_bit_s = (impairments.rate_bit_s or 0, *self._changed_rates_bit_s)
        if any(0 < rate_bit_s < least_bit_s for rate_bit_s in rates_bit_s):
            reason = f"a policer or discipline keeps no rate below {least_bit_s} bit/s: a packet's"
            reason = f"{reason} time would be more than a minute"
            raise KeyValueError(self._key("rate"), None, reason, "raise rate")
        if impairments.policer_bytes is not None:
            size_bytes = frame
        elif impairments.queue is None:
            size_bytes = max(DEFAULT_QUEUE_MIN_PACKETS * frame, ceil(self._bdp_bytes))
        elif impairments.asked_packets is not None:
            size_bytes = impairments.asked_packets * frame
        else:
            size_bytes = max(frame, ceil(self._queue_bytes))
        if size_bytes > LARGEST_LIMIT_PACKETS:
            reason = f"{size_bytes} bytes are more than a shaper can hold"
            raise KeyValueError(self._key("queue"), None, reason, "lower queue, rate or delay")
        return size_bytes

    @property
    def held_bytes(self) -> int:
        """The most bytes that the bottleneck's queue holds, for a direction with a limited rate."""
        shaper_bytes = self.shaper_queue_bytes
        return self.queue_packets * self.frame_bytes if shaper_bytes is None else shaper_bytes

    @property
    def initial_rate_bit_s(self) -> int | None:
        """The rate in bit/s at the start of a run; None if it is unlimited.

        A trace sets the rate at the start of a run. A queueing discipline is set up for the trace's
        mean rate, on which RED's averages depend.
        """
        trace = self.impairments.trace
        if trace is None or self.impairments.discipline is None:
            return self.impairments.rate_bit_s
        return max(trace.mean_bit_s, SMALLEST_RATE_BIT_S)

    @property
    def discipline(self) -> wire.Discipline | None:
        """The queueing discipline at the bottleneck, with its limit; None for FIFO."""
        kind, transport = self.impairments.discipline, self.cell.transport
        if kind is None:
            return None
        return wire.Discipline(
            kind=kind,
            limit_packets=self.queue_packets,
            frame_bytes=self.frame_bytes,
            ecn=bool(transport.ecn) or transport.congestion == "dctcp",
            any_ect=kind == "dualpi2" and self.impairments.any_ect,
            ack_filter=kind == "cake" and self.impairments.ack_filter,
        )

    @cached_property
    def longest_delay_ns(self) -> int:
        """The longest one-way delay in ns, events included."""
        down_ns, up_ns = halves_ns(longest_rtt_ns(self.cell, self.index))
        changed_ns = down_ns if self.direction == "down" else up_ns
        if self.path.redraw is not None:
            return changed_ns
        spread_ns = DEVIATIONS * self.impairments.jitter_ns + self.impairments.longest_repair_ns
        return max(self.impairments.delay_ns, changed_ns) + spread_ns

    @property
    def queue_packets(self) -> int:
        """The limit of the bottleneck's queue in packets, for a direction with a limited rate."""
        return self._queue_packets(self.frame_bytes)

    def _queue_packets(self, frame: int) -> int:
        """Return the limit of the bottleneck's queue in frames of this size in bytes."""
        if self.impairments.queue is None:
            return max(DEFAULT_QUEUE_MIN_PACKETS, ceil(self._bdp_bytes / frame))
        if self.impairments.asked_packets is not None:
            return self.impairments.asked_packets
        return ceil(self._queue_bytes / frame)

    @cached_property
    def _queue_bytes(self) -> Fraction:
        """The size in bytes of a queue that is stated in BDPs or bytes."""
        queue = self.impairments.queue
        if queue is None or queue.unit == "packets":
            raise AssertionError("a queue in packets has no size in bytes")
        size_bytes = Fraction(queue.amount) * (self._bdp_bytes if queue.unit == "bdp" else 1)
        if size_bytes == 0:
            reason = "the bandwidth-delay product is 0 without a delay"
            remedy = 'give rtt, or the queue in bytes or packets, such as "64kB" or "1000p"'
            key = self._key("queue")
            raise KeyValueError(key, None, reason, remedy, missing=_sibling_key(key, "rtt"))
        return size_bytes

    @cached_property
    def _bdp_bytes(self) -> Fraction:
        """The bandwidth-delay product in bytes; 0 if the rate is unlimited."""
        rtt_ns = self.cell.queued_rtt_ns(self.path)
        return Fraction((self.impairments.usual_rate_bit_s or 0) * rtt_ns, 8 * NS_PER_S)

    @property
    def peak_rate_bit_s(self) -> int:
        """The highest rate in bit/s, events included."""
        return max(self.impairments.peak_rate_bit_s, *self._changed_rates_bit_s, 0)

    @cached_property
    def _changed_rates_bit_s(self) -> list[int]:
        """All rates in bit/s to which the timeline changes the direction."""
        return [
            event.change.rate_bit_s
            for event in self.cell.path.events
            if event.path == self.index
            and isinstance(event.change, wire.Rate)
            and event.change.direction == self.direction
        ]

    @cached_property
    def frame_bytes(self) -> int:
        """The size in bytes of the direction's frames: full-size data or bare acknowledgements."""
        path, transport = self.path, self.cell.transport
        # TCP's headers are assumed for all transports, so that all have the same queue.
        headers_bytes = ip_header_bytes(path.ip_version) + TCP_HEADER_BYTES
        if self.direction != self.cell.content_direction:
            # the smallest acknowledgement
            return ETHERNET_HEADER_BYTES + headers_bytes
        packet_bytes = path.mtu_bytes
        if transport.mss_bytes is not None:
            packet_bytes = min(packet_bytes, transport.mss_bytes + headers_bytes)
        return packet_bytes + ETHERNET_HEADER_BYTES

    @property
    def _smallest_frame_bytes(self) -> int:
        """The size in bytes of the smallest frames that fill the direction."""
        message_bytes = self.cell.workload.lone_message_bytes
        if self.direction != self.cell.content_direction or message_bytes is None:
            return self.frame_bytes
        headers_bytes = self._datagram_header_bytes + ETHERNET_HEADER_BYTES
        return min(self.frame_bytes, message_bytes + headers_bytes)

    def _key(self, stem: Literal["queue", "rate", "jitter_order"]) -> str:
        """Return the key of the study that gives this property of the direction."""
        own = f"{stem}_{self.direction}"
        section = "path.second" if self.index else "path"
        return f"{section}.{own if own in self.path.model_fields_set else stem}"


def longest_rtt_ns(cell: CellSections, index: int) -> int:
    """Return the longest round-trip time of a path in ns, events included."""
    path = cell.path.all_paths[index]
    if path.redraw is not None:
        return path.base_rtt_ns + DEVIATIONS * path.redraw_deviation_ns
    changed_ns = (
        event.change.down_ns + event.change.up_ns
        for event in cell.path.events
        if isinstance(event.change, wire.Delay) and event.path == index
    )
    return max(path.base_rtt_ns, *changed_ns, 0)


def _sibling_key(key: str, other: str) -> str:
    """Return the key of this name in the same section as `key`."""
    return f"{key.rpartition('.')[0]}.{other}"
