//! The workload `flow` of a job, and its records: messages sent when they are due.
// Written by scripts/generate_wire.py: change the models in src/netwarp/wire/ instead.

use serde::{Deserialize, Serialize};

use super::Side;
use crate::job::Direction;

/// The messages that the sender of a flow passed to its transport, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct FlowSentRecord {
    /// The side that sent the messages.
    pub side: Side,
    /// Number of messages that were sent.
    pub messages: u64,
    /// Total size of these messages, in bytes.
    pub bytes: u64,
    /// When the first message was sent.
    pub first_ns: u64,
    /// When the last message was sent.
    pub last_ns: u64,
    /// The longest time between when a message was due and when it was sent, because the sender was behind schedule or
    /// the send buffer was full; null for a simulator, which does not report it.
    pub late_ns_max: Option<u64>,
}

/// Statistics of the messages or packets of a flow that arrived, as computed by ns-3's FlowMonitor (Carneiro, Fortuna,
/// Ricardo: FlowMonitor, VALUETOOLS 2009). Duplicates are counted in `duplicates` only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct FlowStatsRecord {
    /// Whether messages or packets are counted. Packets of `udp` are counted by the receiver; those of other transports
    /// are counted at the router, which they reach when they are sent, and from which they reach the receiver without
    /// delay.
    pub unit: FlowUnit,
    /// The direction of the messages or packets.
    pub direction: Direction,
    /// How many messages or packets were sent; null if the counting side does not know it. Then the record `flow_sent`
    /// has the number.
    pub sent: Option<u64>,
    /// How many messages or packets arrived.
    pub received: u64,
    /// The total size of the messages or packets that arrived, in bytes.
    pub received_bytes: u64,
    /// When the first message or packet arrived; null if none did.
    pub first_received_ns: Option<u64>,
    /// When the last message or packet arrived; null if none did.
    pub last_received_ns: Option<u64>,
    /// Sum of the one-way delays.
    pub delay_sum_ns: u64,
    /// Sum of the absolute differences in delay between each and the previous arrival (RFC 3393).
    pub jitter_sum_ns: u64,
    /// The running jitter estimate of RFC 3550, section 6.4.1, after the last arrival. This and the following fields
    /// are null or empty if single packets are not observed.
    pub rfc3550_jitter_ns: Option<u64>,
    /// How many messages or packets arrived after one that was sent later (RFC 4737, section 3.3).
    pub reordered: Option<u64>,
    /// How many duplicates arrived.
    pub duplicates: Option<u64>,
    /// The smallest delay, and the delays that 1, 2, … 1000 in a thousand do not exceed; empty if nothing arrived.
    pub delay_quantiles_ns: Vec<u64>,
}

/// The unit in which a flow is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FlowUnit {
    /// Messages at the receiving program; delays count from when each was due.
    Message,
    /// IP packets, headers included; delays count from when each was sent.
    Packet,
    /// Responses at the requesting program; delays count from when each request was due.
    Response,
}
