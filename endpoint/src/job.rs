//! The job: what the planner hands the endpoint, as one JSON object.
//!
//! The Python half of this definition is `src/netwarp/wire/job.py`; both read and write the golden files in
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
    /// What happens to the paths while the run goes on.
    pub timeline: Timeline,
    /// Write a packet capture of the routers' links to the run directory.
    pub capture: bool,
    /// When to give up.
    pub limits: Limits,
}

impl Job {
    /// Whether content may go on over another connection where one was given up.
    pub fn resumes(&self) -> bool {
        self.timeline.roams() && self.transport.reconnect == Reconnect::New
    }
}

/// Client — router — server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Path {
    /// Largest IP packet, headers included.
    pub mtu_bytes: u32,
    /// Whether the client has its address on this path from the start. Of a host that moves between access points, only
    /// the first path is; the server then has one address, that of the first path, reached by whichever path the client is on.
    pub attached: bool,
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
    /// Room of a token bucket behind netem (`sch_tbf`), which then keeps the rate instead of netem: a rate that changes. A packet
    /// waits there for the rate of the moment; netem would keep it to the rate of when it came.
    pub shaper_queue_bytes: Option<u32>,
    /// Share of packets sent on at once, overtaking the delay line.
    pub reorder: Reorder,
    /// Share of packets sent twice, 0 to 1.
    pub duplicate_ratio: f64,
    /// Share of packets with one bit flipped, 0 to 1.
    pub corrupt_ratio: f64,
    /// Seed of netem's random numbers (`TCA_NETEM_PRNG_SEED`), already hashed.
    pub seed: u64,
}

impl Direction {
    /// Whether packets meet anything but the links: otherwise no netem is needed, and `limit_packets` bounds nothing.
    pub fn impairs(&self) -> bool {
        self.delay_ns > 0
            || self.jitter_ns > 0
            || self.loss != Loss::None {}
            || self.rate_bit_s.is_some()
            || self.shaper_queue_bytes.is_some()
            || self.reorder.ratio > 0.0
            || self.duplicate_ratio > 0.0
            || self.corrupt_ratio > 0.0
    }
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
    /// Bound of a packet's payload, if smaller than the MTU allows. TCP: the MSS option (RFC 9293, 3.7.1), payload and
    /// TCP options together; with timestamps the payload is 12 bytes less. SCTP: the largest piece of a message in one
    /// DATA chunk (RFC 6458, 8.1.16), of which several may share a packet.
    pub mss_bytes: Option<u32>,
    /// Send small writes at once (Nagle's algorithm off; for SCTP, no waiting to bundle).
    pub nodelay: bool,
    /// What a later connection of the run uses of an earlier one.
    pub resume: Resume,
    /// What becomes of connections when the client moves to another path.
    pub reconnect: Reconnect,
    /// For `tcp`, `tls` and `mptcp`.
    pub tcp: TcpOptions,
    /// For `sctp`.
    pub sctp: SctpOptions,
}

/// What connections of a later transfer use of those of earlier ones, never of their own.
///
/// Early data can be replayed: whoever has a copy of a client's first flight can send it to the server again (RFC 8446,
/// section 8), so it is only for requests that may be answered twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Resume {
    /// Nothing: every handshake is a full one.
    #[serde(rename = "none")]
    None,
    /// TLS 1.3 session tickets (RFC 8446, 2.2), in TLS and in QUIC.
    #[serde(rename = "1rtt")]
    OneRtt,
    /// Tickets with early data (RFC 8446, 2.3); for TCP, Fast Open (RFC 7413).
    #[serde(rename = "0rtt")]
    ZeroRtt,
}

/// What becomes of standing connections when the client's address changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reconnect {
    /// They are given up: the client opens new ones, and every unfinished content goes on at the byte reached.
    New,
    /// They go on over the new address: QUIC's migration (RFC 9000, section 9), SCTP's dynamic address reconfiguration
    /// (RFC 5061), MPTCP's subflows (RFC 8684, 3.2).
    Migrate,
}

/// Options of the kernel's TCP that differ between its generations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TcpOptions {
    /// Selective acknowledgements (RFC 2018), duplicate ones (RFC 2883) included.
    pub sack: bool,
    /// Timestamps (RFC 7323).
    pub timestamps: bool,
    /// Window scaling (RFC 7323).
    pub window_scaling: bool,
    /// How losses are found.
    pub recovery: Recovery,
}

impl TcpOptions {
    /// The kernel's defaults.
    #[cfg(test)]
    pub fn today() -> Self {
        Self { sack: true, timestamps: true, window_scaling: true, recovery: Recovery::Rack }
    }
}

/// How TCP finds losses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Recovery {
    /// RACK and tail loss probes (RFC 8985), early retransmit, F-RTO: the kernel's default.
    Rack,
    /// Three duplicate acknowledgements and time-outs (RFC 5681).
    Classic,
}

/// Options of the kernel's SCTP.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SctpOptions {
    /// Streams of an association, each way.
    pub streams: u16,
    /// Largest message the sender hands over at once.
    pub max_message_bytes: u32,
    /// Deliver messages as they come (RFC 9260, 6.6).
    pub unordered: bool,
    /// RTO.Initial (RFC 9260, 16).
    pub rto_initial_ns: u64,
    /// RTO.Min.
    pub rto_min_ns: u64,
    /// RTO.Max.
    pub rto_max_ns: u64,
    /// Bind an address of every path at both ends, and fail over between them.
    pub multihomed: bool,
}

impl SctpOptions {
    /// One stream, 16 KiB messages, and the kernel's defaults (`net/sctp/protocol.c`).
    #[cfg(test)]
    pub fn usual() -> Self {
        Self {
            streams: 1,
            max_message_bytes: 16_384,
            unordered: false,
            rto_initial_ns: 3_000_000_000,
            rto_min_ns: 1_000_000_000,
            rto_max_ns: 60_000_000_000,
            multihomed: false,
        }
    }
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
    /// The kernel's Multipath TCP (RFC 8684): one subflow a path.
    Mptcp,
}

/// What travels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Workload {
    /// One file, as fast as it goes.
    Bulk(Bulk),
    /// A medium, as its player asks for it.
    Stream(Stream),
}

/// One file, as fast as it goes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bulk {
    /// Which way the content goes.
    pub direction: Heading,
    /// What is sent.
    pub content: Content,
    /// Hash at both ends and compare; otherwise the receiver counts and discards.
    pub verify: bool,
    /// Parts the content is cut into, sent at once: part i over connection i, or over stream i of one connection
    /// where the transport has streams (`quic`; `sctp` with more than one).
    pub chunks: u32,
    /// How the connections are opened.
    pub dial: Dial,
    /// How often the content is sent, on new connections each time; later ones may resume.
    pub transfers: u32,
}

/// A medium in segments, each in several qualities, fetched by a player that adapts.
///
/// The viewer watches for [`Self::watch_ns`] of play time, and may move the play position at every full second of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stream {
    /// Of the medium's bytes.
    pub seed: u64,
    /// The medium's length in segments.
    pub segments: u32,
    /// Play time of a segment.
    pub segment_ns: u64,
    /// What the storage has, lowest first.
    pub qualities: Vec<Quality>,
    /// Which quality the player asks for.
    pub rule: Rule,
    /// Play time until the viewer is done.
    pub watch_ns: u64,
    /// Play time that must be at hand before playing starts, or goes on after a stall or a seek.
    pub start_buffer_ns: u64,
    /// Play time the player holds ahead at most; it asks for no segment that would not fit.
    pub buffer_ns: u64,
    /// Probability of a seek at each full second of play time, to a segment drawn evenly ([`Job::seed`]).
    pub seek_ratio: f64,
    /// Hash what arrives, and compare with the medium's bytes.
    pub verify: bool,
}

/// One quality of a medium.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quality {
    /// Such as `hd`.
    pub name: String,
    /// Size of each of its segments.
    pub segment_bytes: u64,
}

/// How a player chooses the quality of the next segment. All choose the lowest after connecting and after a seek.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Rule {
    /// By the measured link delay: the time from a request to the first byte of its answer, of the segment before.
    /// The highest quality below the first bound, the next below the second, and so on.
    Delay {
        /// Ascending; one fewer than there are qualities.
        bounds_ns: Vec<u64>,
    },
    /// The highest quality whose bit rate is at most the share of the harmonic mean of the last segments' throughput
    /// (Jiang, Sekar, Zhang: FESTIVE, CoNEXT 2012).
    Throughput {
        /// Share of the estimate that is used, 0 to 1.
        safety_ratio: f64,
        /// Segments of the mean.
        window: u32,
    },
    /// By the buffer's level alone: BOLA-BASIC (Spiteri, Urgaonkar, Sitaraman: BOLA, INFOCOM 2016, section III).
    Bola {},
}

/// How several connections are opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dial {
    /// Each when the one before is connected.
    Sequential,
    /// All at once.
    Parallel,
}

/// What happens to the paths while a run goes on. Of what is due at the same time, events come first, then redraws, then
/// traces, each in the order given.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timeline {
    /// In order of time.
    pub events: Vec<Event>,
    /// Delays drawn anew.
    pub redraws: Vec<Redraw>,
    /// Rates as they were measured.
    pub traces: Vec<Trace>,
}

impl Timeline {
    /// Whether nothing happens.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty() && self.redraws.is_empty() && self.traces.is_empty()
    }

    /// Whether the client moves between paths.
    pub fn roams(&self) -> bool {
        self.events.iter().any(|event| matches!(event.change, Change::Attach {} | Change::Detach {}))
    }
}

/// Something that happens to a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// After the epoch.
    pub at_ns: u64,
    /// Index of the path.
    pub path: u32,
    /// What happens.
    pub change: Change,
}

/// What can happen to a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Change {
    /// Both directions lose every packet from now on; nobody is told.
    Outage {},
    /// Both directions are again as they were before the outage.
    Restore {},
    /// Packets that come from now on are delayed by this much. Where no rate keeps them in order, they may overtake.
    Delay {
        /// Server to client.
        down_ns: u64,
        /// Client to server.
        up_ns: u64,
    },
    /// The token bucket of a direction has another rate.
    Rate {
        /// Which.
        direction: Heading,
        /// 0: nothing leaves.
        rate_bit_s: u64,
    },
    /// The client gets its address on this path, prefers it from now on, and is told.
    Attach {},
    /// The client loses its address on this path, and the path every packet.
    Detach {},
}

/// A path whose delay is drawn anew at a fixed period, from a normal distribution cut off at 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Redraw {
    /// Index of the path.
    pub path: u32,
    /// First at the epoch, then after each of these.
    pub period_ns: u64,
    /// Of the round-trip time, half of which goes to each direction.
    pub mean_ns: u64,
    /// Standard deviation of the round-trip time.
    pub deviation_ns: u64,
    /// Seeds the draws.
    pub seed: u64,
}

/// A direction of a path whose rate follows a trace, over and over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// Index of the path.
    pub path: u32,
    /// Which way.
    pub direction: Heading,
    /// How long each of the rates holds.
    pub step_ns: u64,
    /// From the epoch on; 0: nothing leaves.
    pub rates_bit_s: Vec<u64>,
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
