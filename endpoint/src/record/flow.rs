//! The workload `flow` of a job, and its records: messages sent when they are due.
// Written by scripts/generate_wire.py: change the models in src/netwarp/wire/ instead.

use serde::{Deserialize, Serialize};

use super::Side;
use crate::job::Direction;

/// What the sender of a flow handed to its transport.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowSentRecord {
    /// The side that sent.
    pub side: Side,
    /// How many there were.
    pub messages: u64,
    /// The size of all these messages together, in bytes.
    pub bytes: u64,
    /// When the first was sent.
    pub first_ns: u64,
    /// When the last was.
    pub last_ns: u64,
    /// The most that one was sent after it was due: behind schedule, or held back by a full send buffer; null of a
    /// simulator, which does not tell.
    pub late_ns_max: Option<u64>,
}

/// What arrived of a flow, summed up as ns-3's FlowMonitor does (Carneiro, Fortuna, Ricardo: FlowMonitor, VALUETOOLS
/// 2009). A copy of what has arrived before is a duplicate, and in nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowStatsRecord {
    /// What was counted. Packets of `udp` are seen by its receiver; those of other transports by the router, which they
    /// reach at the moment they are sent, and the receiver as they leave it.
    pub unit: FlowUnit,
    /// Which way they went.
    pub direction: Direction,
    /// How many were sent, where whoever counts sees it; else `flow_sent` has it.
    pub sent: Option<u64>,
    /// How many arrived.
    pub received: u64,
    /// The size of all that arrived, in bytes.
    pub received_bytes: u64,
    /// When the first arrived; null where none did.
    pub first_received_ns: Option<u64>,
    /// When the last did.
    pub last_received_ns: Option<u64>,
    /// Sum of their one-way delays.
    pub delay_sum_ns: u64,
    /// Sum of the differences in delay between each and the one that arrived before it (RFC 3393), without sign.
    pub jitter_sum_ns: u64,
    /// The running estimate of RFC 3550, section 6.4.1, after the last; like what follows null or empty where whoever
    /// counts does not see each packet by itself.
    pub rfc3550_jitter_ns: Option<u64>,
    /// Those that arrived after one that was sent later (RFC 4737, section 3.3).
    pub reordered: Option<u64>,
    /// How many copies arrived of what had arrived before.
    pub duplicates: Option<u64>,
    /// The smallest delay, and the delays that 1, 2, … 1000 in a thousand do not exceed; empty where nothing arrived.
    pub delay_quantiles_ns: Vec<u64>,
}

/// What is counted of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FlowUnit {
    /// Messages, as the receiving program has them: from when each was due.
    Message,
    /// IP packets, headers included: from when each was sent.
    Packet,
    /// Responses, as the requesting program has them: from when each request was due.
    Response,
}
