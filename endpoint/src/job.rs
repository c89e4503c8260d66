//! The job: what the planner hands the endpoint, as one JSON object.
//!
//! The Python half of this definition is `src/netwarp/job.py`; both read and write the golden files in
//! `tests/golden/`. Everything is resolved here: no defaults, no units in strings, no randomness left to draw.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Version of the wire format. A reader refuses any other.
pub const FORMAT: u32 = 1;

/// One run, resolved to numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// [`FORMAT`].
    pub format: u32,
    /// Name of the run in messages, such as `c003-r01`.
    pub run: String,
    /// Seeds what the endpoint itself draws. The paths carry their own seeds.
    pub seed: u64,
    /// One router for each; the first is the one used unless the transport can use more.
    pub paths: Vec<Path>,
    /// How bytes travel.
    pub transport: Transport,
    /// What travels.
    pub workload: Workload,
    /// When to give up.
    pub limits: Limits,
}

/// Client — router — server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Path {
    /// Largest IP packet, headers included.
    pub mtu_bytes: u32,
    /// Server to client.
    pub down: Direction,
    /// Client to server.
    pub up: Direction,
}

/// What one direction of a path does to packets: the parameters of one `sch_netem` instance on the router.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Direction {
    /// One-way delay (mean, when there is jitter).
    pub delay_ns: u64,
    /// Spread of the delay: half width (uniform) or standard deviation (other distributions).
    pub jitter_ns: u64,
    /// Correlation of successive delays, 0 to 1.
    pub jitter_correlation: f64,
    /// Shape of the delay's distribution.
    pub distribution: Distribution,
    /// How packets are lost.
    pub loss: Loss,
    /// Bottleneck rate of Ethernet frames (without preamble and FCS); none is unlimited.
    pub rate_bit_s: Option<u64>,
    /// Packets netem holds at most: those in the delay line and those queued for the bottleneck.
    pub limit_packets: u32,
    /// Share of packets sent on at once, overtaking the delay line.
    pub reorder: Reorder,
    /// Share of packets sent twice, 0 to 1.
    pub duplicate_ratio: f64,
    /// Share of packets with one bit flipped, 0 to 1.
    pub corrupt_ratio: f64,
    /// Seed of netem's random numbers (`TCA_NETEM_PRNG_SEED`), already hashed.
    pub seed: u64,
}

/// netem's delay distributions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Distribution {
    /// Flat between delay − jitter and delay + jitter.
    Uniform,
    /// Gaussian.
    Normal,
    /// Pareto.
    Pareto,
    /// A quarter normal, three quarters Pareto.
    Paretonormal,
}

/// How packets are lost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Loss {
    /// Not at all.
    None {},
    /// Each on its own, with this probability.
    Random {
        /// 0 to 1.
        ratio: f64,
        /// Correlation of successive draws, 0 to 1.
        correlation: f64,
    },
    /// Gilbert–Elliott: a two-state Markov chain (Gilbert 1960, Elliott 1963; netem's `loss gemodel p r 1-h 1-k`).
    Gemodel {
        /// Probability of going from good to bad.
        p: f64,
        /// Probability of going from bad to good.
        r: f64,
        /// Loss probability in the bad state (1 − h).
        loss_bad: f64,
        /// Loss probability in the good state (1 − k).
        loss_good: f64,
    },
}

/// netem's `reorder`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reorder {
    /// Share of packets sent on at once; 0 is none.
    pub ratio: f64,
    /// Correlation of successive draws, 0 to 1.
    pub correlation: f64,
    /// Only every `gap`-th packet is a candidate; 0 is netem's default of 1.
    pub gap: u32,
}

/// How bytes travel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transport {
    /// Which protocol.
    pub kind: TransportKind,
    /// Congestion control by its name in the stack.
    pub congestion: String,
    /// Socket buffers and flow-control windows, each side, send and receive.
    pub buffer_bytes: u64,
    /// First flight, in full-size packets.
    pub initial_window_packets: u32,
    /// Largest payload of a packet, if smaller than the MTU allows.
    pub mss_bytes: Option<u32>,
    /// Send small writes at once (Nagle's algorithm off).
    pub nodelay: bool,
}

/// Which protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TransportKind {
    /// The kernel's TCP.
    Tcp,
    /// TLS 1.3 (rustls) over the kernel's TCP.
    Tls,
    /// The kernel's SCTP.
    Sctp,
    /// QUIC v1 (quinn) over the kernel's UDP.
    Quic,
}

/// What travels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Workload {
    /// One file, as fast as it goes.
    Bulk {
        /// Which way the content goes.
        direction: Heading,
        /// What is sent.
        content: Content,
        /// Hash at both ends and compare; otherwise the receiver counts and discards.
        verify: bool,
    },
}

/// A direction of travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Heading {
    /// Server to client.
    Down,
    /// Client to server.
    Up,
}

/// Bytes to send.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Content {
    /// Incompressible bytes made from a seed.
    Seeded {
        /// Same seed, same bytes.
        seed: u64,
        /// How many.
        size_bytes: u64,
    },
    /// A file readable where the sender runs.
    File {
        /// Absolute.
        path: PathBuf,
        /// As the planner saw it; a run on a file that changed since is refused.
        size_bytes: u64,
    },
}

impl Content {
    /// Number of bytes.
    pub fn size_bytes(&self) -> u64 {
        match self {
            Self::Seeded { size_bytes, .. } | Self::File { size_bytes, .. } => *size_bytes,
        }
    }
}

/// When to give up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// The run has failed when its own clock says more than this.
    pub virtual_ns: u64,
}
