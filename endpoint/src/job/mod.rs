//! The job: what the planner hands the endpoint, as one JSON object.
//!
//! Everything is resolved here: no defaults, no units in strings, no randomness left to draw.
// Written by scripts/generate_wire.py: change the models in src/netwarp/wire/ instead.

mod base;
mod command;
mod flow;
mod methods;
mod page;
mod path;
mod timeline;
mod transport;
mod workload;

use serde::{Deserialize, Serialize};

pub use self::base::*;
pub use self::command::*;
pub use self::flow::*;
pub use self::page::*;
pub use self::path::*;
pub use self::timeline::*;
pub use self::transport::*;
pub use self::workload::*;

/// One run, resolved to numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// Version of the wire format.
    pub format: u32,
    /// Name of the run in messages, such as `c003-r01`.
    pub run: String,
    /// Seeds what the endpoint itself draws. The paths carry their own seeds.
    pub seed: u64,
    /// One router for each; the first is the one used unless the transport can use more.
    pub paths: Vec<Path>,
    /// How bytes travel.
    pub transport: Transport,
    /// What travels.
    pub workload: Workload,
    /// When the client begins, after the epoch; later if the server is not ready then.
    pub start_ns: u64,
    /// Name of the workload, in a study whose runs can have several.
    pub name: Option<String>,
    /// Where its server listens; null: where servers do that are alone.
    pub port: Option<u16>,
    /// Workloads that share the paths with it.
    pub competing: Vec<Competing>,
    /// What happens to the paths while the run goes on.
    pub timeline: Timeline,
    /// Write a packet capture of the routers' links to the run directory.
    pub capture: bool,
    /// How often queues and connections are looked at; none: never.
    pub sampling: Option<Sampling>,
    /// When to give up.
    pub limits: Limits,
}

/// Another workload of the same run, with a server and a client of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Competing {
    /// Its name.
    pub name: String,
    /// Where its server listens.
    pub port: u16,
    /// How its bytes travel.
    pub transport: Transport,
    /// What travels.
    pub workload: Workload,
    /// When its client begins, after the epoch; later if its server is not ready then.
    pub start_ns: u64,
}

/// How often queues and connections are looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sampling {
    /// Time between two samples; where samples are thinned, at first.
    pub interval_ns: u64,
    /// Whether later samples are as far apart as so many packets pass that sampling costs little of what the packets
    /// do.
    pub is_thinned: bool,
}

/// Bounds of a run, beyond which it is given up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// The run has failed when its own clock says more than this.
    pub virtual_ns: u64,
}
