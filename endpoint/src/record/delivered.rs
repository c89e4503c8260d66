//! Records of what the paths really did.
// Written by scripts/generate_wire.py: change the models in src/netwarp/wire/ instead.

use serde::{Deserialize, Serialize};

use crate::job::{Direction, DisciplineKind, Loss, Reorder};

/// What one direction of a path really did, counted on its links before the probes.
///
/// Where neighbours are cold, ARP's packets are among those offered and delivered, and what waited at the router for an
/// answer in vain is counted as offered alone. Between two hosts that impose what the study asks for, the run's packets
/// are counted that came in at the receiving host: what the network lost before is not among them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CalibrationRecord {
    /// Index of the path.
    pub path: u32,
    /// The direction that was counted.
    pub direction: Direction,
    /// Time from the epoch until the counting; between two hosts, since it was imposed.
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

/// A bottleneck's queueing discipline as read back from the kernel, and what it did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DisciplineRecord {
    /// Index of the path.
    pub path: u32,
    /// The direction whose bottleneck it serves.
    pub direction: Direction,
    /// Which one.
    pub kind: DisciplineKind,
    /// Packets that have room in it; null where it counts bytes.
    pub limit_packets: Option<u32>,
    /// Bytes that have room in it; null where it counts packets. `cake` counts the memory that packets take.
    pub limit_bytes: Option<u32>,
    /// Whether it marks packets of senders that understand it.
    pub ecn: bool,
    /// Packets it dropped, early or for want of room.
    pub dropped_packets: u64,
    /// Packets it marked as having met congestion (CE).
    pub marked_packets: u64,
}

/// What the receiving host imposed on the packets of a run that came in, between two hosts.
///
/// It is as read back from the kernel, and comes on top of what the network between them does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImposedRecord {
    /// The direction that was impaired: `down` by the client's host, `up` by the server's.
    pub direction: Direction,
    /// The receiving host's network device.
    pub device: String,
    /// Delay added to each packet (mean, when there is jitter).
    pub delay_ns: u64,
    /// Spread of the delay.
    pub jitter_ns: u64,
    /// Correlation of successive delays, 0 to 1.
    pub jitter_correlation: f64,
    /// How packets are lost.
    pub loss: Loss,
    /// Bottleneck rate of Ethernet frames; null is unlimited.
    pub rate_bit_s: Option<u64>,
    /// Packets netem holds at most.
    pub limit_packets: u32,
    /// Share of packets sent on at once, overtaking the delay line.
    pub reorder: Reorder,
    /// Share of packets sent twice, 0 to 1.
    pub duplicate_ratio: f64,
    /// Seed of netem's random numbers.
    pub seed: u64,
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

/// What a path between two hosts did right before or after the run, measured with datagrams.
///
/// The network between them is nobody's to set: what a study asks for, the hosts impose on top of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathMeasurementRecord {
    /// When.
    pub moment: Moment,
    /// Time of day at the client, in nanoseconds since 1970.
    pub unix_ns: u64,
    /// Datagrams that the client sent to be echoed.
    pub sent: u32,
    /// Of them, those that reached the server.
    pub arrived: u32,
    /// Of them, those whose echo came back.
    pub received: u32,
    /// Smallest time there and back, without what the server took; null if nothing came back.
    pub min_rtt_ns: Option<u64>,
    /// The median time there and back.
    pub median_rtt_ns: Option<u64>,
    /// What nine of ten did not exceed.
    pub p90_rtt_ns: Option<u64>,
    /// The largest.
    pub max_rtt_ns: Option<u64>,
    /// Rate of a short train of packets from server to client at its arrival: the path's is at least about that. Null
    /// where too little of it arrived.
    pub rate_down_bit_s: Option<u64>,
    /// As before, client to server.
    pub rate_up_bit_s: Option<u64>,
    /// How far the server's times in these records can be off, either way, by what the datagrams said of the two
    /// clocks.
    pub clock_uncertainty_ns: Option<u64>,
    /// Share of the CPUs' time at the client that was used since the measurement before, the run included; null in the
    /// first.
    pub client_busy: Option<f64>,
    /// As before, at the server.
    pub server_busy: Option<f64>,
}

/// When a path was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Moment {
    /// Before the run: the network alone.
    Before,
    /// After the run: the network alone.
    After,
    /// After the workload, with what the hosts imposed still in force.
    Imposed,
}
