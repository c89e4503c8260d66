//! The interface of the machines that carry out a run. Implementations differ in where roles run, which programs they
//! are, and whether the path is built or exists already.

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
    /// Returns which clock roles and path use: virtual or real time.
    fn clock(&self) -> ClockKind;

    /// Returns the run's token, with which every request begins; `None` if no host outside the run can reach the
    /// server.
    fn token(&self) -> Option<RequestPrefix> {
        None
    }

    /// Prepares the machines for a job, before its first record is written.
    ///
    /// # Errors
    /// A machine lacks something that the job asks for.
    fn prepare(&mut self, job: &Job) -> Result<()>;

    /// Builds the job's path.
    fn build(&mut self, job: &Job) -> Result<()>;

    /// Returns the network that was built, so that it can be changed, measured, captured and probed; `None` if the run
    /// uses an existing path.
    fn network(&mut self) -> Option<&mut Network>;

    /// Starts a role, which reads the job from `job_file` and shares memory with this process.
    fn spawn(&mut self, part: Part<'_>, job: &Job, job_file: &Path, shared: Shared<'_>) -> Result<Box<dyn Role>>;
}

/// The part that a role plays in a workload.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part<'a> {
    /// The side of the workload. Programs on further hosts count as servers.
    pub side: Side,
    /// The name of the host, for a program on a further host ([`netwarp_workload::Workload::further_programs`]); `None`
    /// for the workload's own server and client.
    pub further: Option<&'a str>,
}

/// Memory and files that a role shares with the orchestrator.
#[derive(Clone, Copy, Default)]
pub(crate) struct Shared<'a> {
    /// Where the role logs its TLS secrets, if the run is captured.
    pub keys: Option<&'a KeyLog>,
    /// Where the role writes the state of its connections, if they are sampled.
    pub gauges: Option<&'a SharedGauges>,
    /// The directory for qlog files of the role's QUIC connections, if the job asks for them.
    pub qlog: Option<&'a Path>,
}
