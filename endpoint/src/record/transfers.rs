//! Records of what was transferred, and over which connections.
// Written by scripts/generate_wire.py: change the models in src/netwarp/wire/ instead.

use serde::{Deserialize, Serialize};

use crate::job::{Direction, Resume, TransportKind};

/// One side of one connection, written when it is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConnectionRecord {
    /// The end that recorded it: the client dials, the server listens.
    pub side: Side,
    /// Number of the connection in the run, 0 for the first.
    pub connection: u32,
    /// Which of the run's transfers it served, from 0.
    pub transfer: u32,
    /// Whether it was given up because the client moved to another path.
    pub abandoned: bool,
    /// What it used of an earlier connection, as the stack says when it is over: what was asked for is not always got.
    pub resumed: Resume,
    /// Call of `connect` (client): the first, where the client moved before the handshake was over and began it again.
    /// Acceptance (server).
    pub start_ns: u64,
    /// Ready for application data. With early data that is before the peer has answered: at once (`tcp`, `quic`), or
    /// when TCP is connected (`tls`).
    pub connected_ns: u64,
    /// What the stack really used.
    pub settings: Settings,
    /// What the stack counted.
    pub stats: Stats,
}

/// One end of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The side that dials.
    Client,
    /// The side that listens.
    Server,
}

/// What a stack really used, read back where it can be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The protocol that was used; of MPTCP that fell back, `tcp`.
    pub transport: TransportKind,
    /// Congestion control by its name in the stack.
    pub congestion: String,
    /// First flight in bytes of payload, as configured.
    pub initial_window_bytes: u64,
    /// Largest payload of one packet in use at the end.
    pub mss_bytes: u32,
    /// Send buffer or send window limit.
    pub send_buffer_bytes: u64,
    /// Receive buffer or flow-control window limit.
    pub receive_buffer_bytes: u64,
    /// Whether the stack spaces its packets out.
    pub paced: bool,
}

/// What a stack counted on one connection; null where it cannot say.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stats {
    /// TCP: `tcpi_total_retrans`; SCTP: `sas_rtxchunks`; QUIC: packets declared lost.
    pub retransmitted_packets: Option<u64>,
    /// Smoothed RTT at the end.
    pub smoothed_rtt_ns: Option<u64>,
    /// Smallest RTT the stack saw.
    pub min_rtt_ns: Option<u64>,
    /// Congestion window at the end.
    pub congestion_window_bytes: Option<u64>,
    /// Time with something to send.
    pub busy_ns: Option<u64>,
    /// Part of `busy_ns` in which the peer's window held it back.
    pub receive_window_limited_ns: Option<u64>,
    /// Part of `busy_ns` in which the send buffer held it back.
    pub send_buffer_limited_ns: Option<u64>,
}

/// One content moved over one stream, once for each end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransferRecord {
    /// The side that recorded it.
    pub side: Side,
    /// Index of the connection.
    pub connection: u32,
    /// Index of the stream on it.
    pub stream: u32,
    /// Which of the run's transfers, from 0.
    pub transfer: u32,
    /// Which part of the content, from 0.
    pub chunk: u32,
    /// Which way the content went.
    pub direction: Direction,
    /// Content bytes sent or received.
    pub bytes: u64,
    /// Sender: bytes of the chunk before these, which connections that were given up had carried.
    pub resumed_at_bytes: u64,
    /// Receiver: first content byte at hand. Sender: first byte handed to the transport.
    pub first_byte_ns: u64,
    /// Receiver: last content byte at hand. Sender: the receiver's confirmation at hand.
    pub last_byte_ns: u64,
    /// Hex SHA-256 of the content as this end saw it, if asked for.
    pub sha256: Option<String>,
    /// Receiver, in a run with outages, handovers or rate traces: longest time between two arrivals of new content. Of
    /// two ticks (20 ms) or less, TCP's and MPTCP's may go unseen.
    pub longest_gap_ns: Option<u64>,
    /// When it began: the last arrival before it.
    pub longest_gap_at_ns: Option<u64>,
}

/// The client was told of its address on another path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HandoverRecord {
    /// When the client was told.
    pub at_ns: u64,
    /// Index of the path.
    pub path: u32,
    /// Longest time without new content that ended between this and the next handover, or the end, and began before the
    /// move was over: a round trip after this, or after the path before was lost. Counted from the move on: this, or
    /// when the client had lost every other path.
    pub longest_gap_ns: Option<u64>,
    /// When it began, or the handover did.
    pub longest_gap_at_ns: Option<u64>,
}

/// Content received over time, in a run with a timeline or a player.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GoodputRecord {
    /// From the epoch on, the width of each count.
    pub step_ns: u64,
    /// Content bytes that came in each step, up to the last that did.
    pub bytes: Vec<u64>,
}
