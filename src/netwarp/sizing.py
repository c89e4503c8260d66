"""Sizes what a study leaves to netwarp: netem's packet limit and the transports' buffers.

netem's ``limit`` counts the packets on their way through the delay line and those queued for the
bottleneck alike. A study states the queue alone; the delay line is added here. Both are counted in
the frames that travel in a direction: full-size ones where the data goes, bare acknowledgements the
other way, where a limit in full-size frames would drop acknowledgements that no router would.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil
from typing import Literal

from netwarp.conditions import Conditions
from netwarp.fields import KeyValueError
from netwarp.job import Heading
from netwarp.path import DirectionSpec, SinglePath
from netwarp.transport import IP_HEADER_BYTES, TCP_HEADER_BYTES
from netwarp.units import NS_PER_S

ETHERNET_HEADER_BYTES = 14
ACK_FRAME_BYTES = ETHERNET_HEADER_BYTES + IP_HEADER_BYTES + TCP_HEADER_BYTES
"""The smallest packet that acknowledges anything: a TCP header without options."""
UNLIMITED_LIMIT_PACKETS = 1_000_000
"""netem's limit where there is no bottleneck: no queue forms, so none is ever full."""
DEFAULT_QUEUE_MIN_PACKETS = 20
"""The default queue holds two first flights, however short the path."""
LARGEST_LIMIT_PACKETS = 2**32 - 1
JITTER_DEVIATIONS = 4
"""The delay line has room for delays this many times the jitter above the mean."""

SMALLEST_BUFFER_BYTES = 4 << 20
UNLIMITED_BUFFER_BYTES = 64 << 20
SMALLEST_ASKED_BUFFER_BYTES = 4096
LARGEST_BUFFER_BYTES = (2**31 - 1) // 2
"""The kernel keeps twice a socket buffer's size in a signed 32-bit number."""
BUFFER_BDPS = 4


def limit_packets(conditions: Conditions, heading: Heading, index: int = 0) -> int:
    """Give netem's packet limit for one direction of a path: the delay line plus the queue.

    Raises:
        KeyValueError: a queue without a bottleneck, without room, or beyond netem's range.
    """
    path = conditions.paths[index]
    direction = path.toward(heading)
    key = _key("queue", heading, path, index)
    if direction.rate_bit_s is None:
        if direction.queue is not None:
            raise KeyValueError(
                key, None, "no queue forms where the rate is unlimited", "give path.rate too"
            )
        return UNLIMITED_LIMIT_PACKETS
    delay_line_ns = direction.delay_ns + JITTER_DEVIATIONS * direction.jitter_ns
    delay_line_bytes = Fraction(direction.rate_bit_s * delay_line_ns, 8 * NS_PER_S)
    delay_line_packets = ceil(delay_line_bytes / frame_bytes(conditions, heading, index))
    packets = delay_line_packets + queue_packets(conditions, heading, index)
    if packets > LARGEST_LIMIT_PACKETS:
        raise KeyValueError(
            key,
            None,
            f"{packets} packets are more than netem can hold",
            "lower queue, rate or delay",
        )
    return packets


def queue_packets(conditions: Conditions, heading: Heading, index: int = 0) -> int:
    """Give the room of the bottleneck's queue in packets, at a limited rate."""
    path = conditions.paths[index]
    direction = path.toward(heading)
    bdp = Fraction(bdp_bytes(direction, path.base_rtt_ns))
    frame = frame_bytes(conditions, heading, index)
    queue = direction.queue
    if queue is None:
        return max(DEFAULT_QUEUE_MIN_PACKETS, ceil(bdp / frame))
    if queue.unit == "packets":
        return int(queue.amount)
    size_bytes = Fraction(queue.amount) * (bdp if queue.unit == "bdp" else 1)
    if size_bytes == 0:
        raise KeyValueError(
            _key("queue", heading, path, index),
            None,
            "the bandwidth-delay product is 0 without a delay",
            'give path.rtt, or the queue in bytes or packets, such as "64kB" or "1000p"',
        )
    return ceil(size_bytes / frame)


def buffer_bytes(conditions: Conditions) -> int:
    """Give the buffers of a cell: the study's, or enough never to be what limits a transfer.

    A sender keeps a BDP and a full queue in flight, and as much again while it repairs a loss.

    Raises:
        KeyValueError: more than the kernel's socket buffers can be.
    """
    asked_bytes = conditions.transport.buffer_bytes
    if asked_bytes is not None:
        if asked_bytes < SMALLEST_ASKED_BUFFER_BYTES:
            raise KeyValueError(
                "transport.buffer", None, "less than a socket can do with", "choose 4KiB or more"
            )
        return _checked_buffer(asked_bytes, "choose a smaller buffer")
    heading = conditions.workload.direction
    if any(path.toward(heading).rate_bit_s is None for path in conditions.paths):
        return UNLIMITED_BUFFER_BYTES
    needed_bytes = max(SMALLEST_BUFFER_BYTES, BUFFER_BDPS * _flight_bytes(conditions, heading))
    power_bytes = 1 << (needed_bytes - 1).bit_length()
    return _checked_buffer(power_bytes, "set transport.buffer, or lower rate, rtt or queue")


def _flight_bytes(conditions: Conditions, heading: Heading) -> int:
    """Give what fits between sender and receiver, on all paths together.

    Data sent over a fast path waits for what went over a slow one, so each path's rate counts with
    the longest round-trip time (RFC 6182, section 5.3).
    """
    rtt_ns = max(path.base_rtt_ns for path in conditions.paths)
    in_flight = 0
    for index, path in enumerate(conditions.paths):
        queue_bytes = queue_packets(conditions, heading, index) * frame_bytes(
            conditions, heading, index
        )
        in_flight += ceil(bdp_bytes(path.toward(heading), rtt_ns)) + queue_bytes
    return in_flight


def frame_bytes(conditions: Conditions, heading: Heading, index: int = 0) -> int:
    """Give the Ethernet frame that fills a direction: data one way, acknowledgements the other."""
    if heading != conditions.workload.direction:
        return ACK_FRAME_BYTES
    packet_bytes = conditions.paths[index].mtu_bytes
    if conditions.transport.mss_bytes is not None:
        # TCP's headers for all transports, so that all meet the same queue.
        headers_bytes = IP_HEADER_BYTES + TCP_HEADER_BYTES
        packet_bytes = min(packet_bytes, conditions.transport.mss_bytes + headers_bytes)
    return packet_bytes + ETHERNET_HEADER_BYTES


def bdp_bytes(direction: DirectionSpec, rtt_ns: int) -> Fraction:
    """Give the bandwidth-delay product; 0 where the rate is unlimited."""
    return Fraction((direction.rate_bit_s or 0) * rtt_ns, 8 * NS_PER_S)


def _checked_buffer(size_bytes: int, remedy: str) -> int:
    if size_bytes > LARGEST_BUFFER_BYTES:
        raise KeyValueError(
            "transport.buffer",
            None,
            f"{size_bytes} bytes are more than a socket buffer can have ({LARGEST_BUFFER_BYTES})",
            remedy,
        )
    return size_bytes


def _key(stem: Literal["queue"], heading: Heading, path: SinglePath, index: int) -> str:
    own = f"{stem}_{heading}"
    section = "path.second" if index else "path"
    return f"{section}.{own if own in path.model_fields_set else stem}"
