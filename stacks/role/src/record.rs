//! The records that a role writes (`docs/run-format.md`).

use serde::Serialize;

use crate::job::{Direction, Resume};
use crate::orchestrator::Side;

/// The record of one side of a connection.
#[derive(Debug, Serialize)]
#[serde(tag = "record", rename = "connection")]
#[expect(missing_docs, reason = "the fields are those of the record's documentation")]
pub struct ConnectionRecord {
    pub side: Side,
    pub connection: u64,
    pub transfer: u64,
    pub abandoned: bool,
    pub resumed: Resume,
    pub start_ns: u64,
    pub connected_ns: u64,
    pub settings: Settings,
    pub stats: Stats,
}

/// The settings that the stack used.
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "the fields are those of the record's documentation")]
pub struct Settings {
    pub transport: &'static str,
    pub congestion: String,
    pub initial_window_bytes: u64,
    pub mss_bytes: u64,
    pub send_buffer_bytes: u64,
    pub receive_buffer_bytes: u64,
    pub paced: bool,
}

/// The stack's counters; none where it does not report them.
#[derive(Debug, Default, Serialize)]
#[expect(missing_docs, reason = "the fields are those of the record's documentation")]
pub struct Stats {
    pub retransmitted_packets: Option<u64>,
    pub smoothed_rtt_ns: Option<u64>,
    pub min_rtt_ns: Option<u64>,
    pub congestion_window_bytes: Option<u64>,
    pub busy_ns: Option<u64>,
    pub receive_window_limited_ns: Option<u64>,
    pub send_buffer_limited_ns: Option<u64>,
}

/// The record of a chunk at one end.
#[derive(Debug, Serialize)]
#[serde(tag = "record", rename = "transfer")]
#[expect(missing_docs, reason = "the fields are those of the record's documentation")]
pub struct TransferRecord {
    pub side: Side,
    pub connection: u64,
    pub stream: u64,
    pub transfer: u64,
    pub chunk: u64,
    pub direction: Direction,
    pub bytes: u64,
    pub resumed_at_bytes: u64,
    pub first_byte_ns: u64,
    pub last_byte_ns: u64,
    pub sha256: Option<String>,
    pub longest_gap_ns: Option<u64>,
    pub longest_gap_at_ns: Option<u64>,
}
