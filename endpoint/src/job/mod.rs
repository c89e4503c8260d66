//! The job: what the planner hands the endpoint, as one JSON object.
//!
//! The Python half of this definition is in `src/netwarp/wire/`; both read and write the golden files in `tests/golden/`.
//! Everything is resolved here: no defaults, no units in strings, no randomness left to draw.

mod path;
mod timeline;
mod transport;
mod workload;

use serde::{Deserialize, Serialize};

pub use path::*;
pub use timeline::*;
pub use transport::*;
pub use workload::*;

/// Version of the wire format. A reader refuses any other.
pub const FORMAT: u32 = 1;

/// One run, resolved to numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// [`FORMAT`].
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
    /// What happens to the paths while the run goes on.
    pub timeline: Timeline,
    /// Write a packet capture of the routers' links to the run directory.
    pub capture: bool,
    /// When to give up.
    pub limits: Limits,
}

impl Job {
    /// Whether content may go on over another connection where one was given up.
    pub fn resumes(&self) -> bool {
        self.timeline.has_handovers() && self.transport.reconnect == Reconnect::New
    }
}

/// A direction of travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Server to client.
    Down,
    /// Client to server.
    Up,
}

/// When to give up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// The run has failed when its own clock says more than this.
    pub virtual_ns: u64,
}
