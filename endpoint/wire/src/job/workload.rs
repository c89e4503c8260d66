//! The workload of a job: which data is transferred, and when.
// Written by scripts/generate_wire.py: change the models in src/netwarp/wire/ instead.

use serde::{Deserialize, Serialize};

use super::{Command, Direction, Flow, Page, Rr, Traffic};

/// The workload of a job: what is sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Workload {
    /// Content that is sent as fast as possible.
    Bulk(Bulk),
    /// Adaptive streaming: a video in segments, each in several qualities, from which a player chooses.
    ///
    /// The viewer watches for `watch_ns`, and may seek at every full second.
    Stream(Stream),
    /// A server and a client that are installed programs, each in its host's namespaces.
    ///
    /// They see the machine's files, but the files that they write are in layers in memory above these.
    Command(Command),
    /// Messages of one size, each sent when it is due, whether or not earlier ones have arrived.
    ///
    /// Over `udp` a message is a datagram, and over `quic` if datagrams are used; over `sctp` it is a separate SCTP
    /// message if messages are unordered or partially reliable (PR-SCTP). Otherwise messages are sent in order on one
    /// stream.
    Flow(Flow),
    /// Requests of one size, each sent when it is due and answered by a response of one size.
    ///
    /// Over `udp` each is a datagram. Other transports carry them in order on one stream.
    Rr(Rr),
    /// A web page: a client loads its document, and all resources to which the document and other resources refer.
    ///
    /// A resource is requested when the one that refers to it has run. A resource runs when it has arrived and all that
    /// block it have run. The page is loaded when all resources have arrived.
    Page(Page),
    /// Flows from the server to the client, each over a separate connection, which the client opens when the flow is
    /// due, whether or not earlier flows are complete.
    Traffic(Traffic),
}

/// Content that is sent as fast as possible.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct Bulk {
    /// The direction of the content.
    pub direction: Direction,
    /// The content that is sent.
    pub content: Content,
    /// Whether both ends hash the content; otherwise the receiver counts and discards it.
    pub verify: bool,
    /// Number of chunks that are sent concurrently: chunk i over connection i, or over stream i of one connection if
    /// the transport has streams (`quic`; `sctp` with more than one).
    pub chunks: u32,
    /// Whether connections are opened one after another or all at once.
    pub dial: Dial,
    /// Number of times that the content is sent, on new connections each time; later ones may resume sessions of
    /// earlier ones.
    pub transfers: u32,
    /// Whether the receiver writes each chunk to a file, merges the files in order once its connections are closed, and
    /// compares the result with the sender's content. Otherwise the hashes of the chunks are compared.
    pub merge: bool,
    /// How the sender learns that all content has arrived.
    pub done: Done,
    /// Time after its start at which the client aborts; the content that has arrived by then is the result. Null: the
    /// content arrives completely.
    pub duration_ns: Option<u64>,
    /// The test case that programs with the interop runner's interface carry out; null for the case `transfer` with one
    /// file.
    #[serde(default, skip_serializing_if = "is_left_out")]
    pub case: Option<InteropCase>,
}

/// The content of a transfer: the bytes to send.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub enum Content {
    /// Incompressible bytes made from a seed.
    Seeded {
        /// Seed of the bytes: equal seeds give equal bytes.
        seed: u64,
        /// Number of bytes.
        size_bytes: u64,
    },
    /// The content of a file that the sender can read.
    File {
        /// Absolute path of the file.
        path: String,
        /// Size of the file when the run was planned. If it has changed since, the run is refused.
        size_bytes: u64,
    },
}

/// The order in which several connections are opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dial {
    /// One after another: each when the previous one is connected.
    Sequential,
    /// All connections at the same time.
    Parallel,
}

/// How the sender learns that all content has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Done {
    /// The receiver answers each chunk with a byte on the chunk's stream.
    Chunk,
    /// The sender ends each stream after its chunk, and the receiver waits for these ends. When it has all content, it
    /// confirms that with a byte on an additional stream of the connection, or closes the connections if they have no
    /// streams.
    Transfer,
}

/// A test case of the QUIC interop runner, as the values that the two programs get.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct InteropCase {
    /// `TESTCASE` in the server's environment.
    pub server: String,
    /// `TESTCASE` in the client's environment.
    pub client: String,
    /// Sizes of the files that the client requests. Together the files are the content.
    pub file_bytes: Vec<u64>,
    /// Length of each file's name, in characters.
    pub name_bytes: u32,
    /// Number of certificates in the server's chain, without that of the certificate authority.
    pub certificates: u32,
}

/// Adaptive streaming: a video in segments, each in several qualities, from which a player chooses.
///
/// The viewer watches for `watch_ns`, and may seek at every full second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct Stream {
    /// Seed of the video's bytes.
    pub seed: u64,
    /// Length of the video in segments.
    pub segments: u32,
    /// Play time of each segment.
    pub segment_ns: u64,
    /// The qualities of the video, lowest first.
    pub qualities: Vec<Quality>,
    /// The rule by which the player chooses a quality.
    pub rule: Rule,
    /// The clock by which the viewer counts time, for seeks and for the session's length.
    pub viewer_clock: ViewerClock,
    /// How long the viewer watches, by the viewer's clock.
    pub watch_ns: u64,
    /// Play time that must be buffered before playing starts, or continues after a stall or a seek.
    pub start_buffer_ns: u64,
    /// Maximum play time that the player buffers. It requests no segment that would not fit.
    pub buffer_ns: u64,
    /// Probability of a seek at each full second of the viewer's clock, to a uniformly drawn segment.
    pub seek_ratio: f64,
    /// Whether received segments are hashed and compared with the video's bytes.
    pub verify: bool,
}

/// One quality of a video.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct Quality {
    /// Name of the quality, such as `hd`.
    pub name: String,
    /// Size of each segment in this quality.
    pub segment_bytes: u64,
}

/// How a player chooses the quality of the next segment. All choose the lowest after connecting and after a seek.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub enum Rule {
    /// Chooses by the delay that the player measured for the previous segment, from its request to the first byte of
    /// the answer: the highest quality below the first bound, the next below the second, and so on. Retransmissions and
    /// other data in the queue are part of it.
    Delay {
        /// The bounds in ascending order, one fewer than there are qualities.
        bounds_ns: Vec<u64>,
    },
    /// Chooses by the round-trip delay of the link at the time of the request, according to the job and its timeline,
    /// so that it is the same for every transport: the highest quality below the first bound, the next up to the
    /// second, and so on; the lowest above the last.
    ///
    /// The link is the path to which the client attached last. The delay is the sum of both directions', without
    /// jitter, queueing and the time that packets take at the link's rate.
    #[serde(rename = "link_delay")]
    LinkDelay {
        /// The bounds in ascending order, one fewer than there are qualities.
        bounds_ns: Vec<u64>,
    },
    /// Chooses the highest quality whose bit rate is at most a share of the harmonic mean of the last segments'
    /// throughput (Jiang, Sekar, Zhang: FESTIVE, CoNEXT 2012).
    Throughput {
        /// Share of the estimated throughput that a quality's bit rate may take.
        safety_ratio: f64,
        /// Number of segments in the harmonic mean.
        window: u32,
    },
    /// Chooses by the buffer's level alone: BOLA-BASIC (Spiteri, Urgaonkar, Sitaraman: BOLA, INFOCOM 2016, section
    /// III).
    Bola {},
}

/// The clock that times a viewer's session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ViewerClock {
    /// The time played: it stands still while nothing plays.
    Play,
    /// The run's time since the client started, whether anything plays or not.
    Wall,
}

/// Returns whether an optional key has its default value: then it is left out.
fn is_left_out<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
