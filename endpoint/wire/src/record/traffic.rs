//! The workload `traffic` of a job, and its record: many transfers of random sizes.
// Written by scripts/generate_wire.py: change the models in src/netwarp/wire/ instead.

use serde::{Deserialize, Serialize};

/// The flows of a `traffic` workload in the order in which they were due, as columns: numbers with the same index
/// belong to the same flow.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct FlowTableRecord {
    /// When each flow was due, and its client began to connect.
    pub due_ns: Vec<u64>,
    /// Size of each flow's content.
    pub size_bytes: Vec<u64>,
    /// When the last byte of each flow had arrived.
    pub completed_ns: Vec<u64>,
}
