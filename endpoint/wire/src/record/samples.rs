//! Records of samples of queues and connections, over the time of a run.
//!
//! Samples are columns: numbers with the same index in all lists are of the same time.
// Written by scripts/generate_wire.py: change the models in src/netwarp/wire/ instead.

use serde::{Deserialize, Serialize};

use super::Side;
use crate::job::Direction;

/// Samples of the bottleneck of one direction of a path, taken at the router.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct QueueSamplesRecord {
    /// Index of the path.
    pub path: u32,
    /// The direction of the bottleneck.
    pub direction: Direction,
    /// When each sample was taken.
    pub at_ns: Vec<u64>,
    /// Bytes of the frames sent since the path was built.
    pub sent_bytes: Vec<u64>,
    /// Backlog in bytes. If one netem has the delay line and the rate, it includes the bytes in the delay line; if a
    /// second netem, a shaper or a discipline queues behind it, it does not.
    pub backlog_bytes: Vec<u64>,
    /// Backlog in packets, counted like `backlog_bytes`.
    pub backlog_packets: Vec<u64>,
    /// Packets dropped for any reason since the path was built.
    pub dropped_packets: Vec<u64>,
    /// Packets marked as congestion experienced (CE) since the path was built.
    pub marked_packets: Vec<u64>,
}

/// Samples of one end of a connection: from TCP's `TCP_INFO` (`ss -tin`), SCTP's `sctp_info` (of its primary path), and
/// what netwarp's QUIC reports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct ConnectionSamplesRecord {
    /// The side whose end of the connection was sampled.
    pub side: Side,
    /// The server's port of the connection. The client's port is random, and not recorded.
    pub server_port: u32,
    /// When each sample was taken.
    pub at_ns: Vec<u64>,
    /// Congestion window in bytes (`ss` prints it in segments).
    pub cwnd_bytes: Vec<u64>,
    /// Slow start threshold; 0 until it is set.
    pub ssthresh_bytes: Vec<u64>,
    /// Smoothed round-trip time; 0 before the first measurement. SCTP's is in ticks of the kernel, 10 ms in a guest.
    pub rtt_ns: Vec<u64>,
    /// Bytes that were sent and are not acknowledged.
    pub unacked_bytes: Vec<u64>,
    /// Bytes acknowledged since the connection was set up: TCP's payload (`bytes_acked`), QUIC's packets; empty for
    /// SCTP, which does not count them.
    pub acked_bytes: Vec<u64>,
    /// Packets retransmitted since the connection was set up: TCP's segments, SCTP's chunks; for QUIC the data declared
    /// lost, in full packets.
    pub retrans_packets: Vec<u64>,
    /// Pacing rate, in bit/s; 0 without pacing.
    pub pacing_rate_bit_s: Vec<u64>,
    /// Time since the connection was set up in which it had data to send, or unacknowledged data. TCP counts this time
    /// and those of the next two columns; for SCTP and QUIC each sample represents the time since the previous one.
    pub busy_ns: Vec<u64>,
    /// Part of `busy_ns` in which the peer's receive window limited sending.
    pub rwnd_limited_ns: Vec<u64>,
    /// Part of `busy_ns` in which all data in the send buffer had been sent, and the buffer had no room for more.
    pub sndbuf_limited_ns: Vec<u64>,
    /// Whether all data from the application had been sent, and the congestion window had room for more.
    pub has_sent_all: Vec<bool>,
    /// Whether the connection is in fast recovery or, after a time-out, in loss recovery (`tcpi_ca_state`); empty if it
    /// was not at any sample, and for SCTP and QUIC, whose stacks do not report it.
    #[serde(default, skip_serializing_if = "is_left_out")]
    pub recovering: Vec<bool>,
    /// Time since the connection was set up in recoveries from time-outs, each from when its timer first expired until
    /// what was lost is acknowledged (`tcpi_total_rto_time`, in ms); empty if no recovery had begun, and for SCTP and
    /// QUIC.
    #[serde(default, skip_serializing_if = "is_left_out")]
    pub timeout_ns: Vec<u64>,
    /// Number of recoveries from time-outs that have begun (`tcpi_total_rto_recoveries`); empty if none had, and for
    /// SCTP and QUIC.
    #[serde(default, skip_serializing_if = "is_left_out")]
    pub timeout_recoveries: Vec<u64>,
    /// TCP's latest estimate of the rate at which the path delivers its payload, in bit/s (`tcpi_delivery_rate`); 0
    /// before the first estimate; empty for SCTP and QUIC, whose stacks do not report one, and in older records.
    #[serde(default, skip_serializing_if = "is_left_out")]
    pub delivery_rate_bit_s: Vec<u64>,
}

/// Returns whether an optional key has its default value: then it is left out.
fn is_left_out<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
