//! Records of samples: what queues and connections were like, over the time of a run.
//!
//! Samples are columns: the numbers at one place of all lists are of one moment.
// Written by scripts/generate_wire.py: change the models in src/netwarp/wire/ instead.

use serde::{Deserialize, Serialize};

use super::Side;
use crate::job::Direction;

/// The bottleneck of one direction of a path, sampled at the router.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueueSamplesRecord {
    /// Index of the path.
    pub path: u32,
    /// The direction whose bottleneck it is.
    pub direction: Direction,
    /// When it was sampled.
    pub at_ns: Vec<u64>,
    /// Bytes of frames that have left it, since the path was built.
    pub sent_bytes: Vec<u64>,
    /// Bytes in it. Where netem keeps the rate, those in its delay line are among them; where a shaper or a discipline
    /// queues behind netem, they are not.
    pub backlog_bytes: Vec<u64>,
    /// Packets in it, likewise.
    pub backlog_packets: Vec<u64>,
    /// Packets dropped, for whatever reason, since the path was built.
    pub dropped_packets: Vec<u64>,
    /// Packets marked as having met congestion.
    pub marked_packets: Vec<u64>,
}

/// One end of a connection, sampled there: TCP's `TCP_INFO` (`ss -tin`), SCTP's `sctp_info` (of its primary path), and
/// what netwarp's QUIC tells of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConnectionSamplesRecord {
    /// Whose end it is.
    pub side: Side,
    /// The server's port. The client's is drawn by the kernel, and in no record.
    pub server_port: u32,
    /// When it was sampled.
    pub at_ns: Vec<u64>,
    /// Congestion window: `ss` has it in segments.
    pub cwnd_bytes: Vec<u64>,
    /// Slow start threshold; 0 until there is one.
    pub ssthresh_bytes: Vec<u64>,
    /// Smoothed round-trip time; 0 until there is one. SCTP's is in ticks of the kernel, 10 ms in a guest.
    pub rtt_ns: Vec<u64>,
    /// Sent and not acknowledged.
    pub unacked_bytes: Vec<u64>,
    /// Acknowledged since it was set up: TCP's payload (`bytes_acked`), QUIC's packets; empty for SCTP, which does not
    /// count it.
    pub acked_bytes: Vec<u64>,
    /// Sent again since it was set up: TCP's segments, SCTP's chunks; for QUIC what it has taken for lost, in full
    /// packets.
    pub retrans_packets: Vec<u64>,
    /// Rate to which its sending is paced; 0 where it is not paced.
    pub pacing_rate_bit_s: Vec<u64>,
    /// Time since it was set up during which it had something to send, or to have acknowledged. TCP counts this time
    /// and that of the next two columns; of SCTP and QUIC each sample stands for the time since the one before.
    pub busy_ns: Vec<u64>,
    /// Of it, time during which the peer's window kept it from sending.
    pub rwnd_limited_ns: Vec<u64>,
    /// Of it, time during which its send buffer had no more to send, and no room for what there was.
    pub sndbuf_limited_ns: Vec<u64>,
    /// Whether it had sent all that it was given, while its congestion window had room for more.
    pub has_sent_all: Vec<bool>,
}
