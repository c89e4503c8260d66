//! Records of what the paths really did.
// Written by scripts/generate_wire.py: change the models in src/netwarp/wire/ instead.

use serde::{Deserialize, Serialize};

use crate::job::Direction;

/// What one direction of a path really did, counted on its links before the probes.
///
/// Where neighbours are cold, ARP's packets are among those offered and delivered, and what waited at the router for an
/// answer in vain is counted as offered alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CalibrationRecord {
    /// Index of the path.
    pub path: u32,
    /// The direction that was counted.
    pub direction: Direction,
    /// Time from the epoch until the counting.
    pub interval_ns: u64,
    /// Wire packets the sender's link carried to the router.
    pub offered_packets: u64,
    /// Their bytes, Ethernet headers included.
    pub offered_bytes: u64,
    /// Wire packets the receiver's link carried from the router.
    pub delivered_packets: u64,
    /// Their bytes, Ethernet headers included.
    pub delivered_bytes: u64,
    /// Packets netem dropped: lost at random, or for a full queue.
    pub dropped_packets: u64,
    /// Of them, those lost at random; null where the kernel does not tell.
    pub lost_packets: Option<u64>,
    /// Packets still in netem when counted.
    pub left_packets: u64,
}

/// Idle-path probes after the workload: UDP packets of a few bytes, echoed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbeRecord {
    /// Index of the path.
    pub path: u32,
    /// How many probes were sent.
    pub sent: u32,
    /// Probes that came back.
    pub received: u32,
    /// Smallest time there and back, if any came back.
    pub min_rtt_ns: Option<u64>,
    /// Smallest one-way time, server to client.
    pub min_delay_down_ns: Option<u64>,
    /// Smallest one-way time, client to server.
    pub min_delay_up_ns: Option<u64>,
}
