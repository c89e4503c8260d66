//! The workload of programs that are not netwarp's own, and what came of each.
// Written by scripts/generate_wire.py: change the models in src/netwarp/wire/ instead.

use serde::{Deserialize, Serialize};

use super::Side;

/// One program, written when it has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramRecord {
    /// The host whose program it is.
    pub side: Side,
    /// Its process was started.
    pub started_ns: u64,
    /// Server: it was ready.
    pub ready_ns: Option<u64>,
    /// Its process ended.
    pub ended_ns: u64,
    /// Its exit status; null when a signal ended it.
    pub exit_status: Option<u8>,
    /// The signal that ended it; null when it exited.
    pub signal: Option<u8>,
    /// What it printed, all together.
    pub stdout_bytes: u64,
    /// What it printed on standard error.
    pub stderr_bytes: u64,
    /// The first MiB of what it printed; bytes that are no UTF-8 are replaced.
    pub stdout: String,
}

/// The file that a client's program has left, in a run by the interop runner's contract. What it does on the way is its
/// own to know, so times are of its process and of its host's packets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DownloadRecord {
    /// The client's process was started.
    pub started_ns: u64,
    /// It ended.
    pub ended_ns: u64,
    /// The client's first packet left its host.
    pub first_packet_ns: u64,
    /// The last packet of the server's that reached the client's host before the process ended.
    pub last_packet_ns: u64,
    /// Size of the file.
    pub bytes: u64,
    /// Its hex SHA-256.
    pub sha256: String,
}
