//! The workload of programs that are not netwarp's own, and the record of how each of them ran.
// Written by scripts/generate_wire.py: change the models in src/netwarp/wire/ instead.

use serde::{Deserialize, Serialize};

use super::Side;

/// How one program ran, written when it has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct ProgramRecord {
    /// The side whose program it is. Programs on further hosts of a network count as servers.
    pub side: Side,
    /// When the program's process was started.
    pub started_ns: u64,
    /// When the server was ready; null for a client.
    pub ready_ns: Option<u64>,
    /// When the program's process ended.
    pub ended_ns: u64,
    /// The program's exit status; null if a signal ended it.
    pub exit_status: Option<u8>,
    /// The signal that ended the program; null if it exited.
    pub signal: Option<u8>,
    /// Number of bytes that the program printed on standard output.
    pub stdout_bytes: u64,
    /// Number of bytes that the program printed on standard error.
    pub stderr_bytes: u64,
    /// The first MiB of the program's standard output; bytes that are not UTF-8 are replaced.
    pub stdout: String,
    /// The program's host in a network, after which the files of its output are named.
    #[serde(default, skip_serializing_if = "is_left_out")]
    pub host: Option<String>,
}

/// The file that a client's program has downloaded, in a run of programs with the interface of the interop runner.
/// netwarp does not see what the program does, so times are those of its process and of its host's packets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct DownloadRecord {
    /// When the client's process was started.
    pub started_ns: u64,
    /// When the client's process ended.
    pub ended_ns: u64,
    /// When the client's first packet left its host.
    pub first_packet_ns: u64,
    /// When the server's last packet before the process ended reached the client's host.
    pub last_packet_ns: u64,
    /// Size of the file.
    pub bytes: u64,
    /// The SHA-256 of the file's content, in hexadecimal digits.
    pub sha256: String,
}

/// Returns whether an optional key has its default value: then it is left out.
fn is_left_out<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
