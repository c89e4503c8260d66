//! The job, which the planner passes to the endpoint as one JSON object.
//!
//! All values are resolved: a job has no defaults, no units in strings, and nothing that is still to be drawn at
//! random.
// Written by scripts/generate_wire.py: change the models in src/netwarp/wire/ instead.

mod base;
mod command;
mod flow;
mod network;
mod page;
mod path;
mod timeline;
mod traffic;
mod transport;
mod workload;

use serde::{Deserialize, Serialize};

pub use self::base::*;
pub use self::command::*;
pub use self::flow::*;
pub use self::network::*;
pub use self::page::*;
pub use self::path::*;
pub use self::timeline::*;
pub use self::traffic::*;
pub use self::transport::*;
pub use self::workload::*;

/// The description of one run, with all values as numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct Job {
    /// Version of the job's format.
    pub format: u32,
    /// Name of the run in messages, such as `c003-r01`.
    pub run: String,
    /// Seed of the endpoint's own random numbers; each path has its own seed.
    pub seed: u64,
    /// The paths, with one router each. The first is used unless the transport can use several.
    pub paths: Vec<Path>,
    /// The workloads, which share the paths. Each role gets a job with its own workload only.
    pub workloads: Vec<Exchange>,
    /// The events of the paths during the run.
    pub timeline: Timeline,
    /// Write a packet capture of the routers' links to the run directory.
    pub capture: bool,
    /// How often queues and connections are sampled; null for never.
    pub sampling: Option<Sampling>,
    /// Limits beyond which the run is ended as failed.
    pub limits: Limits,
    /// The guest kernel, by a version or the name of its build; null for the machine's default.
    #[serde(default, skip_serializing_if = "is_left_out")]
    pub kernel: Option<String>,
    /// The network of the run, whose links are the job's paths; null if each path leads from the only client over a
    /// separate router to the only server.
    #[serde(default, skip_serializing_if = "is_left_out")]
    pub network: Option<Network>,
}

/// A workload over a transport, between its client and its server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct Exchange {
    /// Name of the workload, in a study whose runs can have several.
    pub name: Option<String>,
    /// The port on which the workload's server listens; null for the default port, if the run has one workload.
    pub port: Option<u16>,
    /// When the workload's client begins, in nanoseconds after the run's epoch. If its server is not ready by then, the
    /// client begins when it is.
    pub start_ns: u64,
    /// The transport and its options.
    pub transport: Transport,
    /// The workload: which data is transferred, and when.
    pub workload: Workload,
    /// The name that the workload shares with others of the run; their records are evaluated together. Null if there
    /// are no others.
    #[serde(default, skip_serializing_if = "is_left_out")]
    pub group: Option<String>,
    /// The hosts of the workload's client and server; null in a job without a network.
    #[serde(default, skip_serializing_if = "is_left_out")]
    pub ends: Option<Ends>,
}

/// How often queues and connections are sampled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct Sampling {
    /// Time between two samples; if samples are thinned, the initial one.
    pub interval_ns: u64,
    /// Whether later intervals are adapted to the number of packets, so that sampling costs little in comparison.
    pub is_thinned: bool,
}

/// Limits beyond which a run is ended as failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "tolerant"), serde(deny_unknown_fields))]
pub struct Limits {
    /// Time of the run's clock beyond which the run has failed.
    pub virtual_ns: u64,
}

/// Returns whether an optional key has its default value: then it is left out.
fn is_left_out<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
