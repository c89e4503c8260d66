//! A path of a job, and the impairments of its two directions, such as delay and loss.
// Written by scripts/generate_wire.py: change the models in src/netwarp/wire/ instead.

use serde::{Deserialize, Serialize};

/// A path from the client over a router to the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct Path {
    /// Largest IP packet, headers included.
    pub mtu_bytes: u32,
    /// Whether the client has its address on this path from the start. If the client moves between access points, only
    /// the first path is attached at the start; the server then has only its address on the first path, to which
    /// packets are routed over the path to which the client is attached.
    pub attached: bool,
    /// Whether hosts and router know each other's MAC addresses from the start.
    pub neighbours: Neighbours,
    /// Impairments from server to client.
    pub down: Impairments,
    /// Impairments from client to server.
    pub up: Impairments,
    /// Whether the path's addresses are IPv6; otherwise they are IPv4. All paths of a job have the same version.
    #[serde(default, skip_serializing_if = "is_left_out")]
    pub ipv6: bool,
    /// Whether each link of the path has IPv4 addresses in addition to IPv6 ones. All paths of a job have the same
    /// versions.
    #[serde(default, skip_serializing_if = "is_left_out")]
    pub dual: bool,
}

/// Whether hosts and router know each other's MAC addresses at the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Neighbours {
    /// Hosts and router know the MAC addresses permanently: there is no ARP.
    Warm,
    /// Hosts and router do not know the MAC addresses: ARP asks for each when the first packet needs it. Up to three
    /// packets wait for the reply, as in ns-3 and in Linux before 3.3; if there are more, the oldest are dropped.
    Cold,
}

/// The impairments of packets in one direction of a path: one `sch_netem` on the router, and a shaper if netem cannot
/// enforce the rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct Impairments {
    /// One-way delay; the mean if there is jitter.
    pub delay_ns: u64,
    /// Spread of the delay: half width (uniform) or standard deviation (other distributions).
    pub jitter_ns: u64,
    /// Correlation of successive delays, 0 to 1.
    pub jitter_correlation: f64,
    /// Shape of the delay's distribution.
    pub distribution: Distribution,
    /// How packets are lost, such as at random or in bursts.
    pub loss: Loss,
    /// Rate of the bottleneck for Ethernet frames (without preamble and FCS); null if unlimited. With a trace it is
    /// null, or the trace's mean rate if a discipline needs a rate.
    pub rate_bit_s: Option<u64>,
    /// Maximum number of packets in netem: those in the delay line and, unless there is `queue_packets` or a shaper,
    /// those queued for the bottleneck.
    pub limit_packets: u32,
    /// Size of the queue of a shaper behind netem; null if netem limits the rate. A shaper limits it if the rate
    /// changes, or if a discipline serves the queue: a packet waits until those before it have been sent, and is then
    /// sent at the current rate, whereas netem would use the rate at the packet's arrival.
    pub shaper_queue_bytes: Option<u32>,
    /// The queueing discipline of the bottleneck, behind netem; null for the first-in first-out queue of netem or of
    /// the shaper.
    pub discipline: Option<Discipline>,
    /// Share of packets that are sent at once, overtaking the delay line.
    pub reorder: Reorder,
    /// Share of packets that are duplicated, 0 to 1.
    pub duplicate_ratio: f64,
    /// Share of packets in which one bit is flipped, 0 to 1.
    pub corrupt_ratio: f64,
    /// Seed of netem's random numbers (`TCA_NETEM_PRNG_SEED`), already hashed.
    pub seed: u64,
    /// Whether a packet leaves netem only after those before it, even if its delay is shorter. If the same netem limits
    /// the rate, this is always the case.
    #[serde(default, skip_serializing_if = "is_left_out")]
    pub in_order: bool,
    /// Maximum number of packets that wait at the bottleneck, besides the one that is being transmitted, if it counts
    /// packets: a second netem behind the delay line limits the rate or, if there is `shaper_queue_bytes`, a shaper.
    /// Null if the shaper counts bytes, or if one netem has the queue and the delay line.
    #[serde(default, skip_serializing_if = "is_left_out")]
    pub queue_packets: Option<u32>,
    /// How long packets are collected before they are released together, counted from the first of them; 0 if they are
    /// not collected. A second netem does this, behind everything else of the direction (`slot`).
    #[serde(default, skip_serializing_if = "is_left_out")]
    pub aggregate_ns: u64,
    /// Share of transmissions that are lost on the link and repeated by the link itself, 0 to 1: such a packet arrives
    /// later, and so do those behind it. The third repetition always arrives. If it is not 0, there is no jitter.
    #[serde(default, skip_serializing_if = "is_left_out")]
    pub link_loss_ratio: f64,
    /// Time from a transmission that is lost on the link to its repetition.
    #[serde(default, skip_serializing_if = "is_left_out")]
    pub link_repair_ns: u64,
    /// Size of a policer's token bucket: that many bytes pass at once, further ones at the rate, the last of which may
    /// overdraw it by less than a packet; packets beyond that are lost, but for a full-size packet's bytes that wait.
    /// Null for a link, which sends at its rate. The shaper implements the policer, with a queue of that size.
    #[serde(default, skip_serializing_if = "is_left_out")]
    pub policer_bytes: Option<u32>,
}

/// The shapes of netem's delay distributions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Distribution {
    /// Uniform between delay − jitter and delay + jitter.
    Uniform,
    /// Gaussian distribution of delays.
    Normal,
    /// Pareto distribution of delays, with shape 3.
    Pareto,
    /// A quarter of the normal quantile plus three quarters of the Pareto quantile.
    Paretonormal,
}

/// How packets are lost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub enum Loss {
    /// No packet is lost.
    None {},
    /// Each packet is lost at random, with a given probability.
    Random {
        /// Probability, 0 to 1.
        ratio: f64,
        /// Correlation of successive draws, 0 to 1.
        correlation: f64,
    },
    /// Gilbert-Elliott loss, a two-state Markov chain.
    ///
    /// Gilbert 1960, Elliott 1963; netem's `loss gemodel p r 1-h 1-k`.
    Gemodel {
        /// Probability of going from good to bad.
        p: f64,
        /// Probability of going from bad to good.
        r: f64,
        /// Loss probability in the bad state (1 - h).
        loss_bad: f64,
        /// Loss probability in the good state (1 - k).
        loss_good: f64,
    },
    /// Every n-th IP packet of the direction is lost, counted from the run's first.
    Every {
        /// The n of "every n-th packet".
        packets: u32,
    },
    /// The IP packets of the direction with the listed numbers are lost; the run's first one is number 1.
    Packets {
        /// The numbers of the packets that are lost, in ascending order.
        numbers: Vec<u32>,
    },
}

/// The queueing discipline (qdisc) of a bottleneck. It is the child of the shaper that limits the rate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct Discipline {
    /// The kind of the queueing discipline, as the kernel names it.
    pub kind: DisciplineKind,
    /// Maximum number of packets that the discipline queues.
    pub limit_packets: u32,
    /// Size of the direction's largest frames, for disciplines that limit memory instead of packets.
    pub frame_bytes: u32,
    /// Whether the discipline marks packets of ECN-capable senders instead of dropping them (RFC 3168).
    pub ecn: bool,
    /// Whether the low-latency queue of `dualpi2` gets all packets of ECN-capable senders; otherwise it gets only those
    /// with ECT(1) (RFC 9331).
    #[serde(default, skip_serializing_if = "is_left_out")]
    pub any_ect: bool,
    /// Whether `cake` drops queued TCP acknowledgements that later ones make superfluous (`TCA_CAKE_ACK_FILTER`).
    #[serde(default, skip_serializing_if = "is_left_out")]
    pub ack_filter: bool,
}

/// A queueing discipline of the bottleneck, by the kernel's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum DisciplineKind {
    /// CoDel (RFC 8289): one queue.
    #[serde(rename = "codel")]
    Codel,
    /// CoDel on a queue for each flow (RFC 8290).
    #[serde(rename = "fq_codel")]
    FqCodel,
    /// A queue for each flow, served in turn; drops when full.
    #[serde(rename = "fq")]
    Fq,
    /// CAKE: has its own shaper, and a queue for each flow within each host's share.
    #[serde(rename = "cake")]
    Cake,
    /// PIE (RFC 8033).
    #[serde(rename = "pie")]
    Pie,
    /// Adaptive RED (Floyd, Gummadi, Shenker 2001).
    #[serde(rename = "red")]
    Red,
    /// Dual-queue coupled AQM for L4S (RFC 9332).
    #[serde(rename = "dualpi2")]
    Dualpi2,
}

/// Reordering of packets, as netem's `reorder` does it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct Reorder {
    /// Share of packets that are sent at once, without the delay; 0 for none.
    pub ratio: f64,
    /// Correlation of successive draws, 0 to 1.
    pub correlation: f64,
    /// How many packets, less one, stay in order after each that did not; then every packet is a candidate. 0 is
    /// netem's default of 1.
    pub gap: u32,
}

/// Returns whether an optional key has its default value: then it is left out.
fn is_left_out<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
