//! The workload of a job: what travels.
// Written by scripts/generate_wire.py: change the models in src/netwarp/wire/ instead.

use serde::{Deserialize, Serialize};

use super::{Command, Direction, Flow, Page, Rr};

/// What travels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Workload {
    /// One file, as fast as it goes.
    Bulk(Bulk),
    /// A medium in segments, each in several qualities, fetched by a player that adapts.
    ///
    /// The viewer watches for `watch_ns` of play time, and may move the play position at every full second of it.
    Stream(Stream),
    /// A server and a client, programs of the machine, each in its host's namespaces.
    ///
    /// They see the machine's files below a layer in memory that takes what they write.
    Command(Command),
    /// Messages of one size, each sent when it is due whether the ones before have arrived or not.
    ///
    /// Over `udp` a message is a datagram, as over `quic` where it has datagrams; over `sctp` it is a message of its
    /// own where these may overtake each other or be given up. Else they go one after another on one stream.
    Flow(Flow),
    /// Requests of one size, each sent when it is due and answered by a response of one size.
    ///
    /// Over `udp` each is a datagram. Other transports carry them on one stream, in their order.
    Rr(Rr),
    /// A web page: a client loads its document and all that follows from it.
    ///
    /// A resource is requested when the one that refers to it has run: when it has arrived, and all that blocks it has
    /// run. The page is loaded when all resources have arrived.
    Page(Page),
}

/// One file, as fast as it goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bulk {
    /// Which way the content goes.
    pub direction: Direction,
    /// What is sent.
    pub content: Content,
    /// Hash at both ends and compare; otherwise the receiver counts and discards.
    pub verify: bool,
    /// Parts the content is cut into, sent at once: part i over connection i, or over stream i of one connection where
    /// the transport has streams (`quic`; `sctp` with more than one).
    pub chunks: u32,
    /// How the connections are opened.
    pub dial: Dial,
    /// How often the content is sent, on new connections each time; later ones may resume.
    pub transfers: u32,
    /// The client breaks off so long after it began, and what has arrived by then is the result. Null: the content
    /// arrives whole.
    pub duration_ns: Option<u64>,
}

/// Bytes to send.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Content {
    /// Incompressible bytes made from a seed.
    Seeded {
        /// Same seed, same bytes.
        seed: u64,
        /// How many bytes there are.
        size_bytes: u64,
    },
    /// A file readable where the sender runs.
    File {
        /// Absolute path of the file.
        path: String,
        /// As the planner saw it; a run on a file that changed since is refused.
        size_bytes: u64,
    },
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

/// A medium in segments, each in several qualities, fetched by a player that adapts.
///
/// The viewer watches for `watch_ns` of play time, and may move the play position at every full second of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stream {
    /// Seed of the medium's bytes.
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
    /// Probability of a seek at each full second of play time, to a segment drawn evenly.
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
    /// By the measured link delay: from a request to the first byte of its answer, of the segment before. The highest
    /// quality below the first bound, the next below the second, and so on.
    Delay {
        /// Ascending; one fewer than there are qualities.
        bounds_ns: Vec<u64>,
    },
    /// The highest quality whose bit rate is at most a share of the harmonic mean of the last segments' throughput
    /// (Jiang, Sekar, Zhang: FESTIVE, CoNEXT 2012).
    Throughput {
        /// Share of the estimate that is used.
        safety_ratio: f64,
        /// Segments of the mean.
        window: u32,
    },
    /// By the buffer's level alone: BOLA-BASIC (Spiteri, Urgaonkar, Sitaraman: BOLA, INFOCOM 2016, section III).
    Bola {},
}
