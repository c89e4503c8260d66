"""Computes the limits of a path's queues: netem's in packets, and a shaper's in bytes.

netem's ``limit`` counts both the packets in its delay line and those queued for the bottleneck. A
study states only the queue, which is therefore in a second netem behind the delay line, or in a
shaper. Where neither can be, the delay line is added here. Packets are frames of the direction:
full-size frames in the direction of the data, and bare acknowledgements in the other. A limit
computed from full-size frames would drop acknowledgements there that a real router would not.
"""

from __future__ import annotations

from fractions import Fraction
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


def limit_packets(cell: CellSections, direction: Direction, index: int = 0) -> int:
    """Return the packet limit of the netem that has the delay line of one direction of a path.

    If the queue is in a second netem or in a shaper behind it, no packet is dropped in the delay
    line. Otherwise the limit counts both, and the packet that is being transmitted. If packets are
    reordered, the shaper comes before netem, whose limit counts the delay line and the queue.

    Raises:
        KeyValueError: there is a queue without a bottleneck, or it has no room, or is beyond
            netem's range.
    """
    path = _path(cell, index)
    impairments = path.impairments(direction)
    if impairments.usual_rate_bit_s is None:
        if impairments.queue is not None:
            key = _key("queue", direction, path, index)
            raise KeyValueError(
                key,
                None,
                "no queue forms where the rate is unlimited",
                "give rate too",
                missing=_sibling_key(key, "rate"),
            )
        return UNLIMITED_LIMIT_PACKETS
    shaped = is_shaped(cell, direction, index)
    if shaped and not impairments.reorders:
        return UNLIMITED_LIMIT_PACKETS
    if waiting_packets(cell, direction, index) is not None:
        return UNLIMITED_LIMIT_PACKETS
    rate_bit_s = impairments.usual_rate_bit_s
    if shaped:
        rate_bit_s = peak_rate_bit_s(cell, direction, index)
    delay_line_ns = longest_delay_ns(cell, direction, index)
    delay_line_bytes = Fraction(rate_bit_s * delay_line_ns, 8 * NS_PER_S)
    frame = _smallest_frame_bytes(cell, direction, index)
    packets = ceil(delay_line_bytes / frame) + queue_packets(cell, direction, index, frame)
    return _checked_packets(cell, direction, index, packets if shaped else packets + 1)


def waiting_packets(cell: CellSections, direction: Direction, index: int = 0) -> int | None:
    """Return how many packets can wait at a bottleneck whose FIFO queue counts packets.

    None if it counts bytes or is a queueing discipline's, or if one netem has the queue and the
    delay line: there is no delay, the shaper is before a netem that reorders packets, or what the
    netem collects or duplicates must stay on one device.

    Raises:
        KeyValueError: the queue has no room, or is beyond netem's range.
    """
    impairments = _path(cell, index).impairments(direction)
    if impairments.discipline is not None or impairments.policer_bytes is not None:
        return None
    if is_shaped(cell, direction, index):
        return None if impairments.reorders else impairments.asked_packets
    if impairments.rate_bit_s is None or longest_delay_ns(cell, direction, index) == 0:
        return None
    if impairments.collects or (impairments.duplicates and _stays_on_device(cell)):
        return None
    frame = _smallest_frame_bytes(cell, direction, index)
    waiting = queue_packets(cell, direction, index, frame)
    return _checked_packets(cell, direction, index, waiting)


def _checked_packets(cell: CellSections, direction: Direction, index: int, packets: int) -> int:
    if packets > LARGEST_LIMIT_PACKETS:
        reason = f"{packets} packets are more than netem can hold"
        remedy = "lower queue, rate or delay"
        key = _key("queue", direction, _path(cell, index), index)
        raise KeyValueError(key, None, reason, remedy)
    return packets


def is_shaped(cell: CellSections, direction: Direction, index: int = 0) -> bool:
    """Return whether a shaper instead of netem enforces the rate: the rate changes, there is a
    queueing discipline or a policer, or the FIFO queue has to be in a shaper.
    """
    impairments = _path(cell, index).impairments(direction)
    if impairments.trace is not None or impairments.discipline is not None:
        return True
    if impairments.policer_bytes is not None:
        return True
    return bool(_rate_changes(cell, direction, index)) or _is_fifo_shaped(cell, direction, index)


def _is_fifo_shaped(cell: CellSections, direction: Direction, index: int) -> bool:
    """Return whether a FIFO queue at a fixed rate is in a shaper: it is stated in bytes or BDPs,
    and packets have several sizes, so that bytes are counted; or packets are collected behind it.

    netem keeps queues that are stated in packets, and those of packets of one size, whose bytes are
    as many packets.
    """
    path = _path(cell, index)
    impairments = path.impairments(direction)
    rate_bit_s = impairments.rate_bit_s
    if rate_bit_s is None or impairments.reorders or cell.transport.model != "kernel":
        return False
    if rate_bit_s < _least_shaped_bit_s(path) or _stays_on_device(cell):
        return False
    if impairments.collects:
        return True
    if impairments.asked_packets is not None:
        return False
    if cell.has_small_packets_beside:
        return True
    return cell.workload.has_packets_below(path.mtu_bytes - _datagram_header_bytes(path))


def _stays_on_device(cell: CellSections) -> bool:
    """Return whether packets must not leave the router's device for another one: those of a flow
    over SCTP would return with another checksum, and could not be followed through the router.
    """
    is_followed = cell.workload.lone_message_bytes is not None and not cell.has_small_packets_beside
    return is_followed and not cell.transport.traits.keeps_packets_in_shapers


def _datagram_header_bytes(path: SinglePath) -> int:
    return ip_header_bytes(path.ip_version) + UDP_HEADER_BYTES


def _least_shaped_bit_s(path: SinglePath) -> int:
    """Return the lowest rate that a shaper can enforce for full-size packets, in bit/s."""
    return ceil(8 * (path.mtu_bytes + ETHERNET_HEADER_BYTES) / LONGEST_DEBT_S)


def _rate_changes(cell: CellSections, direction: Direction, index: int) -> list[int]:
    """Return all rates in bit/s to which the timeline changes a direction."""
    return [
        event.change.rate_bit_s
        for event in cell.path.events
        if event.path == index
        and isinstance(event.change, wire.Rate)
        and event.change.direction == direction
    ]


def keeps_order(cell: CellSections, direction: Direction, index: int = 0) -> bool:
    """Return whether netem is set to keep packets in order although it has jitter.

    A netem with a delay line and a rate always keeps the order.

    Raises:
        KeyValueError: the study asks for reordering in that direction.
    """
    path = _path(cell, index)
    impairments = path.impairments(direction)
    if impairments.jitter_ns == 0 and impairments.longest_repair_ns == 0:
        return False
    is_separate = waiting_packets(cell, direction, index) is not None
    is_elsewhere = is_separate or is_shaped(cell, direction, index) or impairments.reorders
    if impairments.rate_bit_s is None or is_elsewhere:
        return impairments.in_order
    if not impairments.in_order:
        reason = f"netem keeps the {direction} rate, and packets in order with it"
        remedy = "drop jitter_order or rate, or choose a discipline"
        raise KeyValueError(_key("jitter_order", direction, path, index), "free", reason, remedy)
    return False


def shaper_queue_bytes(cell: CellSections, direction: Direction, index: int = 0) -> int | None:
    """Return the queue limit of a direction's shaper in bytes; None if netem limits the rate.

    A queue that the study gives in packets is converted with full-size packets. The default is one
    BDP at the usual rate.

    Raises:
        KeyValueError: the queue is too small for a packet, or beyond the range of the shaper's
            bucket, or the rate is lower than the shaper can enforce.
    """
    if not is_shaped(cell, direction, index):
        return None
    path = _path(cell, index)
    impairments = path.impairments(direction)
    frame = path.mtu_bytes + ETHERNET_HEADER_BYTES
    least_bit_s = _least_shaped_bit_s(path)
    changes = _rate_changes(cell, direction, index)
    if any(0 < rate_bit_s < least_bit_s for rate_bit_s in (impairments.rate_bit_s or 0, *changes)):
        key = _key("rate", direction, path, index)
        reason = f"a policer or discipline keeps no rate below {least_bit_s} bit/s: a packet's time"
        raise KeyValueError(key, None, f"{reason} would be more than a minute", "raise rate")
    bdp = bdp_bytes(impairments, cell.queued_rtt_ns(path))
    queue = impairments.queue
    if impairments.policer_bytes is not None:
        size_bytes = frame
    elif queue is None:
        size_bytes = max(DEFAULT_QUEUE_MIN_PACKETS * frame, ceil(bdp))
    elif impairments.asked_packets is not None:
        size_bytes = impairments.asked_packets * frame
    else:
        size_bytes = max(frame, ceil(_queue_bytes(cell, direction, index)))
    if size_bytes > LARGEST_LIMIT_PACKETS:
        key = _key("queue", direction, path, index)
        reason = f"{size_bytes} bytes are more than a shaper can hold"
        raise KeyValueError(key, None, reason, "lower queue, rate or delay")
    return size_bytes


def initial_rate_bit_s(cell: CellSections, direction: Direction, index: int = 0) -> int | None:
    """Return the rate in bit/s of a direction at the start of a run; None if it is unlimited.

    A trace sets the rate at the start of a run. A queueing discipline is set up for the trace's
    mean rate, on which RED's averages depend.
    """
    impairments = _path(cell, index).impairments(direction)
    if impairments.trace is None or impairments.discipline is None:
        return impairments.rate_bit_s
    return max(impairments.trace.mean_bit_s, SMALLEST_RATE_BIT_S)


def discipline(cell: CellSections, direction: Direction, index: int = 0) -> wire.Discipline | None:
    """Return the queueing discipline at a direction's bottleneck, with its limit; None for FIFO."""
    impairments = _path(cell, index).impairments(direction)
    kind = impairments.discipline
    if kind is None:
        return None
    return wire.Discipline(
        kind=kind,
        limit_packets=queue_packets(cell, direction, index),
        frame_bytes=frame_bytes(cell, direction, index),
        ecn=bool(cell.transport.ecn) or cell.transport.congestion == "dctcp",
        any_ect=kind == "dualpi2" and impairments.any_ect,
        ack_filter=kind == "cake" and impairments.ack_filter,
    )


def longest_delay_ns(cell: CellSections, direction: Direction, index: int = 0) -> int:
    """Return the longest one-way delay of a direction in ns, events included."""
    down_ns, up_ns = halves_ns(longest_rtt_ns(cell, index))
    impairments = _path(cell, index).impairments(direction)
    changed_ns = down_ns if direction == "down" else up_ns
    if _path(cell, index).redraw is not None:
        return changed_ns
    spread_ns = DEVIATIONS * impairments.jitter_ns + impairments.longest_repair_ns
    return max(impairments.delay_ns, changed_ns) + spread_ns


def longest_rtt_ns(cell: CellSections, index: int) -> int:
    """Return the longest round-trip time of a path in ns, events included."""
    path = _path(cell, index)
    if path.redraw is not None:
        return path.base_rtt_ns + DEVIATIONS * path.redraw_deviation_ns
    changed_ns = (
        event.change.down_ns + event.change.up_ns
        for event in cell.path.events
        if isinstance(event.change, wire.Delay) and event.path == index
    )
    return max(path.base_rtt_ns, *changed_ns, 0)


def queue_packets(
    cell: CellSections, direction: Direction, index: int = 0, frame: int | None = None
) -> int:
    """Return the limit of the bottleneck's queue in packets, for a direction with a limited rate.

    Args:
        cell: the cell's sections.
        direction: the direction.
        index: the path's index.
        frame: size of the packets in bytes; None for that of the direction's frames.
    """
    impairments = _path(cell, index).impairments(direction)
    frame = frame_bytes(cell, direction, index) if frame is None else frame
    if impairments.queue is None:
        bdp = bdp_bytes(impairments, cell.queued_rtt_ns(_path(cell, index)))
        return max(DEFAULT_QUEUE_MIN_PACKETS, ceil(bdp / frame))
    if impairments.asked_packets is not None:
        return impairments.asked_packets
    return ceil(_queue_bytes(cell, direction, index) / frame)


def _queue_bytes(cell: CellSections, direction: Direction, index: int) -> Fraction:
    """Return the size in bytes of a queue that is stated in BDPs or bytes."""
    path = _path(cell, index)
    impairments = path.impairments(direction)
    queue = impairments.queue
    if queue is None or queue.unit == "packets":
        raise AssertionError("a queue in packets has no size in bytes")
    bdp = bdp_bytes(impairments, cell.queued_rtt_ns(path))
    size_bytes = Fraction(queue.amount) * (bdp if queue.unit == "bdp" else 1)
    if size_bytes == 0:
        reason = "the bandwidth-delay product is 0 without a delay"
        remedy = 'give rtt, or the queue in bytes or packets, such as "64kB" or "1000p"'
        key = _key("queue", direction, path, index)
        raise KeyValueError(key, None, reason, remedy, missing=_sibling_key(key, "rtt"))
    return size_bytes


def peak_rate_bit_s(cell: CellSections, direction: Direction, index: int) -> int:
    """Return the highest rate of a direction in bit/s, events included."""
    changed_bit_s = (
        event.change.rate_bit_s
        for event in cell.path.events
        if isinstance(event.change, wire.Rate) and event.change.direction == direction
        if event.path == index
    )
    return max(_path(cell, index).impairments(direction).peak_rate_bit_s, *changed_bit_s, 0)


def frame_bytes(cell: CellSections, direction: Direction, index: int = 0) -> int:
    """Return the size in bytes of a direction's frames: full-size data or bare acknowledgements."""
    path = _path(cell, index)
    # TCP's headers are assumed for all transports, so that all have the same queue.
    headers_bytes = ip_header_bytes(path.ip_version) + TCP_HEADER_BYTES
    if direction != cell.content_direction:
        # the smallest acknowledgement
        return ETHERNET_HEADER_BYTES + headers_bytes
    packet_bytes = path.mtu_bytes
    if cell.transport.mss_bytes is not None:
        packet_bytes = min(packet_bytes, cell.transport.mss_bytes + headers_bytes)
    return packet_bytes + ETHERNET_HEADER_BYTES


def _smallest_frame_bytes(cell: CellSections, direction: Direction, index: int) -> int:
    """Return the size in bytes of the smallest frames that fill a direction."""
    frame = frame_bytes(cell, direction, index)
    message_bytes = cell.workload.lone_message_bytes
    if direction != cell.content_direction or message_bytes is None:
        return frame
    headers_bytes = _datagram_header_bytes(_path(cell, index)) + ETHERNET_HEADER_BYTES
    return min(frame, message_bytes + headers_bytes)


def bdp_bytes(impairments: AskedImpairments, rtt_ns: int) -> Fraction:
    """Return the bandwidth-delay product in bytes; 0 if the rate is unlimited."""
    return Fraction((impairments.usual_rate_bit_s or 0) * rtt_ns, 8 * NS_PER_S)


def _path(cell: CellSections, index: int) -> SinglePath:
    """Return a path of the study by its index, also one that the client of this cell never uses."""
    return cell.path.all_paths[index]


def _sibling_key(key: str, other: str) -> str:
    """Return the key of this name in the same section as `key`."""
    return f"{key.rpartition('.')[0]}.{other}"


def _key(
    stem: Literal["queue", "rate", "jitter_order"],
    direction: Direction,
    path: SinglePath,
    index: int,
) -> str:
    own = f"{stem}_{direction}"
    section = "path.second" if index else "path"
    return f"{section}.{own if own in path.model_fields_set else stem}"
