"""Records of samples: what queues and connections were like, over the time of a run.

Samples are columns: the numbers at one place of all lists are of one moment.
"""

from __future__ import annotations

from typing import Literal

from netwarp.wire.base import U32, U64, Direction, Wire
from netwarp.wire.transfers import Side


class QueueSamples(Wire):
    """The bottleneck of one direction of a path, sampled at the router."""

    record: Literal["queue_samples"]
    """Always `queue_samples`."""
    path: U32
    """Index of the path."""
    direction: Direction
    """The direction whose bottleneck it is."""
    at_ns: tuple[U64, ...]
    """When it was sampled."""
    sent_bytes: tuple[U64, ...]
    """Bytes of frames that have left it, since the path was built."""
    backlog_bytes: tuple[U64, ...]
    """Bytes in it. Where netem keeps the rate, those in its delay line are among them; where a
    shaper or a discipline queues behind netem, they are not."""
    backlog_packets: tuple[U64, ...]
    """Packets in it, likewise."""
    dropped_packets: tuple[U64, ...]
    """Packets dropped, for whatever reason, since the path was built."""
    marked_packets: tuple[U64, ...]
    """Packets marked as having met congestion."""


class ConnectionSamples(Wire):
    """One end of a connection, sampled there: TCP's `TCP_INFO` (`ss -tin`), SCTP's `sctp_info` (of
    its primary path), and what netwarp's QUIC tells of itself.
    """

    record: Literal["connection_samples"]
    """Always `connection_samples`."""
    side: Side
    """Whose end it is."""
    server_port: U32
    """The server's port. The client's is drawn by the kernel, and in no record."""
    at_ns: tuple[U64, ...]
    """When it was sampled."""
    cwnd_bytes: tuple[U64, ...]
    """Congestion window: `ss` has it in segments."""
    ssthresh_bytes: tuple[U64, ...]
    """Slow start threshold; 0 until there is one."""
    rtt_ns: tuple[U64, ...]
    """Smoothed round-trip time; 0 until there is one. SCTP's is in ticks of the kernel, 10 ms in a
    guest."""
    unacked_bytes: tuple[U64, ...]
    """Sent and not acknowledged."""
    acked_bytes: tuple[U64, ...]
    """Acknowledged since it was set up: TCP's payload (`bytes_acked`), QUIC's packets; empty for
    SCTP, which does not count it."""
    retrans_packets: tuple[U64, ...]
    """Sent again since it was set up: TCP's segments, SCTP's chunks; for QUIC what it has taken for
    lost, in full packets."""
    pacing_rate_bit_s: tuple[U64, ...]
    """Rate to which its sending is paced; 0 where it is not paced."""
    busy_ns: tuple[U64, ...]
    """Time since it was set up during which it had something to send, or to have acknowledged. TCP
    counts this time and that of the next two columns; of SCTP and QUIC each sample stands for the
    time since the one before."""
    rwnd_limited_ns: tuple[U64, ...]
    """Of it, time during which the peer's window kept it from sending."""
    sndbuf_limited_ns: tuple[U64, ...]
    """Of it, time during which its send buffer had no more to send, and no room for what there
    was."""
    has_sent_all: tuple[bool, ...]
    """Whether it had sent all that it was given, while its congestion window had room for more."""
