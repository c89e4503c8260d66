"""Records of samples of queues and connections, over the time of a run.

Samples are columns: numbers with the same index in all lists are of the same time.
"""

from __future__ import annotations

from typing import Literal

from netwarp.wire.base import U32, U64, Direction, Wire
from netwarp.wire.transfers import Side


class QueueSamples(Wire):
    """Samples of the bottleneck of one direction of a path, taken at the router."""

    record: Literal["queue_samples"]
    """Always `queue_samples`."""
    path: U32
    """Index of the path."""
    direction: Direction
    """The direction of the bottleneck."""
    at_ns: tuple[U64, ...]
    """When each sample was taken."""
    sent_bytes: tuple[U64, ...]
    """Bytes of the frames sent since the path was built."""
    backlog_bytes: tuple[U64, ...]
    """Backlog in bytes. If one netem has the delay line and the rate, it includes the bytes in the
    delay line; if a second netem, a shaper or a discipline queues behind it, it does not."""
    backlog_packets: tuple[U64, ...]
    """Backlog in packets, counted like `backlog_bytes`."""
    dropped_packets: tuple[U64, ...]
    """Packets dropped for any reason since the path was built."""
    marked_packets: tuple[U64, ...]
    """Packets marked as congestion experienced (CE) since the path was built."""


class ConnectionSamples(Wire):
    """Samples of one end of a connection: from TCP's `TCP_INFO` (`ss -tin`), SCTP's `sctp_info` (of
    its primary path), and what netwarp's QUIC reports.
    """

    record: Literal["connection_samples"]
    """Always `connection_samples`."""
    side: Side
    """The side whose end of the connection was sampled."""
    server_port: U32
    """The server's port of the connection. The client's port is random, and not recorded."""
    at_ns: tuple[U64, ...]
    """When each sample was taken."""
    cwnd_bytes: tuple[U64, ...]
    """Congestion window in bytes (`ss` prints it in segments)."""
    ssthresh_bytes: tuple[U64, ...]
    """Slow start threshold; 0 until it is set."""
    rtt_ns: tuple[U64, ...]
    """Smoothed round-trip time; 0 before the first measurement. SCTP's is in ticks of the kernel,
    10 ms in a guest."""
    unacked_bytes: tuple[U64, ...]
    """Bytes that were sent and are not acknowledged."""
    acked_bytes: tuple[U64, ...]
    """Bytes acknowledged since the connection was set up: TCP's payload (`bytes_acked`), QUIC's
    packets; empty for SCTP, which does not count them."""
    retrans_packets: tuple[U64, ...]
    """Packets retransmitted since the connection was set up: TCP's segments, SCTP's chunks; for
    QUIC the data declared lost, in full packets."""
    pacing_rate_bit_s: tuple[U64, ...]
    """Pacing rate, in bit/s; 0 without pacing."""
    busy_ns: tuple[U64, ...]
    """Time since the connection was set up in which it had data to send, or unacknowledged data.
    TCP counts this time and those of the next two columns; for SCTP and QUIC each sample represents
    the time since the previous one."""
    rwnd_limited_ns: tuple[U64, ...]
    """Part of `busy_ns` in which the peer's receive window limited sending."""
    sndbuf_limited_ns: tuple[U64, ...]
    """Part of `busy_ns` in which all data in the send buffer had been sent, and the buffer had no
    room for more."""
    has_sent_all: tuple[bool, ...]
    """Whether all data from the application had been sent, and the congestion window had room for
    more."""
    recovering: tuple[bool, ...] = ()
    """Whether the connection is in fast recovery or, after a time-out, in loss recovery
    (`tcpi_ca_state`); empty if it was not at any sample, and for SCTP and QUIC, whose stacks do not
    report it."""
    timeout_ns: tuple[U64, ...] = ()
    """Time since the connection was set up in recoveries from time-outs, each from when its timer
    first expired until what was lost is acknowledged (`tcpi_total_rto_time`, in ms); empty if no
    recovery had begun, and for SCTP and QUIC."""
    timeout_recoveries: tuple[U64, ...] = ()
    """Number of recoveries from time-outs that have begun (`tcpi_total_rto_recoveries`); empty if
    none had, and for SCTP and QUIC."""
    delivery_rate_bit_s: tuple[U64, ...] = ()
    """TCP's latest estimate of the rate at which the path delivers its payload, in bit/s
    (`tcpi_delivery_rate`); 0 before the first estimate; empty for SCTP and QUIC, whose stacks do
    not report one, and in older records."""
