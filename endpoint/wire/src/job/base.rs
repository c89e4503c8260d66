//! The parts that jobs and records have in common.
// Written by scripts/generate_wire.py: change the models in src/netwarp/wire/ instead.

use serde::{Deserialize, Serialize};

/// Version of the format of jobs. A reader refuses any other.
pub const JOB_FORMAT: u32 = 2;

/// Version of the format of records. A reader refuses any other.
pub const RECORD_FORMAT: u32 = 1;

/// A direction of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From the server to the client.
    Down,
    /// From the client to the server.
    Up,
}
