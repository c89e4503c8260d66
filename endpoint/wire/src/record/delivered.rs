//! Records of the packets that paths delivered, dropped and marked, and of measurements of paths.
// Written by scripts/generate_wire.py: change the models in src/netwarp/wire/ instead.

use serde::{Deserialize, Serialize};

use crate::job::{Direction, DisciplineKind, Loss, Reorder};

/// Counts of the packets that one direction of a path delivered and dropped, read from its links before the probes.
///
/// Offered packets are delivered, dropped, left or unresolved, and so are duplicates, which are counted as offered only
/// where a router sends them. With cold neighbours, the sender's ARP packets end at the router and are not counted; the
/// router's ARP packets, which netem impairs like others, are counted as offered. Between two hosts, whose impairments
/// are at the receiving host, the run's packets that arrived at that host are counted, without those that the network
/// lost before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct CalibrationRecord {
    /// Index of the path.
    pub path: u32,
    /// The direction that was counted.
    pub direction: Direction,
    /// Time from the run's epoch until the counters were read; between two hosts, since the path's properties were
    /// imposed.
    pub interval_ns: u64,
    /// Packets that the sender's link carried to the router; if a router sends them, what left it, duplicates included,
    /// and what it dropped.
    pub offered_packets: u64,
    /// Bytes of these packets, Ethernet headers included; null if a router sends them, because a router counts what
    /// leaves its queue.
    pub offered_bytes: Option<u64>,
    /// Packets that the receiver's link carried from the router.
    pub delivered_packets: u64,
    /// Bytes of these packets, Ethernet headers included.
    pub delivered_bytes: u64,
    /// Packets that netem dropped, at random or in an outage, and that the queue dropped: full, or early by a
    /// discipline.
    pub dropped_packets: u64,
    /// Packets among these that were lost at random or in an outage; null if the kernel does not count them.
    pub lost_packets: Option<u64>,
    /// Packets that were still in netem when the counters were read.
    pub left_packets: u64,
    /// With cold neighbours: the router's ARP packets among those offered.
    #[serde(default, skip_serializing_if = "is_left_out")]
    pub arp_packets: u64,
    /// With cold neighbours: packets that the router discarded, or still held when the counters were read, because it
    /// had no ARP reply for the next address.
    #[serde(default, skip_serializing_if = "is_left_out")]
    pub unresolved_packets: u64,
}

/// The queueing discipline (qdisc) of a bottleneck as read back from the kernel, with its counters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct DisciplineRecord {
    /// Index of the path.
    pub path: u32,
    /// The direction at whose bottleneck the discipline is.
    pub direction: Direction,
    /// The kind of the queueing discipline, as the kernel names it.
    pub kind: DisciplineKind,
    /// Maximum number of packets that the discipline queues; null if its limit is in bytes.
    pub limit_packets: Option<u32>,
    /// Maximum number of bytes that the discipline queues; null if its limit is in packets. For `cake` it is the memory
    /// that packets take.
    pub limit_bytes: Option<u32>,
    /// Whether the discipline marks packets of ECN-capable senders.
    pub ecn: bool,
    /// Packets that the discipline dropped, early or because it was full.
    pub dropped_packets: u64,
    /// Packets that the discipline marked as congestion experienced (CE).
    pub marked_packets: u64,
}

/// The impairments that the receiving host applied to the incoming packets of a run between two hosts.
///
/// They were read back from the kernel, and come in addition to those of the network between the hosts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
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
    /// How packets are lost, such as at random or in bursts.
    pub loss: Loss,
    /// Bottleneck rate of Ethernet frames; null is unlimited.
    pub rate_bit_s: Option<u64>,
    /// Maximum number of packets in netem.
    pub limit_packets: u32,
    /// Share of packets that are sent at once, before those in the delay line.
    pub reorder: Reorder,
    /// Share of packets sent twice, 0 to 1.
    pub duplicate_ratio: f64,
    /// Seed of netem's random numbers.
    pub seed: u64,
    /// Whether packets stay in order, even if a later one has a shorter delay.
    #[serde(default, skip_serializing_if = "is_left_out")]
    pub in_order: bool,
}

/// Probes of the idle path after the workload: small UDP packets that the server echoes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct ProbeRecord {
    /// Index of the path.
    pub path: u32,
    /// How many probes were sent.
    pub sent: u32,
    /// How many probes came back.
    pub received: u32,
    /// Smallest round-trip time; null if no probe came back.
    pub min_rtt_ns: Option<u64>,
    /// Smallest one-way delay from server to client.
    pub min_delay_down_ns: Option<u64>,
    /// Smallest one-way delay from client to server.
    pub min_delay_up_ns: Option<u64>,
}

/// How a path between two hosts performed right before or after the run, measured with datagrams.
///
/// netwarp does not set the properties of the network between the hosts. Impairments that a study asks for are applied
/// by the hosts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct PathMeasurementRecord {
    /// When the path was measured: before the run, after it, or while it was still impaired.
    pub moment: Moment,
    /// Time of day at the client, in nanoseconds since 1970.
    pub unix_ns: u64,
    /// Datagrams that the client sent to be echoed.
    pub sent: u32,
    /// Number of these datagrams that reached the server.
    pub arrived: u32,
    /// Number of echoes that reached the client.
    pub received: u32,
    /// Smallest round-trip time, without the server's processing; null if no echo came back.
    pub min_rtt_ns: Option<u64>,
    /// Median of the round-trip times.
    pub median_rtt_ns: Option<u64>,
    /// Round-trip time that 90 % of the echoes did not exceed.
    pub p90_rtt_ns: Option<u64>,
    /// Largest round-trip time.
    pub max_rtt_ns: Option<u64>,
    /// Rate at which a short train of packets from server to client arrived: roughly a lower bound of the path's rate.
    /// Null if too few of them arrived.
    pub rate_down_bit_s: Option<u64>,
    /// Rate at which a short train of packets from client to server arrived, as for `rate_down_bit_s`.
    pub rate_up_bit_s: Option<u64>,
    /// Largest error of the server's times in these records, in either direction, estimated from both clocks' times in
    /// the datagrams.
    pub clock_uncertainty_ns: Option<u64>,
    /// Share of the CPU time of the client's machine that was in use since the previous measurement, the run included;
    /// null in the first measurement.
    pub client_busy: Option<f64>,
    /// The same share of the CPU time of the server's machine.
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
    /// After the workload, while the impairments that the hosts imposed are in force.
    Imposed,
}

/// Returns whether an optional key has its default value: then it is left out.
fn is_left_out<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
