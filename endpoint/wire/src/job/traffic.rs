//! The workload `traffic` of a job, and its record: many transfers of random sizes.
// Written by scripts/generate_wire.py: change the models in src/netwarp/wire/ instead.

use serde::{Deserialize, Serialize};

use super::Arrivals;

/// Flows from the server to the client, each over a separate connection, which the client opens when the flow is due,
/// whether or not earlier flows are complete.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct Traffic {
    /// Seed of the flows' sizes, and of their start times if these are random.
    pub seed: u64,
    /// Number of flows.
    pub flows: u32,
    /// The process that determines when flows are due.
    pub arrivals: Arrivals,
    /// Points of the cumulative distribution of the flows' sizes, in order. Between them it is linear.
    pub sizes: Vec<SizePoint>,
}

/// A point of a cumulative distribution of sizes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct SizePoint {
    /// A flow size, in bytes.
    pub size_bytes: u64,
    /// The share of flows that are not larger; 0 at the first point, 1 at the last.
    pub ratio: f64,
}
