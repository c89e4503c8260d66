//! Records of transfers, and of the connections over which content was transferred.
// Written by scripts/generate_wire.py: change the models in src/netwarp/wire/ instead.

use serde::{Deserialize, Serialize};

use crate::job::{Direction, Resume, TransportKind};

/// One side of one connection, written when it has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct ConnectionRecord {
    /// The side that recorded the connection: the client connects, the server listens.
    pub side: Side,
    /// Number of the connection in the run, 0 for the first.
    pub connection: u32,
    /// Index, from 0, of the transfer for which the connection was used.
    pub transfer: u32,
    /// Whether the client abandoned the connection because it moved to another path.
    pub abandoned: bool,
    /// Whether and how the connection resumed an earlier session, as the stack reports it at the end. The job may allow
    /// more than that.
    pub resumed: Resume,
    /// When the client called `connect`, for the first time if it moved before the handshake was complete and began
    /// again; for a server, when it accepted the connection.
    pub start_ns: u64,
    /// When the connection was ready for application data. With early data that is before the peer has answered: at
    /// once (`tcp`, `quic`), or when TCP is connected (`tls`).
    pub connected_ns: u64,
    /// The settings that the stack used for the connection.
    pub settings: Settings,
    /// The stack's counters for the connection.
    pub stats: Stats,
}

/// One end of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The side that connects.
    Client,
    /// The side that listens.
    Server,
}

/// The settings that a stack used, read back where possible.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct Settings {
    /// The protocol that was used; `tcp` for MPTCP that fell back.
    pub transport: TransportKind,
    /// Congestion control by its name in the stack.
    pub congestion: String,
    /// Initial congestion window in bytes of payload, as configured.
    pub initial_window_bytes: u64,
    /// Largest payload of one packet at the end of the connection.
    pub mss_bytes: u32,
    /// Size of the send buffer, or limit of the send window.
    pub send_buffer_bytes: u64,
    /// Size of the receive buffer, or limit of the flow-control window.
    pub receive_buffer_bytes: u64,
    /// Whether the stack paces its packets.
    pub paced: bool,
}

/// A stack's counters for one connection; null for what it does not count.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct Stats {
    /// TCP: `tcpi_total_retrans`; SCTP: `sas_rtxchunks`; QUIC: packets declared lost.
    pub retransmitted_packets: Option<u64>,
    /// Smoothed RTT at the end.
    pub smoothed_rtt_ns: Option<u64>,
    /// Smallest RTT that the stack measured.
    pub min_rtt_ns: Option<u64>,
    /// Congestion window at the end.
    pub congestion_window_bytes: Option<u64>,
    /// Time in which there was data to send.
    pub busy_ns: Option<u64>,
    /// Part of `busy_ns` in which the peer's receive window limited sending.
    pub receive_window_limited_ns: Option<u64>,
    /// Part of `busy_ns` in which the send buffer limited sending.
    pub send_buffer_limited_ns: Option<u64>,
}

/// The transfer of a content, or of a chunk of one, over one stream; each end writes a record of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct TransferRecord {
    /// The side that recorded the transfer.
    pub side: Side,
    /// Index of the connection.
    pub connection: u32,
    /// Index of the stream on that connection.
    pub stream: u32,
    /// Index of the run's transfer, from 0.
    pub transfer: u32,
    /// Index of the chunk in the content, from 0.
    pub chunk: u32,
    /// The direction of the content.
    pub direction: Direction,
    /// Bytes of content that were sent or received.
    pub bytes: u64,
    /// At the sender: how many bytes of the chunk were transferred over earlier connections, which were abandoned.
    pub resumed_at_bytes: u64,
    /// At the receiver: when the first content byte was received. At the sender: when the first byte was passed to the
    /// transport.
    pub first_byte_ns: u64,
    /// At the receiver: when the last content byte was received or, if the job's `done` is `transfer`, the end of the
    /// stream. At the sender: when it learned that everything had arrived.
    pub last_byte_ns: u64,
    /// SHA-256 in hexadecimal digits of the content as this end sent or received it; null if the job does not ask for
    /// it.
    pub sha256: Option<String>,
    /// At the receiver, in a run with outages, handovers or rate traces: longest time between two arrivals of new
    /// content. Gaps of TCP and MPTCP of two ticks (20 ms) or less may not be noticed.
    pub longest_gap_ns: Option<u64>,
    /// When the longest gap began: the time of the last arrival before it.
    pub longest_gap_at_ns: Option<u64>,
}

/// The file into which the receiver merged the chunks of a transfer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct MergedRecord {
    /// Index of the run's transfer, from 0.
    pub transfer: u32,
    /// How many chunk files were merged.
    pub chunks: u32,
    /// When the file was complete. Neither computing nor writing takes virtual time.
    pub merged_ns: u64,
    /// Size of the file.
    pub bytes: u64,
    /// SHA-256 in hexadecimal digits of the file, read back from the disk.
    pub sha256: String,
}

/// The client was notified of its address on another path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct HandoverRecord {
    /// When the client was notified.
    pub at_ns: u64,
    /// Index of the path.
    pub path: u32,
    /// Longest time without new content that ended before the next handover, or the end, and began before the move was
    /// over: a round trip after the client was notified, or after the path before was lost. Counted from when the
    /// client was notified, or had lost every other path.
    pub longest_gap_ns: Option<u64>,
    /// When the longest gap began; at the earliest, the time from which `longest_gap_ns` is counted.
    pub longest_gap_at_ns: Option<u64>,
}

/// The content that was received over time, in a run with a timeline or a player.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct GoodputRecord {
    /// Width of each time bin; the first one begins at the run's epoch.
    pub step_ns: u64,
    /// Bytes of content received in each time bin, up to the last bin with any.
    pub bytes: Vec<u64>,
}
