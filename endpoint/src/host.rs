//! The hosts of a run's roles, and the path between them. [`Host`] hides all that a run needs of the machines that
//! carry it out: another implementation may run roles elsewhere, or programs that are not ours, or use an existing
//! path.

use std::path::Path;

use anyhow::{Context as _, Result};
use netwarp_core::addresses::server_address;
use netwarp_path::network::Network;
use netwarp_path::topology::{self, BuildStep, Namespace};
use netwarp_wire::job::{Contract, Job};
use netwarp_wire::record::{ClockKind, Side};
use netwarp_wire::request_prefix::RequestPrefix;

use crate::role_process::{RoleProcess, RoleStart, Shared};
use crate::running_role::Role;

/// The machines or namespaces that carry out a run.
pub(crate) trait Host {
    /// Returns the clock of the roles and of the path.
    fn clock(&self) -> ClockKind;

    /// Returns the prefix of every request of the run, where strangers could reach the server.
    fn token(&self) -> Option<RequestPrefix> {
        None
    }

    /// Prepares for a job, before its first record is written.
    ///
    /// # Errors
    /// This host lacks something that the job asks for.
    fn prepare(&mut self, job: &Job) -> Result<()>;

    /// Builds the job's path.
    ///
    /// # Errors
    /// The path cannot be built.
    fn build(&mut self, job: &Job) -> Result<()>;

    /// Returns the built path, so that it can be changed, measured, captured and probed; none if the path is not this
    /// run's own.
    fn network(&mut self) -> Option<&mut Network>;

    /// Handles what the roles have left behind, however the run went. No role is running any more.
    ///
    /// # Errors
    /// It cannot be kept.
    fn finish(&mut self, job: &Job) -> Result<()>;

    /// Starts a role, which reads the job from `job_file` and shares memory with this process.
    ///
    /// # Errors
    /// It cannot be started.
    fn spawn(&mut self, side: Side, job: &Job, job_file: &Path, shared: Shared<'_>) -> Result<Box<dyn Role>>;
}

/// A step that is carried out for a job before or after its roles run.
type Step = Box<dyn Fn(&Job) -> Result<()>>;

/// Network namespaces of this kernel: one for each role, and a router between them for each path.
pub(crate) struct Namespaces {
    clock: ClockKind,
    prepare: Step,
    finish: Step,
    network: Option<Network>,
}

impl Namespaces {
    /// Creates a host whose namespaces are not made yet.
    ///
    /// # Arguments
    /// * `prepare` - is called before the first namespace is made.
    /// * `finish` - is called when no role is running any more.
    pub(crate) fn new(
        clock: ClockKind,
        prepare: impl Fn(&Job) -> Result<()> + 'static,
        finish: impl Fn(&Job) -> Result<()> + 'static,
    ) -> Self {
        Self { clock, prepare: Box::new(prepare), finish: Box::new(finish), network: None }
    }
}

impl Host for Namespaces {
    fn clock(&self) -> ClockKind {
        self.clock
    }

    fn prepare(&mut self, job: &Job) -> Result<()> {
        (self.prepare)(job)
    }

    fn build(&mut self, job: &Job) -> Result<()> {
        self.network = Some(Network::build(&steps(job, self.clock))?);
        Ok(())
    }

    fn network(&mut self) -> Option<&mut Network> {
        self.network.as_mut()
    }

    fn finish(&mut self, job: &Job) -> Result<()> {
        (self.finish)(job)
    }

    fn spawn(&mut self, side: Side, job: &Job, job_file: &Path, shared: Shared<'_>) -> Result<Box<dyn Role>> {
        let role = job.only().transport.stack.as_ref().filter(|stack| stack.contract == Contract::Roles);
        let program = role.map(|stack| stack.program.as_str());
        let namespace = match side {
            Side::Client => Namespace::Client,
            Side::Server => Namespace::Server,
        };
        let is_virtual = self.clock == ClockKind::Virtual;
        let start = RoleStart {
            side,
            program,
            job: job_file,
            address: server_address(0).into(),
            port: job.only().port,
            shared,
        };
        let network = self.network.as_ref().context("the path is not built yet")?;
        let role = network.within(namespace, || RoleProcess::spawn(&start, is_virtual))?;
        Ok(Box::new(role))
    }
}

/// Returns the steps that build the path. In real time they leave out netem qdiscs without an impairment, which would
/// cost CPU and which a host may lack.
fn steps(job: &Job, clock: ClockKind) -> Vec<BuildStep> {
    let steps = topology::steps(job);
    // The timeline needs the netem in order to change it.
    if clock == ClockKind::Real && job.timeline.is_empty() { topology::without_idle_netem(steps) } else { steps }
}
