//! What a run needs of the machines that carry it out: another implementation may run roles elsewhere, or programs that
//! are not ours, or use an existing path.

use std::path::Path;

use anyhow::Result;
use netwarp_core::connection_gauges::SharedGauges;
use netwarp_path::capture::KeyLog;
use netwarp_path::network::Network;
use netwarp_wire::job::Job;
use netwarp_wire::record::{ClockKind, Side};
use netwarp_wire::request_prefix::RequestPrefix;

use super::running_role::Role;

/// The machines or namespaces that carry out a run.
pub(crate) trait Host {
    /// Returns the clock of the roles and of the path.
    fn clock(&self) -> ClockKind;

    /// Returns the prefix of every request of the run, where hosts outside the run could reach the server.
    fn token(&self) -> Option<RequestPrefix> {
        None
    }

    /// Prepares for a job, before its first record is written.
    ///
    /// # Errors
    /// This host lacks something that the job asks for.
    fn prepare(&mut self, job: &Job) -> Result<()>;

    /// Builds the job's path.
    fn build(&mut self, job: &Job) -> Result<()>;

    /// Returns the built path, so that it can be changed, measured, captured and probed; `None` if the path is not this
    /// run's own.
    fn network(&mut self) -> Option<&mut Network>;

    /// Starts a role, which reads the job from `job_file` and shares memory with this process.
    fn spawn(&mut self, part: Part<'_>, job: &Job, job_file: &Path, shared: Shared<'_>) -> Result<Box<dyn Role>>;
}

/// The part that a role plays in a workload.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part<'a> {
    /// Its side. Further programs are servers.
    pub side: Side,
    /// The host of a further program ([`netwarp_workload::Workload::further_programs`]); `None` for the workload's own
    /// server and client.
    pub further: Option<&'a str>,
}

/// Memory and files that a role shares with the orchestrator.
#[derive(Clone, Copy, Default)]
pub(crate) struct Shared<'a> {
    /// Where the role logs its TLS secrets, if it should.
    pub keys: Option<&'a KeyLog>,
    /// Where the role writes the state of its connections, if they are sampled.
    pub gauges: Option<&'a SharedGauges>,
    /// Where the role writes qlog files of its QUIC connections, if it should.
    pub qlog: Option<&'a Path>,
}
